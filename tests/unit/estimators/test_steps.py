"""Rates of equal steps, however often somebody looks."""

import json

import pytest

from elastream.estimators.steps import Steps


def rates(steps: Steps, *readings: tuple[float, float]) -> list[float]:
    found: list[float] = []
    for at_s, total in readings:
        steps, new = Steps(*json.loads(json.dumps(steps))).read(at_s, total)
        found += new
    return found


def test_looks_that_are_closer_than_steps_are_gathered() -> None:
    assert rates(Steps(60.0), *((float(t), 100.0 * t) for t in range(0, 181, 15))) == [100.0, 100.0, 100.0]


def test_looks_that_are_further_apart_than_steps_fill_them_evenly() -> None:
    assert rates(Steps(1.0), (0.0, 0.0), (4.0, 40.0), (6.0, 40.0)) == [10.0] * 4 + [0.0] * 2


def test_a_step_that_two_looks_share_has_the_records_of_both() -> None:
    assert rates(Steps(10.0), (0.0, 0.0), (5.0, 100.0), (10.0, 100.0)) == [10.0]


def test_a_step_that_was_not_seen_from_its_beginning_has_no_rate() -> None:
    assert rates(Steps(10.0), (8.0, 500.0), (20.0, 620.0)) == pytest.approx([10.0])


def test_a_total_that_falls_or_a_day_without_a_look_starts_anew() -> None:
    assert rates(Steps(1.0), (0.0, 100.0), (1.0, 50.0), (2.0, 60.0)) == [10.0]
    assert rates(Steps(1.0), (0.0, 0.0), (86_400.0, 1e9), (86_401.0, 1e9 + 5)) == [5.0]


def test_a_look_of_the_past_changes_nothing() -> None:
    assert rates(Steps(1.0), (5.0, 10.0), (5.0, 10.0), (4.0, 10.0), (6.0, 14.0)) == [4.0]

"""What is expected to arrive: means over times ahead, and by how much they may be exceeded."""

import json
import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from elastream.estimators.outlook import Expected, RateOutlook

OUTLOOK = RateOutlook(step_s=5.0, horizons_s=(15.0, 120.0))
HEADING = replace(OUTLOOK, heading=(4, 8, 16), errors=400)


def after(rates: list[float], outlook: RateOutlook = OUTLOOK) -> dict[str, Any]:
    return outlook.add(outlook.start(), rates)


def expected(rates: list[float]) -> tuple[Expected, ...]:
    return OUTLOOK.expect(after(rates))


def test_before_the_first_step_has_ended_nothing_is_expected() -> None:
    assert OUTLOOK.expect(OUTLOOK.start()) == ()


def test_a_steady_load_is_expected_to_go_on() -> None:
    near, far = expected([1_000.0] * 150)
    assert near.rps == far.rps == 1_000
    assert far.at(0.99) < 1_010


def test_a_load_in_lumps_is_told_by_its_mean() -> None:
    random = Random(1)
    lumps = [random.choice([0.0, 0.0, 0.0, 4_000.0]) for _ in range(2_000)]
    near, far = expected(lumps)
    assert far.rps == pytest.approx(1_000, rel=0.35)
    # Three steps may bring several lumps or none, two minutes bring about as many as ever.
    assert near.at(0.9) / near.rps > 1.5 * far.at(0.9) / far.rps


def test_a_drift_is_followed() -> None:
    near, far = expected([1_000.0 + 10 * step for step in range(300)])
    assert near.rps > 0.95 * 3_990
    assert far.at(0.9) > 4_000


def test_a_steady_rise_is_carried_on() -> None:
    # Two minutes bring 24 more steps, each of 10/s more: 125/s more than now, in the mean.
    _, far = HEADING.expect(after([1_000.0 + 10 * step for step in range(300)], HEADING))
    assert far.rps == pytest.approx(3_990 + 125, rel=0.01)


def test_a_leap_is_believed_at_once_and_may_go_on() -> None:
    near, far = expected([1_000.0 + step % 3 for step in range(200)] + [5_000.0])
    assert near.rps == far.rps == 5_000
    assert near.at(0.9) > 2 * 5_000
    later, _ = expected([1_000.0 + step % 3 for step in range(200)] + [5_000.0] * 20)
    assert later.at(0.6) < 1.2 * 5_000


def test_a_lump_among_lumps_is_no_leap() -> None:
    random = Random(2)
    lumps = [1_000 * math.exp(random.gauss(0, 1)) for _ in range(1_000)]
    before, after_one = expected(lumps)[1].rps, expected([*lumps, 4_000.0])[1].rps
    assert after_one < 1.5 * before


def test_so_much_is_exceeded_about_as_often_as_was_said() -> None:
    random = Random(3)
    rates = [1_000 * math.exp(random.gauss(0, 0.3)) for _ in range(1_500)]
    state, said = after(rates[:300]), []
    for place in range(300, 1_476):
        said.append((OUTLOOK.expect(state)[1].at(0.9), sum(rates[place : place + 24]) / 24))
        state = OUTLOOK.add(state, [rates[place]])
    kept = sum(came <= told for told, came in said) / len(said)
    assert 0.8 < kept < 0.97


def test_the_state_is_plain_and_does_not_grow() -> None:
    short, long = (after([1_000.0 + step % 7 for step in range(steps)], HEADING) for steps in (500, 2_000))
    assert json.loads(json.dumps(long)) == long
    assert len(json.dumps(long)) < 1.5 * len(json.dumps(short))


def test_nothing_that_arrives_is_no_number_to_divide_by() -> None:
    near, far = expected([0.0] * 100)
    assert near.rps == far.rps == 0
    assert near.at(0.9) == 0

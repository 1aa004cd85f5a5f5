"""Intervals: as wide as the simulator was off on what is known."""

import math

import pytest

from elastream.advice.estimate import LEAST_WORK_ERROR, UncertainNumber, find_factors, find_observed_error, predict
from elastream.advice.figures import AdviceFigures


def figures(
    hours: float = 1.0, within: float | None = 0.99, delay_s: float = 10.0, busy_s: float = 100.0
) -> AdviceFigures:
    return AdviceFigures(
        executor_hours=hours, within=within, delay_p95_s=delay_s, changes=int(hours * 4), busy_slot_s=busy_s
    )


def test_the_error_is_the_root_mean_square_over_the_parts_of_a_recording() -> None:
    real = [figures(hours=1.0), figures(hours=2.0, delay_s=20.0)]
    draws = [[figures(hours=1.3), figures(hours=2.0)], [figures(hours=1.4), figures(hours=2.0)]]
    error = find_observed_error(real, draws)
    assert error.executor_hours == pytest.approx(math.sqrt(0.35**2 / 2))
    assert error.delay_p95_s == pytest.approx(math.sqrt(0.5**2 / 2))
    assert error.late_factor == pytest.approx(1.0)
    assert error.work == LEAST_WORK_ERROR
    assert error.parts == 2


def test_late_records_are_off_by_a_factor_so_that_a_wide_margin_stays_one() -> None:
    error = find_observed_error([figures(within=0.979)], [[figures(within=0.99)]])
    assert error.late_factor == pytest.approx(2.0)
    safe = predict([figures(within=1.0)] * 3, error).within
    assert safe is not None
    assert (safe.value, safe.high) == (1.0, 1.0)
    assert safe.low == pytest.approx(0.999)
    edge = predict([figures(within=0.95)] * 3, error).within
    assert edge is not None
    assert edge.low == pytest.approx(1 - (0.051 * 2 - 0.001))
    assert edge.high == pytest.approx(1 - (0.051 / 2 - 0.001))


def test_work_is_as_uncertain_as_the_busy_time_was_off_and_draws_cover_that() -> None:
    error = find_observed_error([figures(busy_s=100.0)], [[figures(busy_s=120.0)]])
    assert error.work == pytest.approx(0.2)
    assert find_factors(error, 5) == pytest.approx([0.8, 0.9, 1.0, 1.1, 1.2])
    assert find_factors(error, 1) == [1.0]


def test_an_interval_holds_every_draw_and_the_error_around_the_middle() -> None:
    error = find_observed_error([figures(hours=1.0)], [[figures(hours=1.25)]])
    hours = predict([figures(hours=4.0), figures(hours=5.0), figures(hours=9.0)], error).executor_hours
    assert hours == UncertainNumber(value=5.0, low=4.0, high=9.0)
    hours = predict([figures(hours=4.9), figures(hours=5.0), figures(hours=5.1)], error).executor_hours
    assert hours == UncertainNumber(value=5.0, low=4.0, high=6.25)


def test_what_was_not_recorded_is_never_surer_than_others_were() -> None:
    error = find_observed_error([figures()], [[figures()]])
    draws = [figures(hours=4.99), figures(hours=5.0), figures(hours=5.01)]
    other, same = predict(draws, error).executor_hours, predict(draws, error, is_recorded=True).executor_hours
    assert other is not None
    assert (other.low, other.value, other.high) == pytest.approx((5.0 / 1.1, 5.0, 5.5))
    assert same == UncertainNumber(value=5.0, low=4.99, high=5.01)


def test_what_nobody_knows_has_no_interval() -> None:
    unknown = AdviceFigures(executor_hours=None, within=None, delay_p95_s=None, changes=0, busy_slot_s=None)
    error = find_observed_error([unknown], [[unknown]])
    assert (error.executor_hours, error.late_factor, error.delay_p95_s) == (None, None, None)
    found = predict([unknown], error)
    assert (found.executor_hours, found.within, found.delay_p95_s) == (None, None, None)
    assert found.changes == UncertainNumber(value=0.0, low=0.0, high=0.0)

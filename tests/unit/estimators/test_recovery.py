"""Recovery: predicted by arithmetic that can be done by hand, and measured by anomalies."""

import json

import pytest

from elastream.estimators.anomaly import AnomalyWatch, strays
from elastream.estimators.forecasting.forecast import Forecast
from elastream.estimators.moments import Moments
from elastream.estimators.recovery import recovery_s


def test_downtime_and_then_what_waits_over_what_is_to_spare() -> None:
    # 10 s to do again and 30 s of standing at 1,000/s: 40,000 records; 500/s to spare: 80 s.
    found = recovery_s(1_500, Forecast(60.0, [1_000.0] * 15), backlog=10_000, downtime_s=30.0, horizon_s=900.0)
    assert found == pytest.approx(30 + 40_000 / 500)


def test_a_load_that_rises_makes_it_longer_step_by_step() -> None:
    # 30,000 wait after 30 s; the first minute works off 30 s x 500, the second 60 s x 100, then 400/s are to spare.
    forecast = Forecast(60.0, [1_000.0, 1_400.0, 1_100.0])
    found = recovery_s(1_500, forecast, backlog=0.0, downtime_s=30.0, horizon_s=900.0)
    assert found == pytest.approx(120 + (30_000 - 15_000 - 6_000) / 400)


def test_a_load_above_the_capacity_makes_the_backlog_grow_again() -> None:
    forecast = Forecast(60.0, [1_000.0, 1_600.0, 1_000.0])
    found = recovery_s(1_500, forecast, backlog=0.0, downtime_s=30.0, horizon_s=900.0)
    assert found == pytest.approx(120 + (30_000 - 15_000 + 6_000) / 500)


def test_what_does_not_recover_within_the_horizon_has_no_time() -> None:
    flat = Forecast(60.0, [1_000.0] * 15)
    assert recovery_s(1_000, flat, backlog=1.0, downtime_s=30.0, horizon_s=900.0) is None
    assert recovery_s(1_010, flat, backlog=10_000, downtime_s=30.0, horizon_s=900.0) is None
    assert recovery_s(1_000, Forecast(60.0, [0.0]), backlog=0.0, downtime_s=5.0, horizon_s=900.0) == 5.0


def test_a_forecast_goes_on_as_it_ends_and_adds_up() -> None:
    forecast = Forecast(10.0, [1.0, 3.0])
    assert forecast.records(5.0, 25.0) == 5 * 1 + 10 * 3 + 5 * 3
    assert (forecast.highest(5.0), forecast.highest(10.0), forecast.highest(11.0)) == (1.0, 1.0, 3.0)
    assert forecast.records(100.0, 110.0) == 30.0
    assert forecast.scaled(2.0).highest(60.0) == 6.0


def test_only_what_is_further_than_one_deviation_strays() -> None:
    usual = Moments()
    for value in (-10.0, 10.0) * 20:
        usual = usual.add(value)
    assert strays(11.0, usual)
    assert not strays(-9.0, usual)
    assert not strays(11.0, usual, floor=20.0)
    assert not strays(1e9, Moments())


def test_a_recovery_lasts_from_the_first_abnormal_look_to_the_last() -> None:
    watch = AnomalyWatch(100.0)
    for at_s in range(101, 200):
        # Normal for a moment in between, and from 171 on.
        watch = AnomalyWatch(*json.loads(json.dumps(watch))).see(
            float(at_s), 105 <= at_s <= 170 and not 120 <= at_s <= 140
        )
        if watch.is_over(float(at_s), quiet_s=30.0, longest_s=900.0):
            break
    assert watch.took_s == 65.0
    assert at_s == 199 or watch.is_over(201.0, quiet_s=30.0, longest_s=900.0)


def test_a_change_that_nobody_notices_was_recovered_from_at_once() -> None:
    watch = AnomalyWatch(0.0)
    assert not watch.is_over(30.0, quiet_s=30.0, longest_s=900.0)
    assert watch.is_over(31.0, quiet_s=30.0, longest_s=900.0)
    assert watch.took_s == 0.0


def test_a_watch_ends_even_if_nothing_becomes_normal() -> None:
    watch = AnomalyWatch(0.0).see(1.0, True).see(901.0, True)
    assert watch.is_over(901.0, quiet_s=30.0, longest_s=900.0)

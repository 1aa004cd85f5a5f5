"""Daedalus: Algorithm 1 case by case, and what it learns from looks."""

import importlib.util
import sys
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.estimators.forecasting.forecast import Forecast
from elastream.policies import policies
from elastream.policies.daedalus.policy import Daedalus, Outlook
from elastream.testing import POOL, pool, size
from tests.unit.policies.observing import Dataflow, Doing


def outlook(**changes: Any) -> Outlook:
    """Ten workers of 1,000/s each, a steady load of 5,000/s, nothing waits."""
    steady = Outlook(
        pool=pool(ready=10, most=18),
        arrival_rps=5_000.0,
        recent_rps=5_000.0,
        lag=0.0,
        forecast=Forecast(60.0, [5_000.0] * 15),
        margin=1.0,
        seen={},
        per_worker_rps=1_000.0,
        downtimes={"out": 30.0, "in": 15.0},
    )
    return steady._replace(**changes)


def test_the_least_size_is_chosen_that_recovers_in_time() -> None:
    # 15 s down and 10 s to do again: 125,000 records; six workers have 1,000/s to spare.
    choice = Daedalus().choose(outlook(), None)
    assert choice.workers == 6
    assert choice.recovery_s == pytest.approx(15 + 125_000 / 1_000)
    hasty = Daedalus(recovery_target_s=100.0).choose(outlook(), None)
    assert hasty.workers == 7
    assert hasty.recovery_s == pytest.approx(15 + 125_000 / 2_000)


def test_a_size_that_only_equals_the_load_is_too_small() -> None:
    assert Daedalus(recovery_target_s=900.0).choose(outlook(per_worker_rps=1_000.0), None).workers == 6


def test_nothing_is_changed_for_three_minutes_after_a_change() -> None:
    overload = outlook(arrival_rps=50_000.0)
    assert Daedalus().choose(overload, 179.0).workers == 10
    assert Daedalus().choose(overload, 180.0).workers == 18


def test_for_ten_minutes_after_a_change_only_what_is_necessary_is_changed() -> None:
    assert Daedalus().choose(outlook(), 599.0).workers == 10
    assert Daedalus().choose(outlook(), 600.0).workers == 6
    soon = Forecast(60.0, [10_500.0] * 15)
    assert Daedalus().choose(outlook(forecast=soon), 300.0).workers > 10
    later = Forecast(60.0, [5_000.0] + [10_500.0] * 14)
    assert Daedalus().choose(outlook(forecast=later), 300.0).workers == 10


def test_the_whole_forecast_must_be_covered_by_a_new_size() -> None:
    rising = Forecast(60.0, [5_000.0 + 200 * step for step in range(15)])
    assert Daedalus().choose(outlook(forecast=rising), None).workers == 8


def test_the_present_size_stays_if_it_recovers_even_if_it_does_not_last() -> None:
    rising = Forecast(60.0, [5_000.0] * 10 + [11_000.0] * 5)
    near = outlook(forecast=rising, pool=pool(ready=7, most=18))
    assert Daedalus().choose(near, None).workers == 7


def test_nothing_is_given_up_while_more_waits_than_the_smaller_size_does_in_a_second() -> None:
    assert Daedalus().choose(outlook(lag=9_500.0), None).workers == 10
    assert Daedalus().choose(outlook(lag=6_500.0), None).workers == 7


def test_a_seen_capacity_is_preferred_to_one_in_proportion() -> None:
    choice = Daedalus().choose(outlook(seen={"6": 4_000.0, "7": 8_000.0}), None)
    assert choice.workers == 7


def test_if_no_size_suits_it_is_the_greatest() -> None:
    nearly_all = {"arrival_rps": 17_900.0, "recent_rps": 17_900.0, "forecast": Forecast(60.0, [17_900.0])}
    choice = Daedalus().choose(outlook(**nearly_all), None)
    assert choice.workers == 18
    assert choice.why == "no size suits, so the greatest"


def test_nothing_at_all_needs_one_worker() -> None:
    idle = outlook(arrival_rps=0.0, forecast=Forecast(60.0, [0.0]), per_worker_rps=0.0)
    assert Daedalus().choose(idle, 10.0).workers == 1


def test_lag_is_part_of_what_must_be_recovered_only_in_the_published_code() -> None:
    waiting = outlook(lag=5_500.0)
    by_document, by_code = Daedalus().choose(waiting, None), policies.build("daedalus-code")
    assert isinstance(by_code, Daedalus)
    assert by_document.recovery_s == pytest.approx(15 + 125_000 / 1_000)
    assert by_code.choose(waiting, None).recovery_s == pytest.approx(15 + 130_500 / 1_000)


def flow(workers: int = 4, cpu: float = 0.5, rps: float = 2_000.0, **settings: Any) -> Dataflow:
    each = (rps / workers,) * workers
    return Dataflow(Doing("count", in_rps=rps, cpu=cpu, worker_rps=each), shared=workers, tick_s=1.0, **settings)


def test_one_loop_is_enough_to_know_the_capacity() -> None:
    watching = flow()
    watching.passes(60)
    decision = watching.plans(Daedalus())[-1]
    assert decision.evidence[f"capacity_rps/{POOL}"] == pytest.approx(4_000.0)
    assert size(decision) == 3
    assert "2,000/s arrive" in decision.reason
    assert "4 workers take in 4,000/s and 3 3,000/s, recovery in" in decision.reason


def test_a_busy_job_grows_before_it_is_full() -> None:
    watching = flow(cpu=0.98, rps=3_920.0)
    watching.passes(60)
    assert size(watching.plans(Daedalus())[-1]) == 5


def test_the_first_look_says_that_it_is_too_early() -> None:
    decision = flow().plans(Daedalus())[0]
    assert (decision.kind, decision.reason) == (
        "hold",
        f"the load of {POOL} has been watched for too short a time",
    )


def test_a_recovery_that_is_seen_teaches_the_downtime() -> None:
    policy, watching = Daedalus(), flow()
    watching.passes(120)
    watching.resized(executors=3)
    each = (0.0,) * 3
    watching.passes(40, count={"in_rps": 0.0, "arrival_rps": 2_000.0, "worker_rps": each, "cpu": 0.0})
    watching.passes(80, count={"in_rps": 3_000.0, "worker_rps": (1_000.0,) * 3, "cpu": 1.0})
    watching.passes(60, count={"in_rps": 2_000.0, "worker_rps": (667.0,) * 3, "cpu": 0.67})
    memory, last = policy.start(), None
    known = watching.known()
    for look in watching.looks:
        memory = policy.learn(memory, look, last)
        if look.at_s == 60.0:
            last = policy.decide(look, known, memory)
    predicted, measured = memory["recoveries"][0]
    assert predicted > 0
    assert measured == pytest.approx(120, abs=5)
    assert memory["downtimes"]["in"] == pytest.approx((15 + 41) / 2, abs=1)
    assert memory["downtimes"]["out"] == 30.0


def test_a_share_puts_a_margin_on_the_forecast() -> None:
    watching = flow()
    watching.passes(180)
    plain, safe = watching.decides(Daedalus()), watching.decides(Daedalus(share=0.9))
    assert safe.evidence[f"forecast_max_rps/{POOL}"] > 1.2 * plain.evidence[f"forecast_max_rps/{POOL}"]  # type: ignore[operator]


def test_every_pool_is_sized_for_the_records_it_gets() -> None:
    watching = Dataflow(
        Doing("read", in_rps=1_000.0, cpu=0.25, workers=2, worker_rps=(500.0,) * 2),
        Doing("count", after=("read",), in_rps=3_000.0, cpu=0.99, workers=3, worker_rps=(1_000.0,) * 3),
        tick_s=1.0,
    )
    watching.passes(60)
    decision = watching.plans(Daedalus())[-1]
    assert decision.evidence["capacity_rps/read"] == pytest.approx(4_000.0)
    assert decision.evidence["capacity_rps/count"] == pytest.approx(1_000 / 0.99)
    assert decision.allocation == {"read": 1, "count": 4}


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="share 1 must be at least 0 and below 1"):
        Daedalus(share=1.0)
    with pytest.raises(BadInput, match="full_cpu must be in"):
        Daedalus(full_cpu=0.0)


def test_the_published_forecaster_is_refused_in_one_line_where_its_library_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.tsa.arima.model", None)
    with pytest.raises(BadInput, match=r"install elastream\[forecast\]"):
        policies.build("daedalus", {"forecaster": "arima"})


@pytest.mark.skipif(importlib.util.find_spec("statsmodels") is None, reason="needs statsmodels (the extra `forecast`)")
def test_the_published_forecaster_can_be_chosen() -> None:
    policy, watching, memory = Daedalus(forecaster="arima"), flow(), Daedalus().start()
    watching.passes(360)
    for look in watching.looks:
        memory = policy.learn(memory, look, None)
    learned = memory["loads"]["q"]["forecast"]
    assert (learned["model"]["order"], learned["line"], len(learned["path"])) == ([0, 1, 0], False, 900)
    assert size(policy.decide(watching.now, watching.known(), memory)) == 3


def test_a_margin_counts_for_the_recovery_too_and_not_for_the_maximum_alone() -> None:
    # A tenth more comes while it stands, and while it catches up there are 500/s to spare instead of 1,000.
    bare, safe = Daedalus().choose(outlook(), None), Daedalus().choose(outlook(margin=1.1), None)
    assert bare.recovery_s is not None
    assert safe.recovery_s is not None
    assert bare.workers == safe.workers == 6
    assert bare.recovery_s == pytest.approx(15 + 125_000 / 1_000)
    assert safe.recovery_s == pytest.approx(15 + (50_000 + 15 * 5_500) / 500)

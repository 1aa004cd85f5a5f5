"""DS2 on micro-batches: what slots cannot help, the correction from the present size, and what it waits for."""

from dataclasses import replace
from typing import Any

import pytest

from elastream.core.observation import Observation, Reading
from elastream.estimators.left_behind import Behind
from elastream.estimators.waves import Stage
from elastream.policies import DS2, policies
from elastream.policies.ds2.batches import BatchWork
from elastream.policies.ds2.correction import Corrected, from_present, from_proposal
from elastream.policies.ds2.interval import driver_times, totals
from elastream.policies.ds2.load import Load, Watch, load_of
from elastream.policies.ds2.sizing import Sizing
from elastream.testing import POOL, observation, pool, size
from tests.unit.policies.observing import Dataflow, Doing

CUT = (Stage(tasks=24, share=1.0),)
SPARK = policies.build("ds2-spark")


def batch(work_s: float, driver_s: float = 0.2) -> BatchWork:
    return BatchWork(10.0, driver_s, work_s, CUT)


def test_slots_are_those_that_end_a_batch_before_the_next_one_is_due_in_whole_waves() -> None:
    # 81.6 slot-seconds: 8.3 slots on paper; 9 to 11 take three waves of 3.4 s each.
    assert batch(81.6).slots() == 12.0
    assert batch(72.0).slots() == pytest.approx(72.0 / 9.8)
    assert BatchWork(10.0, 0.2, 81.6).slots() == pytest.approx(81.6 / 9.8)


def test_the_time_of_the_driver_is_not_there_for_tasks_and_never_more_than_half_of_the_time() -> None:
    assert BatchWork(10.0, 2.0, 80.0).slots() == 10.0
    assert BatchWork(10.0, 9.5, 80.0).slots() == 16.0


def test_what_is_to_be_faster_goes_to_the_next_size_that_makes_fewer_waves() -> None:
    assert batch(81.6).faster(9, 1.04) == 12.0
    assert batch(81.6).faster(12, 1.04) == 24.0
    # Twice as fast as three waves is one and a half of them.
    assert batch(81.6).faster(9, 2.5) == 24.0


def test_where_more_slots_are_of_no_use_there_is_no_answer() -> None:
    assert batch(81.6).faster(24, 1.04) is None
    assert BatchWork(10.0, 5.0, 10.0).faster(10, 1.5) is None
    assert BatchWork(10.0, 0.0, 80.0).faster(8, 1.5) == pytest.approx(12.0)


def load(ratio: float | None = 1.1, arrival_ratio: float | None = 1.1, *, is_seen: bool = True) -> Load:
    return Load({}, 100.0, arrival_ratio, ratio, True, is_seen)


def look(workers: int, **fields: Any) -> Observation:
    return observation(0.0, pools=(replace(pool(ready=workers, most=50), wanted=workers, **fields),))


def test_as_published_the_ratio_multiplies_the_proposal_though_that_is_the_present_size_again() -> None:
    found = from_proposal({POOL: 9}, Sizing(), load(), look(10), 1.01)
    assert found.sizes == {POOL: 10}
    assert "times 1.10, for the sources fall short" in found.sentence


def test_from_the_present_size_the_ratio_multiplies_what_there_is() -> None:
    found = from_present({POOL: 9}, Sizing(), load(), look(10), 1.01, 2.0)
    assert found.sizes == {POOL: 11}
    assert "1.10 times as fast as now, for the sources fall short of their rate" in found.sentence
    waves = Sizing(batches={POOL: [batch(81.6)]})
    assert from_present({POOL: 9}, waves, load(), look(9), 1.01, 2.0).sizes == {POOL: 12}


def test_lag_alone_is_told_from_a_query_that_falls_behind_and_at_most_so_much_at_once() -> None:
    found = from_present({POOL: 9}, Sizing(), load(5.0, 1.0), look(10), 1.01, 2.0)
    assert (found.sizes, found.is_for_lag) == ({POOL: 20}, True)
    assert "lag is to be gone in time" in found.sentence


@pytest.mark.parametrize(
    ("sizing", "how", "now"),
    [
        (Sizing(unknown={"other": "its size is not known"}), load(), look(10)),
        (Sizing(), load(None), look(10)),
        (Sizing(), load(1.005), look(10)),
        (Sizing(), load(is_seen=False), look(10)),
        (Sizing(), load(), look(10, ready=6)),
        (Sizing(), load(), look(8)),
    ],
    ids=["one is unknown", "nothing achieved", "noise", "nothing seen", "workers are coming", "the equations grow"],
)
def test_nothing_is_corrected(sizing: Sizing, how: Load, now: Observation) -> None:
    assert from_present({POOL: 9}, sizing, how, now, 1.01, 2.0) == Corrected({POOL: 9})


def test_where_no_more_slots_help_the_size_stays_and_it_is_said() -> None:
    waves = Sizing(batches={POOL: [batch(300.0)]})
    found = from_present({POOL: 24}, waves, load(), look(24), 1.01, 2.0)
    assert found.sizes == {POOL: 24}
    assert "more slots do not help, though the sources fall short of their rate" in found.sentence


def seen(*left: float, since_s: float = 0.0) -> Load:
    """The load of 30 s in which batches have left so many seconds of arrivals behind, one after the other."""
    flow = counting(12)
    flow.passes(30.0)
    rate = flow.doing["read"].in_rps or 0.0
    samples = [[10.0 * number, rate * seconds] for number, seconds in enumerate(left, 1)]
    behind: Behind = {"arrived": [30.0, 30.0 * rate], "began": None, "batch": 3, "samples": samples}
    watch = Watch(since_s, window_s=150.0, catch_up_s=600.0, noise=0.01)
    found = load_of(flow.now, totals(flow.looks[0]), totals(flow.now), {"q": behind}, watch)
    assert isinstance(found, Load)
    return found


def test_lag_counts_as_arriving_and_what_is_worked_off_as_achieved() -> None:
    # A minute's worth of records within ten minutes is a tenth more; they become more by a tenth of what arrives.
    assert seen(58.0, 59.0, 60.0).ratio == pytest.approx(1.1 / 0.9)
    assert seen(60.0, 60.0, 60.0).ratio == pytest.approx(1.1)
    assert seen(62.0, 61.0, 60.0).ratio == pytest.approx(1.1 / 1.1)
    assert seen(60.0, 60.0, 60.0).waits


def test_one_batch_that_was_late_is_no_shortfall_and_neither_are_batches_that_are_now_more_and_now_less_so() -> None:
    assert seen(0.0, 0.0, 12.0).ratio == pytest.approx(1.0 + 12.0 / 600)
    assert seen(12.0, 18.0, 12.0, 20.0, 13.0, 21.0).ratio == pytest.approx(1.0 + 21.0 / 600)
    assert seen(16.0, 17.1, 17.9, 19.0, 20.0, 21.0).ratio == pytest.approx((1.0 + 21.0 / 600) / 0.9, rel=0.01)


def test_a_lag_of_a_hundredth_of_the_time_to_work_it_off_is_nothing() -> None:
    assert not seen(5.0, 5.5, 6.0).waits
    assert seen(5.0, 5.5, 6.0).ratio == 1.0
    assert seen(5.0, 5.5, 6.5).waits


def test_a_change_is_judged_by_several_batches_after_it_or_by_two_that_work_off_or_by_one_that_leaves_nothing() -> None:
    assert not seen(60.0, 60.0, 60.0, since_s=25.0).is_seen
    assert not seen(60.0, 60.0, 61.0, since_s=15.0).is_seen
    assert seen(60.0, 60.0, 61.0, since_s=5.0).is_seen
    assert seen(60.0, 60.0, 59.0, since_s=15.0).is_seen
    assert seen(60.0, 60.0, 0.0, since_s=25.0).is_seen
    assert not seen(60.0, 60.0, 0.0, since_s=35.0).is_seen


def counting(workers: int, tasks: int = 24, **own: Any) -> Dataflow:
    """8.2 slots' worth of work, seen to run batches."""
    flow = Dataflow(
        Doing("read", in_rps=8_200.0, busy=4.1 / workers, partitions=tasks),
        Doing("count", after=("read",), in_rps=8_200.0, busy=4.1 / workers, partitions=tasks),
        shared=workers,
        trigger_s=10.0,
        **own,
    )
    flow.batch(8.0)
    return flow


def test_the_form_for_spark_counts_waves_and_the_published_one_does_not() -> None:
    flow = counting(9)
    flow.passes(30.0)
    assert size(flow.plans(DS2())[-1]) == 9
    decision = flow.plans(SPARK)[-1]
    assert size(decision) == 12
    assert "in waves of 24 tasks 12.0 slots do a batch in 10 s" in decision.reason


def test_two_queries_fill_the_waves_of_each_other() -> None:
    flow = counting(20)
    flow.passes(300.0)
    twins = [replace(look.queries[0], id="r", name="r") for look in flow.looks]
    flow.looks = [replace(look, queries=(*look.queries, twin)) for look, twin in zip(flow.looks, twins, strict=True)]
    assert size(flow.plans(SPARK)[-1]) == 17


def test_nothing_shrinks_before_ten_intervals_in_a_row_ask_for_less() -> None:
    flow = counting(20)
    flow.passes(270.0)
    assert flow.plans(SPARK)[-1].kind == "keep"
    flow.passes(30.0)
    assert size(flow.plans(SPARK)[-1]) == 12
    unsteady = counting(20)
    for _ in range(5):
        unsteady.passes(60.0)
        # 16 slots' worth for one interval.
        unsteady.passes(30.0, count={"busy": 0.6})
        unsteady.passes(30.0, count={"busy": 4.1 / 20})
    assert min(decision.allocation[POOL] for decision in unsteady.plans(SPARK)) == 20


def test_a_stage_that_no_batch_has_come_to_does_not_keep_the_known_ones_waiting_for_slots() -> None:
    flow = Dataflow(
        Doing("read", in_rps=100.0, arrival_rps=500.0, busy=1.0, partitions=24),
        Doing("count", after=("read",), in_rps=0.0, busy=0.0, partitions=24),
        shared=1,
        trigger_s=10.0,
    )
    flow.batch(8.0)
    flow.passes(30.0)
    assert flow.plans(DS2())[-1].kind == "hold"
    decision = flow.plans(SPARK)[-1]
    assert (decision.kind, size(decision)) == ("set", 6)
    assert "what count needs is not known: no useful time was measured" in decision.reason
    flow.resized(executors=8)
    flow.passes(60.0, read={"busy": 1.0 / 8})
    assert flow.plans(SPARK)[-1].kind == "hold"


def test_the_driver_is_timed_by_the_batches_of_an_interval_and_as_before_where_there_are_none() -> None:
    def at(batches: float, driver_s: float) -> Observation:
        query = counting(4).now.queries[0]
        return observation(
            0.0, queries=(replace(query, batches=Reading(batches, 0.0), driver_s=Reading(driver_s, 0.0)),)
        )

    three, five = at(3.0, 1.0), at(5.0, 2.0)
    assert driver_times({}, totals(three), totals(five), five) == {"q": 0.5}
    assert driver_times({"q": 0.3, "gone": 1.0}, totals(five), totals(five), five) == {"q": 0.3}

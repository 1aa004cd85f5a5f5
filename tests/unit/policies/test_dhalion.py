"""Dhalion: three steps, each of which can be read in the decision."""

from dataclasses import replace
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.needs import fit
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.policies.dhalion.policy import Dhalion
from elastream.simulator.microbatch.platform import PROVIDES
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing


def chain(**settings: Any) -> Dataflow:
    """Source, flatmap and count, each with its own pool, without trouble and with something in every queue."""
    return Dataflow(
        Doing("source", workers=2, in_rps=1_000.0, queue=0.0),
        Doing("flatmap", after=("source",), workers=8, in_rps=1_000.0, out_rps=20_000.0, queue=50_000.0),
        Doing("count", after=("flatmap",), workers=20, in_rps=20_000.0, queue=50_000.0),
        **settings,
    )


def kinds(decision: Decision, step: str) -> list[tuple[str, str]]:
    """What one step found: kind or action, and where."""
    found = decision.evidence[step]
    assert isinstance(found, list)
    return [(one.get("kind") or one["action"], one.get("at") or one["operator"]) for one in found]


def test_the_bottleneck_is_the_first_operator_below_back_pressure_that_has_none_itself() -> None:
    flow = chain()
    flow.passes(60, source={"backpressure": 0.2}, flatmap={"backpressure": 0.5})
    decision = flow.decides(Dhalion())
    assert decision.allocation == {"source": 2, "flatmap": 8, "count": 40}
    assert kinds(decision, "symptoms")[:2] == [("back-pressure", "source"), ("back-pressure", "flatmap")]
    assert kinds(decision, "diagnoses") == [("under-provisioned", "count")]
    assert kinds(decision, "resolutions") == [("up", "count")]
    assert "diagnosis: count is under-provisioned; resolution: count 20 x 2.00 = 40" in decision.reason


def test_a_fifth_suspended_and_four_fifths_processed_is_a_factor_of_one_and_a_quarter() -> None:
    flow = chain()
    flow.passes(60, source={"backpressure": 0.2})
    assert flow.decides(Dhalion()).allocation["flatmap"] == 10


def test_the_largest_back_pressure_among_what_feeds_an_operator_counts() -> None:
    flow = Dataflow(
        Doing("left", in_rps=10.0, backpressure=0.2),
        Doing("right", in_rps=10.0, backpressure=0.6),
        Doing("join", after=("left", "right"), workers=4, in_rps=20.0),
    )
    flow.passes(60)
    assert flow.decides(Dhalion()).allocation == {"left": 1, "right": 1, "join": 10}


def test_back_pressure_counts_up_to_nine_tenths_and_in_heron_up_to_five_times_the_size() -> None:
    flow = chain()
    flow.passes(60, source={"backpressure": 1.0})
    assert flow.decides(Dhalion()).allocation["flatmap"] == 80
    assert flow.decides(policies.build("dhalion-heron")).allocation["flatmap"] == 40


def test_a_source_grows_by_the_growth_of_its_lag_over_its_throughput() -> None:
    flow = chain()
    flow.passes(120, source={"in_rps": 4_000.0, "arrival_rps": 6_000.0, "workers": 4})
    decision = flow.decides(Dhalion())
    assert kinds(decision, "diagnoses") == [("under-provisioned", "source")]
    assert decision.allocation == {"source": 6, "flatmap": 8, "count": 20}


def test_a_lag_that_grows_slower_than_the_threshold_is_no_symptom() -> None:
    flow = chain()
    flow.passes(120, source={"in_rps": 4_000.0, "arrival_rps": 4_900.0})
    assert flow.decides(Dhalion()).kind == "keep"


def test_growing_lag_below_a_back_pressured_source_is_the_bottlenecks_fault_and_not_the_sources() -> None:
    flow = chain()
    flow.passes(120, source={"in_rps": 4_000.0, "arrival_rps": 9_000.0, "backpressure": 0.5})
    assert kinds(flow.decides(Dhalion()), "diagnoses") == [("under-provisioned", "flatmap")]


@pytest.mark.parametrize(("factor", "left"), [(1.1, 18), (1.15, 17), (1.2, 16), (1.25, 15), (1.3, 14)])
def test_every_operator_with_an_empty_queue_shrinks_by_the_factor(factor: float, left: int) -> None:
    flow = chain()
    flow.passes(60, count={"queue": 100.0})
    decision = flow.decides(Dhalion(scale_down_factor=factor))
    assert decision.allocation == {"source": int(2 * (2 - factor)), "flatmap": 8, "count": left}
    assert ("over-provisioned", "count") in kinds(decision, "diagnoses")


@pytest.mark.parametrize(("queue", "left"), [(200.0, 16), (201.0, 20)])
def test_a_queue_is_empty_up_to_a_fifth_of_its_buffer_whatever_comes_in(queue: float, left: int) -> None:
    flow = chain()
    # 20,000 records come in per second: a second's worth would be far more than the buffer holds.
    flow.passes(60, count={"queue": queue, "queue_room": 1_000.0})
    assert flow.decides(Dhalion()).allocation["count"] == left
    assert flow.decides(Dhalion(queue_close_to_zero=0.5)).allocation["count"] == 16


def test_where_nobody_tells_how_much_a_buffer_holds_a_second_of_input_is_an_empty_queue() -> None:
    flow = chain()
    flow.passes(60, count={"queue": 20_000.0})
    assert flow.decides(Dhalion()).allocation["count"] == 16
    flow.passes(60, count={"queue": 20_001.0})
    assert flow.decides(Dhalion()).allocation["count"] == 20


def test_nobody_shrinks_below_one() -> None:
    flow = Dataflow(Doing("source", workers=1))
    flow.passes(60)
    assert flow.decides(Dhalion()).allocation == {"source": 1}


def test_a_source_with_more_than_the_threshold_in_its_log_does_not_shrink() -> None:
    flow = chain()
    flow.passes(60, source={"in_rps": 1_000.0, "arrival_rps": 1_500.0})
    decision = flow.decides(Dhalion())
    assert (decision.kind, kinds(decision, "diagnoses")) == ("keep", [])


def test_nothing_shrinks_while_anything_is_back_pressured() -> None:
    flow = chain()
    flow.passes(60, source={"backpressure": 0.5}, count={"queue": 0.0})
    assert flow.decides(Dhalion()).allocation == {"source": 2, "flatmap": 16, "count": 20}


def test_a_small_buffer_is_not_taken_for_an_empty_queue_by_who_is_held_up() -> None:
    flow = chain()
    flow.passes(60, source={"backpressure": 0.5}, flatmap={"queue": 100.0}, count={"queue": 100.0})
    assert kinds(flow.decides(Dhalion()), "symptoms") == [
        ("back-pressure", "source"),
        ("empty queue", "source"),
        ("empty queue", "count"),
    ]


def test_one_bottleneck_at_a_time_unless_several_are_allowed() -> None:
    flow = Dataflow(
        Doing("source", in_rps=10.0, backpressure=0.5),
        Doing("a", after=("source",), workers=2, in_rps=10.0, busy=1.0),
        Doing("b", after=("source",), workers=3, in_rps=10.0, busy=1.0),
        Doing("sink", after=("a", "b"), workers=5, in_rps=20.0, busy=0.8),
    )
    flow.passes(60)
    assert flow.decides(Dhalion()).allocation == {"source": 1, "a": 4, "b": 3, "sink": 5}
    # The sink is busy for 0.8 of its time and will get twice as much.
    assert flow.decides(Dhalion(several=True)).allocation == {"source": 1, "a": 4, "b": 6, "sink": 8}


def test_shrinking_by_processor_use_goes_to_where_the_target_is_met() -> None:
    flow = chain()
    flow.passes(60, count={"queue": 0.0, "cpu": 0.2})
    assert flow.decides(Dhalion(down_by="cpu")).allocation["count"] == 6
    flow.passes(60, count={"cpu": 0.9})
    assert flow.decides(Dhalion(down_by="cpu")).allocation["count"] == 20


def test_uneven_rates_at_the_bottleneck_are_told_as_skew_and_not_scaled() -> None:
    flow = chain()
    hot = (9_000.0, *[500.0] * 19)
    flow.passes(120, flatmap={"backpressure": 0.5}, count={"worker_rps": hot})
    decision = flow.decides(Dhalion())
    assert decision.kind == "keep"
    assert kinds(decision, "diagnoses") == [("data skew", "count")]
    assert "more workers do not help against it" in decision.reason


def test_long_queues_at_even_rates_are_a_slow_instance() -> None:
    flow = chain()
    flow.passes(120, source={"in_rps": 4_000.0, "arrival_rps": 6_000.0})
    source = replace(flow.now.queries[0].sources[0], partition_backlogs=(200_000.0, 100.0))
    flow.looks[-1] = replace(flow.now, queries=(replace(flow.now.queries[0], sources=(source,)),))
    decision = flow.decides(Dhalion())
    assert kinds(decision, "diagnoses") == [("slow instance", "source")]
    assert decision.kind == "keep"


def test_workers_on_their_way_count_before_more_are_asked_for() -> None:
    flow = chain()
    flow.seen_with("flatmap", ready=4, wanted=12)
    flow.passes(60, source={"backpressure": 0.5})
    assert flow.decides(Dhalion()).allocation["flatmap"] == 12


def test_a_resolution_that_does_not_help_twice_is_blacklisted_for_a_while() -> None:
    flow = chain(tick_s=60.0)
    flow.passes(2 * 3600, source={"backpressure": 0.5})
    policy = Dhalion(blacklist_s=1200)
    decided = [(now.at_s, made.kind) for now, made in zip(flow.looks, flow.plans(policy), strict=True)]
    sets = [at_s for at_s, kind in decided if kind == "set" and at_s % 300 == 0]
    # Nothing changes whatever is tried: two attempts, then silence for 1,200 s, and one more try.
    assert sets[:3] == [300.0, 600.0, 2100.0]
    reasons = [made.reason for made in flow.plans(policy) if made.kind == "keep"]
    assert any("did not help before" in reason for reason in reasons)


def test_a_scale_up_after_which_more_comes_through_is_not_held_against_it() -> None:
    flow = chain(tick_s=60.0)
    for in_rps in (1_000.0, 2_000.0, 4_000.0, 8_000.0, 16_000.0):
        flow.passes(300, source={"backpressure": 0.5}, flatmap={"in_rps": in_rps})
    assert [made.kind for made in flow.plans(Dhalion())][300 // 60 :] == ["set"] * 21


def test_without_back_pressure_time_a_batch_that_leaves_records_behind_is_overload() -> None:
    flow = Dataflow(Doing("scan", in_rps=0.0), shared=4, tick_s=15.0, trigger_s=10.0, provides=PROVIDES)
    for _ in range(4):
        flow.passes(15, scan={"in_rps": 10_000.0, "arrival_rps": 15_000.0})
        flow.batch(20.0)
    flow.passes(1)
    decision = flow.decides(Dhalion())
    assert kinds(decision, "diagnoses") == [("under-provisioned", "scan")]
    # The batch takes twice the trigger interval.
    assert decision.allocation == {"executors": 8}


def test_a_batch_within_its_trigger_interval_leaves_nothing_behind_and_lets_it_shrink() -> None:
    flow = Dataflow(Doing("scan"), shared=10, tick_s=15.0, trigger_s=10.0, provides=PROVIDES)
    for _ in range(4):
        flow.passes(15, scan={"in_rps": 10_000.0})
        flow.batch(6.0)
    flow.passes(1)
    assert flow.decides(Dhalion()).allocation == {"executors": 8}


def test_it_says_in_which_form_it_runs() -> None:
    assert fit(Dhalion().needs, EVERYTHING).sentence() == "has all signals"
    assert fit(Dhalion().needs, PROVIDES).sentence() == "runs with batches for backpressure-time, batches for queue"
    assert not fit(Dhalion().needs, PROVIDES - {Signal.BATCHES}).runs
    assert Signal.BUSY_TIME in {need.signal for need in Dhalion(several=True).needs}


def test_unknown_back_pressure_is_a_hold_that_names_the_operator() -> None:
    flow = chain()
    flow.passes(60, count={"backpressure": None})
    flow.passes(120)
    decision = flow.decides(Dhalion())
    assert (decision.kind, decision.reason) == ("hold", "back-pressure of count is not known")


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match=r"scale_down_factor is 2; it must be at least 1 and below 2"):
        Dhalion(scale_down_factor=2.0)
    with pytest.raises(BadInput, match=r"most_backpressure is 1; it must lie between 0 and 1"):
        Dhalion(most_backpressure=1.0)

"""The scaling manager of DS2, on dataflows that do what a test says."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.observation import Query
from elastream.core.topology import Operator, Topology
from elastream.loop.planner import Planner
from elastream.policies import DS2, policies
from elastream.policies.ds2.interval import reading_rps
from elastream.testing import POOL
from tests.unit.policies.observing import Dataflow, Doing

State = Mapping[str, Mapping[str, Any]]


def figure_2(**own: Any) -> Dataflow:
    """Target 40/s; o1 is overloaded at 10/s and emits ten for one; o2 waits half of its time."""
    return Dataflow(
        Doing("source", arrival_rps=40.0, in_rps=10.0, busy=0.2),
        Doing("o1", after=("source",), in_rps=10.0, out_rps=100.0, busy=1.0),
        Doing("o2", after=("o1",), in_rps=100.0, busy=0.5),
        **own,
    )


def decided(flow: Dataflow, for_s: float = 30.0, **settings: Any) -> Decision:
    """What DS2 says after some time in which nothing changes."""
    flow.passes(for_s)
    return flow.plans(DS2(**settings))[-1]


def follow(flow: Dataflow, policy: DS2, for_s: float, acts: Callable[[Mapping[str, int]], State]) -> list[Decision]:
    """Run the loop: what is decided becomes so at once, and operators then do what `acts` says of the sizes."""
    planner, made = Planner(policy, {}, flow.provides), []
    while flow.at_s < for_s:
        plan = planner.plan(flow.now)
        assert not plan.troubles
        made.append(plan.decision)
        flow.resized(**plan.decision.allocation)
        flow.passes(flow.tick_s, **acts(plan.decision.allocation))
    return made


def steps(made: list[Decision], pool: str) -> list[int]:
    """The sizes of a pool, each told once."""
    sizes = [decision.allocation[pool] for decision in made]
    return [size for place, size in enumerate(sizes) if place == 0 or size != sizes[place - 1]]


def test_figure_2_is_one_decision() -> None:
    decision = decided(figure_2())
    assert (decision.kind, decision.allocation) == ("set", {"source": 1, "o1": 4, "o2": 2})
    assert "o1: 40/s at 10/s per slot: 4.0 slots" in decision.reason
    assert "o2: 400/s at 200/s per slot: 2.0 slots" in decision.reason
    assert decision.evidence["slots/o2"] == pytest.approx(2.0)


def test_word_count_on_heron_is_one_decision_after_a_minute() -> None:
    flow = Dataflow(
        Doing("source", arrival_rps=1e6 / 60, in_rps=1e5 / 60, busy=0.1),
        Doing("flatmap", after=("source",), in_rps=1e5 / 60, out_rps=2e6 / 60, busy=1.0),
        Doing("count", after=("flatmap",), in_rps=1e6 / 60, out_rps=0.0, busy=1.0),
    )
    flow.passes(60.0)
    plans = flow.plans(policies.build("ds2-heron-wordcount"))
    assert plans[-2].kind == "hold"
    assert plans[-1].allocation == {"source": 1, "flatmap": 10, "count": 20}


def test_the_presets_are_the_papers_runs_the_thesis_and_a_form_for_spark() -> None:
    found = {name: policies.build(name) for name in policies.presets() if name.startswith("ds2-")}
    assert {
        name: (built.interval_s, built.warm_up_s, built.activation)  # type: ignore[attr-defined]
        for name, built in found.items()
    } == {
        "ds2-heron-wordcount": (60.0, 0.0, 1),
        "ds2-dynamic-wordcount": (10.0, 30.0, 1),
        "ds2-convergence": (30.0, 30.0, 5),
        "ds2-timely": (30.0, 30.0, 5),
        "ds2-kanis": (15.0, 0.0, 1),
        "ds2-kanis-lag": (15.0, 0.0, 1),
        "ds2-spark": (30.0, 30.0, 1),
    }


def test_the_preset_of_the_thesis_asks_for_a_fifth_more_and_its_proposal_for_what_lag_and_busy_time_need() -> None:
    def size(policy: str, lag_s: float) -> int:
        flow = Dataflow(Doing("map", arrival_rps=400.0, in_rps=0.0, busy=0.0, workers=5))
        flow.passes(lag_s)
        flow.passes(15.0, map={"in_rps": 400.0, "busy": 0.8})
        return flow.plans(policies.build(policy))[-1].allocation["map"]

    # 100 records/s and second of useful time: 4 are just enough, 5 with a fifth more, 4.4 for who is busy for 0.9.
    assert size("ds2-kanis", 0.0) == 5
    assert size("ds2-kanis", 300.0) == 5
    # 30 s of a change are 10 % of 300 s to drain.
    assert size("ds2-kanis-lag", 0.0) == 5
    # 300 s of lag within 300 s are as much again.
    assert size("ds2-kanis-lag", 300.0) == 10


def test_on_a_shared_pool_the_sum_is_rounded_or_every_operator_as_in_the_paper() -> None:
    def flow() -> Dataflow:
        return Dataflow(
            Doing("read", in_rps=100.0, busy=0.1),
            Doing("count", after=("read",), in_rps=100.0, busy=0.2),
            Doing("write", after=("count",), in_rps=100.0, busy=0.2),
            shared=4,
        )

    # 0.4 and twice 0.8 slots.
    assert decided(flow()).allocation == {POOL: 2}
    assert decided(flow(), rounding="per_operator").allocation == {POOL: 3}


def test_operators_that_read_a_log_are_sized_too_or_left_as_in_the_paper() -> None:
    read = Doing("read", in_rps=100.0, arrival_rps=300.0, busy=1.0)
    count = Doing("count", after=("read",), in_rps=100.0, busy=0.5)
    assert decided(Dataflow(read, count)).allocation == {"read": 3, "count": 2}
    left = decided(Dataflow(read, count), sources="leave")
    assert left.allocation == {"read": 1, "count": 2}
    assert "read is a source and keeps its size" in left.reason
    # Three times 1.5 slots; three times half a slot.
    assert decided(Dataflow(read, count, shared=1)).allocation == {POOL: 5}
    assert decided(Dataflow(read, count, shared=1), sources="leave").allocation == {POOL: 2}


def test_a_source_that_takes_nothing_in_gives_out_what_arrives_and_keeps_its_own_pool() -> None:
    makes = Doing("make", in_rps=None, arrival_rps=300.0, busy=1.0)
    count = Doing("count", after=("make",), in_rps=100.0, busy=1.0)
    assert decided(Dataflow(makes, count)).allocation == {"make": 1, "count": 3}
    assert decided(Dataflow(makes, count, shared=1)).kind == "hold"


def test_workers_with_several_slots_are_asked_for_by_their_slots() -> None:
    flow = Dataflow(
        Doing("read", in_rps=100.0, arrival_rps=900.0, busy=0.5),
        Doing("count", after=("read",), in_rps=100.0, busy=0.5),
        shared=1,
        slots=4,
    )
    # Nine times two slots each, four to a worker.
    assert decided(flow).allocation == {POOL: 9}


def test_what_a_join_reads_is_shared_out_as_it_was_read_so_far() -> None:
    flow = Dataflow(
        Doing("wide", in_rps=300.0, busy=0.5),
        Doing("narrow", in_rps=100.0, busy=0.5),
        Doing("join", after=("wide", "narrow"), in_rps=400.0, busy=0.5),
        shared=3,
    )
    assert "join: 400/s" in decided(flow).reason
    assert "narrow: 100/s" in decided(flow).reason


def test_where_it_is_told_which_source_an_operator_reads_it_is_wanted_what_arrives_there() -> None:
    read = Operator(name="read", pool=POOL, reads=("calls", "mails"))
    topology = Topology(operators=(read, Operator(name="other", pool=POOL, reads=("views",))))
    seen = Query(id="q", name="q", phase="running", topology=topology)
    arriving = {"calls": 10.0, "mails": 5.0, "views": 100.0}
    assert reading_rps(seen, arriving) == {"read": 15.0, "other": 100.0}


def test_an_operator_of_an_older_journal_that_is_named_like_a_source_reads_that_one() -> None:
    topology = Topology(operators=(Operator(name="calls", pool=POOL), Operator(name="other", pool=POOL)))
    seen = Query(id="q", name="q", phase="running", topology=topology)
    assert reading_rps(seen, {"calls": 10.0, "views": 100.0}) == {"calls": 10.0, "other": 100.0}


def test_an_operator_without_useful_time_keeps_its_size_and_the_others_do_not() -> None:
    flow = figure_2()
    flow.passes(30.0, o2={"busy": 0.0})
    decision = flow.plans(DS2())[-1]
    assert decision.allocation == {"source": 1, "o1": 4, "o2": 1}
    assert "o2 keeps its size: no useful time was measured" in decision.reason


def test_on_a_shared_pool_an_operator_that_was_never_measured_holds_the_pool() -> None:
    flow = Dataflow(
        Doing("read", in_rps=100.0, busy=0.5),
        Doing("count", after=("read",), in_rps=0.0, busy=0.0),
        shared=2,
    )
    decision = decided(flow)
    assert (decision.kind, decision.allocation) == ("hold", {POOL: 2})
    assert "what count needs is not known: no useful time was measured" in decision.reason


def test_a_stage_that_had_no_turn_is_judged_by_its_last_rates_for_a_while() -> None:
    flow = Dataflow(
        Doing("read", in_rps=100.0, busy=0.5),
        Doing("count", after=("read",), in_rps=100.0, busy=0.5),
        shared=3,
    )
    flow.passes(30.0)
    flow.passes(30.0, count={"in_rps": 0.0, "busy": 0.0})
    assert flow.plans(DS2())[-1].evidence["slots/executors"] == pytest.approx(3.0)
    flow.passes(60.0)
    assert flow.plans(DS2(remembered_s=60.0))[-1].kind == "hold"


def test_an_idle_query_needs_one_worker_and_a_rate_of_zero_is_not_unknown() -> None:
    flow = figure_2()
    flow.resized(o1=4, o2=2)
    flow.passes(
        60.0,
        source={"arrival_rps": 0.0, "in_rps": 0.0, "busy": 0.0},
        o1={"in_rps": 0.0, "out_rps": 0.0, "busy": 0.0},
        o2={"in_rps": 0.0, "busy": 0.0},
    )
    decision = flow.plans(DS2())[-1]
    assert (decision.kind, decision.allocation) == ("set", {"source": 1, "o1": 1, "o2": 1})


def test_a_source_that_does_not_tell_what_arrives_makes_it_hold() -> None:
    flow = figure_2()
    flow.passes(30.0)
    query = flow.now.queries[0]
    silent = replace(query, sources=(replace(query.sources[0], arrived=None),))
    flow.looks[-1] = replace(flow.now, queries=(silent,))
    decision = flow.plans(DS2())[-1]
    assert (decision.kind, decision.reason) == ("hold", "arrival rate of q is not known")


def test_before_the_first_interval_it_holds() -> None:
    decision = decided(figure_2(), for_s=15.0)
    assert decision.kind == "hold"
    assert "no interval of 30 s" in decision.reason


def test_intervals_within_the_warm_up_are_ignored() -> None:
    flow = figure_2()
    flow.passes(30.0)
    flow.resized(o1=4, o2=2)
    # New instances begin at half of their rate.
    flow.passes(30.0, o1={"in_rps": 20.0, "out_rps": 200.0, "busy": 1.0}, o2={"in_rps": 200.0, "busy": 1.0})
    assert flow.plans(DS2())[-1].allocation == {"source": 1, "o1": 4, "o2": 2}
    assert flow.plans(DS2())[-1].reason == "warm-up: what is measured within 30 s of a change is ignored"
    assert flow.plans(DS2(warm_up_s=0.0))[-1].allocation["o1"] == 8
    flow.passes(30.0, source={"in_rps": 40.0}, o1={"in_rps": 40.0, "out_rps": 400.0}, o2={"in_rps": 400.0})
    assert flow.plans(DS2())[-1].kind == "keep"
    assert "the sizes are right" in flow.plans(DS2())[-1].reason


def test_an_interval_in_which_the_query_was_down_is_ignored() -> None:
    flow = figure_2()
    flow.passes(15.0)
    flow.phase = "restarting"
    flow.passes(15.0)
    assert flow.plans(DS2())[-1].reason == "a query was down, so the last interval says nothing"
    flow.phase = "running"
    flow.passes(30.0)
    assert "warm-up" in flow.plans(DS2())[-1].reason
    assert flow.plans(DS2(warm_up_s=0.0))[-1].allocation["o1"] == 4
    flow.passes(30.0)
    assert flow.plans(DS2())[-1].allocation["o1"] == 4


def test_the_warm_up_begins_when_the_query_runs_again_and_not_when_the_change_was_decided() -> None:
    flow = figure_2()
    flow.passes(30.0)
    flow.resized(o1=2)
    flow.phase = "restarting"
    flow.passes(60.0)
    flow.phase = "running"
    flow.passes(60.0)
    made = flow.plans(DS2())
    assert [decision.kind for decision in made[-3:]] == ["hold", "hold", "set"]
    assert "warm-up" in made[-2].reason


def test_a_run_warms_up_at_its_beginning_if_asked_to() -> None:
    flow = figure_2()
    flow.passes(40.0)
    assert flow.plans(DS2(interval_s=10.0, warm_at_start=False))[-1].allocation["o1"] == 4
    made = flow.plans(DS2(interval_s=10.0, warm_at_start=True))
    assert made[-2].kind == "hold"
    assert made[-1].allocation["o1"] == 4


def test_a_size_that_was_given_up_and_is_asked_for_again_is_kept_at_that_load() -> None:
    """Ten instances cannot quite do it, and with eleven useful time misses so much that ten seem to be enough."""
    flow = Dataflow(
        Doing("source", arrival_rps=1_000.0, in_rps=1_000.0, busy=0.1),
        Doing("count", after=("source",), in_rps=1_000.0, busy=0.9, workers=11),
    )

    def acts(sizes: Mapping[str, int]) -> State:
        needed = 9.9 if sizes["count"] > 10 else 10.1
        return {"count": {"busy": needed / sizes["count"]}}

    assert steps(follow(flow, DS2(), 1200.0, acts), "count") == [11, 10, 11]


def test_what_an_operator_gives_out_is_parted_as_its_followers_have_received_it() -> None:
    """Of 40 records/s that `a` gives out `b` gets 30, half of which wait; `c` gets 10 and all that `b` gives out."""
    flow = Dataflow(
        Doing("a", arrival_rps=20.0, in_rps=20.0, out_rps=40.0, busy=1.0),
        Doing("b", after=("a",), in_rps=15.0, out_rps=15.0, busy=1.0),
        Doing("c", after=("a", "b"), in_rps=25.0, busy=1.0),
    )
    flow.passes(15.0, b={"queue": 225.0})
    flow.passes(15.0, b={"queue": 450.0})
    # 30 of 15 per second, and 10 + 30 of 25.
    assert flow.plans(DS2())[-1].allocation == {"a": 1, "b": 2, "c": 2}


def test_activation_takes_the_median_or_the_largest_of_several_intervals() -> None:
    flow = figure_2()
    # A window that buffers looks fast, and slow when it fires.
    for busy in (0.5, 0.5, 2.0, 0.5, 0.5):
        flow.passes(30.0, o2={"busy": busy})
    early = flow.plans(DS2(activation=5))[-2]
    assert (early.kind, early.allocation["o1"]) == ("keep", 1)
    assert "4 of 5 intervals before a change" in early.reason
    assert flow.plans(DS2(activation=5))[-1].allocation == {"source": 1, "o1": 4, "o2": 2}
    assert flow.plans(DS2(activation=5, combine="maximum"))[-1].allocation == {"source": 1, "o1": 4, "o2": 8}


def test_minor_changes_are_ignored_if_asked_for_but_not_the_last_step_to_the_minimum() -> None:
    def flow(busy: float, workers: int) -> Dataflow:
        return Dataflow(
            Doing("source", in_rps=100.0), Doing("count", after=("source",), in_rps=100.0, busy=busy, workers=workers)
        )

    assert decided(flow(0.75, 4)).allocation["count"] == 3
    ignored = decided(flow(0.75, 4), ignore_down=1)
    assert (ignored.kind, ignored.allocation["count"]) == ("keep", 4)
    assert "a minor change is not made" in ignored.reason
    assert decided(flow(0.5, 4), ignore_down=1).allocation["count"] == 2
    assert decided(flow(0.5, 2), ignore_down=1).allocation["count"] == 1
    growing = Dataflow(
        Doing("source", in_rps=100.0, arrival_rps=125.0),
        Doing("count", after=("source",), in_rps=100.0, busy=1.0, workers=4),
    )
    assert decided(growing, ignore_up=1).allocation["count"] == 4
    assert decided(growing).allocation["count"] == 5


def test_a_tagged_operator_is_left_alone_and_takes_one_slot_of_a_shared_pool() -> None:
    own = figure_2()
    own.passes(30.0, o1={"parallel": False})
    decision = own.plans(DS2())[-1]
    assert decision.allocation == {"source": 1, "o1": 1, "o2": 2}
    assert "o1 is not data-parallel and keeps its size" in decision.reason
    shared = Dataflow(
        Doing("read", in_rps=100.0, arrival_rps=400.0, busy=0.25),
        Doing("sort", after=("read",), in_rps=100.0, busy=0.75, parallel=False),
        shared=1,
    )
    # One slot to read, and one to sort although it would need three.
    assert decided(shared).allocation == {POOL: 2}


def test_an_operator_that_did_not_get_faster_by_growing_is_left_alone() -> None:
    flow = Dataflow(
        Doing("source", arrival_rps=400.0, in_rps=100.0),
        Doing("sort", after=("source",), in_rps=100.0, busy=1.0),
    )
    made = follow(flow, DS2(), 300.0, lambda sizes: {"sort": {"in_rps": 100.0, "busy": 1.0}})
    assert steps(made, "sort") == [1, 4]
    assert "sort is not data-parallel and keeps its size" in made[-1].reason


def test_a_shortfall_that_the_equations_do_not_see_is_corrected_by_its_ratio_and_not_undone() -> None:
    """Each instance takes 80/s however little useful time it shows; the equations believe in 100/s."""
    flow = Dataflow(
        Doing("source", arrival_rps=400.0, in_rps=320.0, busy=0.1),
        Doing("count", after=("source",), in_rps=320.0, busy=0.8, workers=4),
    )

    def acts(sizes: Mapping[str, int]) -> State:
        # Once the lag is gone, no more than what arrives.
        rate = 80.0 * sizes["count"]
        lag = flow.now.queries[0].backlog or 0.0
        rate = rate if lag > 0 else min(400.0, rate)
        return {"source": {"in_rps": rate}, "count": {"in_rps": rate, "busy": rate / 100.0 / sizes["count"]}}

    made = follow(flow, DS2(), 600.0, acts)
    assert steps(made, "count") == [4, 5]
    corrected = next(decision for decision in made if decision.allocation["count"] == 5)
    assert "times 1.25, for the sources fall short of their rate" in corrected.reason
    assert steps(follow(_again(flow), DS2(target_rate_ratio=2.0), 600.0, acts), "count") == [4]


def _again(flow: Dataflow) -> Dataflow:
    """The same application, seen from its beginning."""
    flow.at_s, flow.totals = 0.0, {}
    flow.resized(count=4)
    flow.looks = [flow._look()]
    return flow


def test_while_one_operator_is_unknown_the_healthy_ones_are_not_multiplied() -> None:
    """Half of what arrives is taken in; `map` and `sink` would be enough, and of `count` nothing is known."""

    def flow(busy: float) -> Dataflow:
        return Dataflow(
            Doing("map", arrival_rps=1_000.0, in_rps=520.0, busy=0.52, workers=10),
            Doing("count", after=("map",), in_rps=520.0, busy=busy, workers=2),
            Doing("sink", after=("map",), in_rps=520.0, busy=0.26, workers=1),
        )

    unknown = decided(flow(0.0))
    assert unknown.allocation == {"map": 10, "count": 2, "sink": 1}
    assert "fall short" not in unknown.reason
    known = decided(flow(0.5))
    assert known.allocation == {"map": 20, "count": 4, "sink": 2}
    assert "times 1.92" in known.reason


def test_skew_makes_one_correction_that_does_not_help_and_is_not_repeated() -> None:
    """One instance gets half of all records, so the rate stays at 200/s from two instances on."""
    flow = Dataflow(
        Doing("source", arrival_rps=400.0, in_rps=100.0, busy=0.1),
        Doing("count", after=("source",), in_rps=100.0, busy=1.0),
    )

    def acts(sizes: Mapping[str, int]) -> State:
        rate = min(200.0, 100.0 * sizes["count"])
        return {"source": {"in_rps": rate}, "count": {"in_rps": rate, "busy": rate / 100.0 / sizes["count"]}}

    made = follow(flow, DS2(), 1200.0, acts)
    assert steps(made, "count") == [1, 4, 8, 4]
    assert "fall short" not in made[-1].reason


def test_a_shortfall_too_large_for_an_overhead_is_not_corrected() -> None:
    flow = Dataflow(
        Doing("source", arrival_rps=400.0, in_rps=100.0, busy=0.1),
        Doing("count", after=("source",), in_rps=100.0, busy=0.25, workers=4),
    )
    assert decided(flow).kind == "keep"
    assert decided(flow, most_ratio=10.0).allocation["count"] == 16


def test_a_growth_that_does_harm_is_taken_back_and_refused_at_that_load() -> None:
    flow = Dataflow(
        Doing("source", arrival_rps=400.0, in_rps=300.0, busy=0.1),
        Doing("count", after=("source",), in_rps=300.0, busy=1.0, workers=3),
    )

    def acts(sizes: Mapping[str, int]) -> State:
        rate = 300.0 if sizes["count"] <= 3 else 150.0
        return {"source": {"in_rps": rate}, "count": {"in_rps": rate, "busy": rate / 100.0 / sizes["count"]}}

    made = follow(flow, DS2(), 600.0, acts)
    assert steps(made, "count") == [3, 4, 3]
    assert any("the last growth did harm and is taken back" in decision.reason for decision in made)
    assert "these sizes did harm at this load" in made[-1].reason


def test_decisions_that_do_not_help_are_limited_until_the_load_changes() -> None:
    """Something else holds the source to 200/s, while every instance of count adds less than the one before."""
    flow = Dataflow(
        Doing("source", arrival_rps=400.0, in_rps=200.0, busy=0.1),
        Doing("count", after=("source",), in_rps=200.0, busy=1.0, workers=2),
    )

    def acts(sizes: Mapping[str, int]) -> State:
        arriving = 400.0 if flow.at_s < 600 else 600.0
        return {"source": {"arrival_rps": arriving}, "count": {"busy": (2 / sizes["count"]) ** 0.5}}

    made = follow(flow, DS2(decision_limit=2), 900.0, acts)
    before = [decision for place, decision in enumerate(made) if place * flow.tick_s < 600]
    assert steps(before, "count") == [2, 4, 6]
    assert "2 decisions in a row did not help at this load" in before[-1].reason
    assert made[-1].allocation["count"] > 6


def test_who_can_never_be_busy_all_of_the_time_is_not_believed_to_be() -> None:
    assert decided(figure_2(), max_busy=0.8).allocation == {"source": 1, "o1": 5, "o2": 3}


def test_the_factor_acts_before_rounding() -> None:
    assert decided(figure_2(), factor=0.2).allocation == {"source": 1, "o1": 5, "o2": 3}


def test_the_thesis_multiplies_whole_sizes() -> None:
    # 3.3 instances are needed: 3.96 with the authors' factor, and 4 of which a fifth more are 5.
    flow = Dataflow(Doing("map", arrival_rps=330.0, in_rps=330.0, busy=0.825, workers=4))
    flow.passes(30.0)
    assert flow.plans(DS2(factor=0.2))[-1].allocation == {"map": 4}
    decision = flow.plans(policies.build("ds2-kanis"))[-1]
    assert decision.allocation == {"map": 5}
    assert decision.reason.endswith("; times 1.2 on top")


def test_a_size_that_happens_to_be_the_present_one_gets_its_share_too() -> None:
    # The guard of that name could not tell: DS2 alone would keep five.
    flow = Dataflow(Doing("map", arrival_rps=500.0, in_rps=500.0, busy=1.0, workers=5))
    flow.passes(30.0)
    assert flow.plans(DS2())[-1].kind == "keep"
    assert flow.plans(DS2(over_provision=1.2))[-1].allocation == {"map": 6}


def test_lag_is_worked_off_and_so_is_what_the_change_will_add() -> None:
    # 30/s more arrive than are read: 900 records wait after 30 s, 90/s over ten seconds.
    assert decided(figure_2(), drain_s=10.0, rescale_s=0.0).allocation["o1"] == 13
    # A change of 20 s lets another 40/s times 20 s wait, 80/s over ten seconds.
    assert decided(figure_2(), drain_s=10.0, rescale_s=20.0).allocation["o1"] == 21


def test_while_lag_is_worked_off_sizes_that_are_enough_are_kept() -> None:
    """Every change would stop the query again, and add to the lag that it is about."""

    def flow() -> Dataflow:
        made = Dataflow(
            Doing("source", arrival_rps=100.0, in_rps=120.0, busy=0.1),
            Doing("count", after=("source",), in_rps=120.0, busy=1.0, workers=12),
        )
        made.totals["source", "arrived"] = 1000.0
        made.looks = [made._look()]
        return made

    # 400 of 1,000 are left after 30 s: 4/s over 100 s, and 30/s more after a change of 30 s. Each instance does 10/s.
    kept = decided(flow(), drain_s=100.0, rescale_s=30.0)
    assert (kept.kind, kept.allocation["count"]) == ("keep", 12)
    assert decided(flow(), drain_s=100.0, rescale_s=0.0).allocation["count"] == 11


def test_two_queries_on_one_pool_add_up_and_one_that_has_ended_needs_nothing() -> None:
    flow = Dataflow(Doing("read", in_rps=100.0, busy=0.5), shared=4)
    flow.passes(30.0)
    other = [replace(query, id="r", name="r") for query in (look.queries[0] for look in flow.looks)]
    flow.looks = [replace(look, queries=(look.queries[0], twin)) for look, twin in zip(flow.looks, other, strict=True)]
    assert flow.plans(DS2())[-1].evidence["slots/executors"] == pytest.approx(4.0)
    flow.looks = [
        replace(look, queries=(look.queries[0], replace(look.queries[1], phase="terminated"))) for look in flow.looks
    ]
    assert flow.plans(DS2())[-1].evidence["slots/executors"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"interval_s": 0.0}, "interval_s must be above 0"),
        ({"activation": 0}, "activation must be at least 1"),
        ({"target_rate_ratio": 0.5}, "target_rate_ratio must be at least 1"),
        ({"factor": -0.1}, "factor must be at least 0"),
        ({"over_provision": 0.9}, "over_provision must be at least 1"),
        ({"max_busy": 0.0}, "max_busy must be above 0 and at most 1"),
        ({"drain_s": 0.0}, "drain_s must be above 0"),
        ({"shrink_after": 0}, "shrink_after must be at least 1"),
        ({"catch_up_s": 0.0}, "catch_up_s must be above 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        DS2(**settings)

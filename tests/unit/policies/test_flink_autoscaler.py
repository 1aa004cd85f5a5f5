"""Flink's autoscaler: its formulas against the numbers of its own tests, and its rules on small dataflows."""

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.observation import Observation, Query, Source
from elastream.core.topology import Operator, Topology
from elastream.loop.planner import Planner
from elastream.policies import FlinkAutoscaler
from elastream.policies.flink_autoscaler.formulas import (
    Band,
    Terms,
    Wanted,
    aligned,
    band,
    capacity,
    gained,
    scale_factor,
    scaled,
)
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    OperatorModel,
    RestartModel,
    own_pools,
)
from elastream.simulator.run import Simulation
from elastream.testing import POOL, Story
from elastream.workloads import parse_workload
from tests.unit.policies.observing import Dataflow, Doing

VECTORS = Path(__file__).parent / "vectors" / "flink_autoscaler" / "vertex_scaler_vectors.csv"
NO_CATCH_UP = Terms(catch_up_s=0.0, restart_s=300.0)
KEY_GROUPS = 720
"""Of the vertices in the vectors; they may have 200 instances."""

QUICK: dict[str, Any] = {"window_s": 60.0, "stabilization_s": 30.0, "interval_s": 15.0}
"""A minute instead of a quarter of an hour."""


def rows() -> list[dict[str, str]]:
    lines = [line for line in VECTORS.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['parallelism']}-{row['target_data_rate']}")
def test_a_vertex_is_scaled_as_the_originals_tests_say(row: dict[str, str]) -> None:
    current, true_rps = int(row["parallelism"]), float(row["true_processing_rate"])
    wanted, target = Wanted(float(row["target_data_rate"])), float(row["utilization_target"])
    factor = scale_factor(
        capacity(wanted, target, NO_CATCH_UP, with_restart=True),
        true_rps,
        float(row["scale_down_max_factor"]),
        float(row["scale_up_max_factor"]),
    )
    size = aligned(scaled(current, factor, 1, 200), current, KEY_GROUPS, 200, "evenly_spread")
    assert size == int(row["expected_parallelism"])
    limits = band(wanted, target - 0.3, target + 0.3, NO_CATCH_UP)
    assert limits.is_left_by(true_rps) == (row["outside_utilization_bound"] == "true")


def test_capacity_has_room_for_the_lag_and_for_what_a_restart_adds_to_it() -> None:
    terms = Terms(catch_up_s=600.0, restart_s=300.0)
    assert capacity(Wanted(100.0, 20.0), 0.5, terms, with_restart=False) == 220
    assert capacity(Wanted(100.0, 20.0), 0.5, terms, with_restart=True) == 270
    assert capacity(Wanted(100.0, 20.0), 0.5, NO_CATCH_UP, with_restart=True) == 220
    assert capacity(Wanted(100.0), 0.0, terms, with_restart=True) == math.inf
    assert capacity(Wanted(100.0), 1.3, terms, with_restart=False) == 100


def test_a_band_is_left_below_what_is_wanted_at_most_and_above_what_is_wanted_at_least() -> None:
    assert band(Wanted(100.0), 0.4, 1.0, NO_CATCH_UP) == Band(100, 250)
    assert [Band(100, 250).is_left_by(rate) for rate in (99.0, 100.0, 250.0, 251.0)] == [True, False, False, True]


def test_a_vertex_beyond_its_limits_is_not_forced_back_into_them() -> None:
    assert scaled(10, 0.1, 3, 200) == 3
    assert scaled(2, 0.1, 3, 200) == 2
    assert scaled(10, 9.0, 1, 20) == 20
    assert scaled(30, 1.5, 1, 20) == 30


def test_128_key_groups_are_spread_better_by_26_than_by_24_and_evenly_by_32() -> None:
    assert aligned(24, 16, 128, 200, "balanced") == 26
    assert aligned(24, 16, 128, 200, "evenly_spread") == 32
    assert aligned(24, 16, 128, 200, "off") == 24
    # Shrinking never looks beyond the present size, and what cannot be spread better stays.
    assert aligned(17, 20, 128, 200, "evenly_spread") == 17
    assert aligned(24, 16, 128, 25, "evenly_spread") == 24
    assert aligned(24, 16, None, 200, "balanced") == 24
    assert aligned(24, 16, 12, 200, "balanced") == 12


def test_a_growth_is_measured_by_what_it_should_have_brought() -> None:
    assert gained(100.0, 150.0, 200.0) == pytest.approx(0.5)
    assert gained(100.0, 150.0, 100.0) == 1.0


def chain(workers: int = 4, **count: Any) -> Dataflow:
    """A source that does 100/s for 100/s, and a count with so many workers."""
    return Dataflow(
        Doing("source", in_rps=100.0, busy=0.7),
        Doing("count", after=("source",), workers=workers, **{"in_rps": 100.0, "busy": 0.7, **count}),
        tick_s=15.0,
    )


def decided(flow: Dataflow, for_s: float = 150.0, **settings: Any) -> Decision:
    """What it says in the end, without restarts and without waiting."""
    flow.passes(for_s)
    quick = {**QUICK, "catch_up_s": 0.0, "scale_down_s": 0.0, "alignment": "off", **settings}
    return flow.plans(FlinkAutoscaler(**quick))[-1]


def test_inside_the_band_nothing_changes() -> None:
    for busy in (0.45, 0.7, 0.95):
        decision = decided(chain(busy=busy))
        assert (decision.kind, decision.allocation) == ("keep", {"source": 1, "count": 4}), busy


def test_outside_the_band_it_goes_to_the_target_utilisation() -> None:
    # 0.3 of four busy: 1.2 of them, 1.7 at 0.7; but no more than 60 % at once.
    assert decided(chain(busy=0.3)).allocation["count"] == 2
    # 1.4 times what it can do.
    over = chain(busy=1.0)
    over.doing["source"] = Doing("source", in_rps=100.0, arrival_rps=140.0, busy=0.7)
    assert decided(over).allocation == {"source": 2, "count": 8}


def test_every_changed_vertex_goes_along_when_one_has_left_its_band() -> None:
    # The source is at 0.9 of one worker: inside, but 1.3 workers would be right.
    flow = Dataflow(
        Doing("source", in_rps=100.0, busy=0.9), Doing("count", after=("source",), in_rps=100.0, busy=0.2, workers=10)
    )
    assert decided(flow).allocation == {"source": 2, "count": 4}
    calm = Dataflow(
        Doing("source", in_rps=100.0, busy=0.9), Doing("count", after=("source",), in_rps=100.0, busy=0.7, workers=10)
    )
    assert decided(calm).kind == "keep"


def test_lag_and_restart_take_capacity() -> None:
    def behind(records: float) -> Dataflow:
        flow = chain(busy=0.95)
        flow.totals["source", "arrived"] = records
        flow.looks = [flow._look()]
        return flow

    # At 95 % of four, 0.7 asks for 5.4; a restart of 300 s over 900 s for another third of 3.8.
    plain = decided(behind(0.0), catch_up_s=900.0, restart_s=0.0, high=0.9)
    restarting = decided(behind(0.0), catch_up_s=900.0, restart_s=300.0, high=0.9)
    lagging = decided(behind(9000.0), catch_up_s=900.0, restart_s=300.0, high=0.9)
    assert [decision.allocation["count"] for decision in (plain, restarting, lagging)] == [6, 7, 8]


def test_while_a_long_backlog_is_worked_off_nothing_shrinks() -> None:
    flow = chain(busy=0.2)
    flow.totals["source", "arrived"] = 100.0 * 400
    flow.looks = [flow._look()]
    assert decided(flow, catch_up_s=1e9, restart_s=0.0).kind == "keep"
    assert decided(chain(busy=0.2), catch_up_s=1e9, restart_s=0.0).kind == "set"


def test_while_a_source_lags_its_rate_counts_more_than_its_busy_time() -> None:
    flow = Dataflow(
        Doing("source", in_rps=100.0, arrival_rps=140.0, busy=0.4, workers=2),
        Doing("count", after=("source",), in_rps=100.0, busy=0.7),
    )
    flow.totals["source", "arrived"] = 140.0 * 60
    flow.looks = [flow._look()]
    # Busy time promises 250/s, but 100/s is what it does while records wait.
    assert decided(flow, backlog_s=1e9).allocation["source"] == 4
    assert decided(flow, backlog_s=1e9, observed_switch=10.0).allocation["source"] == 2


def test_an_idle_vertex_shrinks_as_far_as_it_may_at_once() -> None:
    flow = chain(workers=10, in_rps=0.0, busy=0.0)
    flow.doing["source"] = Doing("source", in_rps=0.0, busy=0.0)
    assert decided(flow).allocation["count"] == 4


def test_records_without_busy_time_keep_the_size() -> None:
    decision = decided(chain(busy=0.0))
    assert decision.allocation["count"] == 4
    assert "count keeps its size" in decision.reason


def test_what_a_join_receives_from_each_side_is_told_apart() -> None:
    flow = Dataflow(
        Doing("left", in_rps=100.0, arrival_rps=200.0, out_rps=50.0, busy=0.7),
        Doing("right", in_rps=100.0, out_rps=10.0, busy=0.7),
        Doing("join", after=("left", "right"), in_rps=60.0, busy=0.7),
    )
    # Twice as much from the left: 110/s, and 60/s are 0.7 of one worker.
    assert "join: 110/s wanted" in decided(flow).reason


def test_operators_that_share_a_pool_are_one_vertex_whose_times_add_up() -> None:
    flow = Dataflow(
        Doing("read", in_rps=100.0, busy=0.6), Doing("count", after=("read",), in_rps=100.0, busy=0.5), shared=10
    )
    # Eleven of ten slots busy, for a target of 0.7.
    assert decided(flow).allocation == {POOL: 16}


def test_partitions_of_a_source_and_key_groups_of_state_are_spread() -> None:
    def over(**source: Any) -> Dataflow:
        return Dataflow(Doing("source", in_rps=100.0, busy=1.0, arrival_rps=350.0, **source), shared=None)

    flow = over(partitions=12)
    flow.doing["count"] = Doing("count", after=("source",), in_rps=100.0, busy=0.7)
    flow.looks = [flow._look()]
    assert decided(flow, alignment="evenly_spread").allocation["source"] == 6
    assert decided(flow, alignment="off").allocation["source"] == 5


def test_tasks_of_a_stage_that_reads_two_sources_are_counted_once() -> None:
    both = (Source(name="calls", partitions=12), Source(name="mails", partitions=12))
    read = Operator(name="read", pool=POOL, partitions=12, reads=("calls", "mails"))
    seen = Query(id="q", name="q", phase="running", topology=Topology(operators=(read,)), sources=both)
    assert FlinkAutoscaler()._spread(seen, read) == 12
    told_nothing = replace(read, partitions=None, reads=None)
    before = replace(seen, topology=Topology(operators=(told_nothing,)))
    assert FlinkAutoscaler()._spread(before, told_nothing) == 24


def test_before_the_window_is_full_nothing_changes() -> None:
    early = decided(chain(busy=1.0), for_s=75.0, high=0.8)
    assert (early.kind, early.reason) == ("keep", "1 of 1 min measured since the last change")
    assert decided(chain(busy=1.0), for_s=90.0, high=0.8).kind == "set"


def test_shrinking_waits_and_goes_to_the_largest_size_that_was_recommended_meanwhile() -> None:
    flow = chain(workers=10, busy=0.2)
    flow.passes(90.0)
    flow.passes(120.0, count={"busy": 0.34})
    flow.passes(180.0, count={"busy": 0.2})
    policy = FlinkAutoscaler(**QUICK, catch_up_s=0.0, scale_down_s=300.0, alignment="off", max_down=1.0)
    plans = flow.plans(policy)
    kinds = [(plan.kind, plan.allocation["count"]) for plan in plans]
    first = next(place for place, (kind, _) in enumerate(kinds) if kind == "set")
    # The first recommendation comes with a full window at 90 s.
    assert first * 15.0 == 390.0
    assert kinds[first][1] == 5
    assert any("count may shrink to" in plan.reason for plan in plans[:first])


def test_a_recommendation_to_stay_begins_the_wait_anew() -> None:
    flow = chain(workers=10, busy=0.2)
    flow.passes(150.0)
    flow.passes(90.0, count={"busy": 0.7})
    flow.passes(180.0, count={"busy": 0.2})
    policy = FlinkAutoscaler(**QUICK, catch_up_s=0.0, scale_down_s=240.0, alignment="off")
    assert {plan.allocation["count"] for plan in flow.plans(policy)} == {10}


def test_what_waits_to_shrink_is_taken_along_when_another_vertex_grows() -> None:
    flow = Dataflow(
        Doing("source", in_rps=100.0, busy=0.7), Doing("count", after=("source",), in_rps=100.0, busy=0.2, workers=10)
    )
    flow.passes(120.0)
    policy = FlinkAutoscaler(**QUICK, catch_up_s=0.0, scale_down_s=3600.0, alignment="off")
    assert flow.plans(policy)[-1].kind == "keep"
    flow.passes(120.0, source={"arrival_rps": 180.0, "busy": 1.0})
    assert flow.plans(policy)[-1].allocation == {"source": 3, "count": 6}


def in_vain(policy: FlinkAutoscaler) -> list[Decision]:
    """A vertex that does 100/s at any size."""
    flow = chain(workers=2, busy=1.0)
    flow.doing["source"] = Doing("source", in_rps=100.0, arrival_rps=150.0, busy=0.5)
    planner, made = Planner(policy, {}, flow.provides), []
    while flow.at_s < 600:
        decision = planner.plan(flow.now).decision
        made.append(decision)
        flow.resized(**decision.allocation)
        flow.passes(15.0)
    return made


def test_a_growth_in_vain_is_told_and_not_repeated_if_asked_for() -> None:
    settings: dict[str, Any] = {**QUICK, "catch_up_s": 0.0, "alignment": "off"}
    told = in_vain(FlinkAutoscaler(**settings))
    assert any("count grew in vain the last time" in decision.reason for decision in told)
    assert told[-1].allocation["count"] > 5
    blocked = in_vain(FlinkAutoscaler(**settings, block_ineffective=True))
    assert blocked[-1].allocation["count"] == 5


def test_a_tagged_operator_is_left_alone() -> None:
    decision = decided(chain(busy=0.2, parallel=False))
    assert decision.allocation["count"] == 4
    assert "count is not data-parallel" in decision.reason


def test_without_a_query_it_holds() -> None:
    empty = Observation(at_s=0.0, utc_s=0.0, application="app", pools=())
    assert Planner(FlinkAutoscaler(), {}, frozenset()).plan(empty).decision.reason == "no query runs"


def test_a_band_that_does_not_hold_the_target_is_refused() -> None:
    with pytest.raises(BadInput, match=r"low 0\.8, target 0\.7, high 1"):
        FlinkAutoscaler(low=0.8)


def test_an_overload_is_grown_out_of_once_and_the_lag_of_it_is_caught_up_with() -> None:
    parts = (
        OperatorModel(name="flatmap", after=(Feed("sentences"),), rate_rps=100.0),
        OperatorModel(name="count", after=(Feed("flatmap", 20.0),), rate_rps=1_000.0, buffer=1_000.0),
    )
    model = DataflowModel(
        name="word-count",
        logs=(LogModel(name="sentences"),),
        operators=parts,
        pools=own_pools(parts, replace(WARM, max_workers=100)),
        restart=RestartModel(grow_s=60.0, shrink_s=60.0),
    )
    story = Story()
    Simulation(
        model,
        parse_workload("constant(1000)"),
        FlinkAutoscaler(alignment="off"),
        name="flink-autoscaler",
        duration_s=3 * 3600.0,
        tick_s=15.0,
    ).run([story])
    sizes = [tick.decision.allocation["flatmap"] for tick in story.ticks if tick.decision is not None]
    grown = next(size for size in sizes if size > 1)
    # 1,000/s at 0.7, a sixth of that for the restart, and over thirty minutes the lag of twenty: count, with its
    # thousand words, lets flatmap do no more than 50/s.
    assert grown == math.ceil((1_000 / 0.7 + 1_000 / 6 + 1_200 * 950 / 1_800) / 100)
    assert sizes[: sizes.index(grown)] == [1] * (1_200 // 15)
    assert story.backlog()[-1] < 1_000
    # Without the lag it is too large by half, which is still inside the band: utilisation 0.43.
    assert set(sizes) == {1, grown}

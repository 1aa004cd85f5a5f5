"""Gesscale's algorithms, one by one, on small dataflows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.observation import Observation, RunningBatch, Worker
from elastream.core.protocols import Policy
from elastream.core.topology import Operator
from elastream.estimators.capacity import Saturated
from elastream.policies import Gesscale, MdlNLUnaware, policies
from elastream.policies.gesscale.policy import Memory
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    OperatorModel,
    PlacesModel,
    RestartModel,
)
from elastream.simulator.run import Simulation
from elastream.testing import POOL, Story
from elastream.workloads import parse_workload
from tests.unit.policies.observing import Dataflow, Doing

# Delay of each node to all others: that of the farther one of the two.
DELAYS_MS = {"brussels": 5.0, "amsterdam": 50.0, "madrid": 55.0, "london": 100.0, "rome": 150.0, "helsinki": 300.0}


def on_nodes(*nodes: str, delays_ms: dict[str, float] = DELAYS_MS) -> tuple[Worker, ...]:
    """Workers on nodes, each knowing its delay to all others; a worker is called like its node."""
    return tuple(
        Worker(
            id=f"on-{node}",
            state="ready",
            since_s=0.0,
            node=node,
            delays_ms={other: max(delays_ms[node], delays_ms[other]) for other in delays_ms if other != node},
        )
        for node in nodes
    )


def pipeline(workers: int = 2, nodes: Sequence[str] = (), **settings: Any) -> Dataflow:
    """A source, the operator that is scaled, and a sink."""
    flow = Dataflow(
        Doing("source", in_rps=100.0),
        Doing("map", after=("source",), workers=workers, in_rps=100.0),
        Doing("sink", after=("map",), in_rps=100.0),
        **settings,
    )
    if nodes:
        flow.seen_with("map", workers=on_nodes(*nodes))
    flow.looks.clear()
    flow.passes(15)
    return flow


def learned(policy: Policy[Memory], looks: Sequence[Observation], memory: Memory | None = None) -> Memory:
    """What a policy remembers after some looks."""
    memory = policy.start() if memory is None else memory
    for look in looks:
        memory = policy.learn(memory, look, None)
    return memory


def overloaded(flow: Dataflow, rps: float, for_s: float = 60.0) -> Observation:
    """The map takes in all it can, and its source is held up."""
    return flow.passes(for_s, source={"in_rps": rps, "backpressure": 0.8}, map={"in_rps": rps})


def at_ease(flow: Dataflow, rps: float, for_s: float = 60.0) -> Observation:
    """Nothing is held up."""
    return flow.passes(for_s, source={"in_rps": rps, "backpressure": 0.0}, map={"in_rps": rps})


def knowing_maxima(*measured: Saturated) -> Memory:
    """What is remembered of a pool that was overloaded before."""
    memory = learned(Gesscale(), [pipeline().now])
    memory["map"]["measured"] = [[point.workers, point.rps, point.max_delay_ms] for point in measured]
    return memory


def decided(policy: Policy[Memory], flow: Dataflow, memory: Memory | None = None) -> Decision:
    return policy.decide(flow.now, flow.known(), learned(policy, flow.looks, memory))


def test_an_operator_that_is_not_held_up_while_all_before_it_are_gets_one_worker_more() -> None:
    flow = pipeline(workers=2)
    overloaded(flow, 100.0)
    decision = decided(Gesscale(), flow)
    assert decision.allocation == {"source": 1, "map": 3, "sink": 1}
    assert "map is overloaded: map is held up 0% of its time and all that feeds it 80%" in decision.reason


def test_an_operator_that_is_held_up_itself_is_not_the_one_to_grow() -> None:
    flow = pipeline()
    flow.passes(60, source={"backpressure": 0.8}, map={"backpressure": 0.7})
    assert decided(Gesscale(), flow).allocation == {"source": 1, "map": 2, "sink": 2}


def test_half_of_the_time_is_not_yet_held_up() -> None:
    flow = pipeline()
    flow.passes(60, source={"backpressure": 0.5})
    assert decided(Gesscale(), flow).kind == "keep"


def test_an_operator_fed_by_two_grows_only_if_both_are_held_up() -> None:
    flow = Dataflow(
        Doing("left", in_rps=100.0, backpressure=0.8),
        Doing("right", in_rps=100.0, backpressure=0.2),
        Doing("join", after=("left", "right"), in_rps=200.0),
    )
    flow.passes(60)
    assert decided(Gesscale(), flow).allocation["join"] == 1
    flow.passes(60, right={"backpressure": 0.6})
    assert decided(Gesscale(), flow).allocation["join"] == 2


def test_a_source_is_overloaded_when_its_log_leaves_records_behind_and_nothing_holds_it_up() -> None:
    flow = pipeline()
    flow.passes(60, source={"arrival_rps": 150.0, "in_rps": 100.0})
    assert decided(Gesscale(), flow).allocation == {"source": 2, "map": 2, "sink": 1}


def test_the_throughput_of_an_overloaded_minute_is_remembered_as_the_maximum_of_its_size_and_delay() -> None:
    flow = pipeline(nodes=("brussels", "amsterdam"))
    overloaded(flow, 120.0)
    assert learned(Gesscale(), flow.looks)["map"]["measured"] == [[2.0, pytest.approx(120.0), 50.0]]
    overloaded(flow, 110.0)
    assert learned(Gesscale(), flow.looks)["map"]["measured"] == [[2.0, pytest.approx(110.0), 50.0]]


def test_no_minute_is_measured_across_a_change_of_workers() -> None:
    flow = pipeline()
    overloaded(flow, 100.0, for_s=45.0)
    flow.resized(map=3)
    overloaded(flow, 150.0, for_s=45.0)
    memory = learned(Gesscale(), flow.looks)["map"]
    assert (memory["measured"], memory["minute"]) == ([], None)
    assert decided(Gesscale(), flow).kind == "hold"


def test_one_measurement_gives_alpha_and_as_many_workers_go_as_it_allows() -> None:
    flow = pipeline(workers=6)
    at_ease(flow, 100.0)
    # 2 workers took in 100/s, so 6 take in 300/s, and 2 are enough.
    decision = decided(Gesscale(), flow, knowing_maxima(Saturated(2, 100.0)))
    assert decision.allocation["map"] == 2
    assert "map takes in 100/s of at most 300/s, 67% below: 2 workers are enough" in decision.reason


def test_the_maximum_may_equal_the_throughput_but_not_fall_below_it() -> None:
    flow = pipeline(workers=6)
    at_ease(flow, 150.0)
    assert decided(Gesscale(), flow, knowing_maxima(Saturated(2, 100.0))).allocation["map"] == 3
    flow = pipeline(workers=6)
    at_ease(flow, 150.1)
    assert decided(Gesscale(), flow, knowing_maxima(Saturated(2, 100.0))).allocation["map"] == 4


def test_a_drop_of_less_than_the_threshold_leaves_everything_as_it_is() -> None:
    flow = pipeline(workers=6)
    at_ease(flow, 211.0)
    decision = decided(Gesscale(), flow, knowing_maxima(Saturated(2, 100.0)))
    # 30 % of 300/s is 90/s; five workers would be enough, and are not asked for.
    assert (decision.kind, decision.allocation["map"]) == ("keep", 6)
    assert "30% below, the threshold 30%" in decision.reason
    assert decided(Gesscale(drop=0.1), flow, knowing_maxima(Saturated(2, 100.0))).allocation["map"] == 5


def test_the_way_of_the_code_shrinks_only_until_the_drop_is_within_the_threshold() -> None:
    flow = pipeline(workers=6)
    at_ease(flow, 150.0)
    policy = Gesscale(shrink_to="threshold")
    # 50/s each: of 250/s and 200/s, 150/s are 40 % and 25 % below.
    assert decided(policy, flow, knowing_maxima(Saturated(2, 100.0))).allocation["map"] == 4
    at_ease(flow, 100.0)
    assert decided(policy, flow, knowing_maxima(Saturated(2, 100.0))).allocation["map"] == 2


@pytest.mark.parametrize(
    ("policy", "least", "most"),
    [(Gesscale(), 3, 9), (policies.build("gesscale-code"), 2, 6), (Gesscale(least=4, most=7), 4, 7)],
)
def test_it_stays_within_the_bounds_of_the_pool_or_those_it_was_told(
    policy: Policy[Any], least: int, most: int
) -> None:
    idle = pipeline(workers=most - 1, most=9)
    idle.seen_with("map", min_workers=3)
    idle.passes(300.0)
    at_ease(idle, 0.0)
    assert decided(policy, idle, knowing_maxima(Saturated(2, 100.0))).allocation["map"] == least
    for workers in (most - 1, most):
        full = pipeline(workers=workers, most=9)
        full.passes(300.0)
        overloaded(full, 300.0, for_s=180.0)
        decision = decided(policy, full)
        assert decision.allocation["map"] == most
    assert decision.kind == "keep"
    assert f"has the most workers it may have, {most}" in decision.reason


def test_it_cannot_shrink_before_it_was_overloaded_once() -> None:
    flow = pipeline(workers=6)
    at_ease(flow, 10.0)
    decision = decided(Gesscale(), flow)
    assert decision.kind == "keep"
    assert "was never overloaded: its maximum is not known" in decision.reason


def test_the_nearest_free_node_is_added() -> None:
    flow = pipeline(nodes=("brussels", "london"))
    overloaded(flow, 100.0)
    decision = decided(Gesscale(), flow)
    # Amsterdam and Madrid leave the greatest delay at 100 ms; Amsterdam is nearer to the two.
    assert decision.add_on == ("amsterdam",)
    assert "one worker more, on amsterdam" in decision.reason


def test_the_farthest_workers_leave_and_the_maximum_is_that_of_those_who_stay() -> None:
    flow = pipeline(workers=4, nodes=("brussels", "amsterdam", "madrid", "helsinki"))
    at_ease(flow, 140.0)
    # 50 n - 0.2 ND: 140/s with all four, 139/s with three on the near nodes; 2 workers with 50 ms take in 90/s.
    maxima = knowing_maxima(Saturated(2, 90.0, 50.0), Saturated(2, 70.0, 150.0))
    policy = Gesscale(drop=0.0)
    assert decided(policy, flow, maxima).kind == "keep"
    at_ease(flow, 138.0)
    decision = decided(policy, flow, maxima)
    assert (decision.allocation["map"], decision.leave_first) == (3, ("on-helsinki",))


def test_several_leave_at_once_the_farthest_first() -> None:
    flow = pipeline(workers=5, nodes=("brussels", "amsterdam", "madrid", "rome", "helsinki"))
    at_ease(flow, 80.0)
    maxima = knowing_maxima(Saturated(2, 90.0, 50.0), Saturated(2, 70.0, 150.0))
    decision = decided(Gesscale(), flow, maxima)
    assert (decision.allocation["map"], decision.leave_first) == (2, ("on-helsinki", "on-rome", "on-madrid"))


def test_three_measurements_calibrate_all_and_predict_another_configuration_within_two_percent() -> None:
    def true_rps(n: float, delay_ms: float) -> float:
        return 80.0 * math.pow(n, 0.85) - 0.2 * delay_ms

    configurations = [(2, 50.0), (3, 55.0), (4, 100.0)]
    model = Gesscale().model([Saturated(n, true_rps(n, delay), delay) for n, delay in configurations])
    assert model is not None
    for n, delay in ((5, 150.0), (6, 300.0), (2, 5.0)):
        assert model.rps(n, delay) == pytest.approx(true_rps(n, delay), rel=0.02)


def test_without_places_it_scales_all_the_same_and_names_nobody() -> None:
    flow = pipeline(workers=6)
    at_ease(flow, 100.0)
    decision = decided(Gesscale(), flow, knowing_maxima(Saturated(2, 100.0)))
    assert (decision.leave_first, decision.evidence["max_delay_ms/map"]) == ((), None)


def test_a_batch_that_leaves_records_behind_stands_in_for_back_pressure() -> None:
    flow = Dataflow(Doing("stage", in_rps=0.0, arrival_rps=100.0, backpressure=None), shared=2, trigger_s=10.0)
    for _ in range(6):
        # Batches of 15 s that take in 10 s worth of records, at a trigger interval of 10 s.
        flow.passes(15.0)
        flow.totals["stage", "in"] = flow.totals["stage", "in"] + 1_000.0
        flow.batch(15.0, rows=1_000.0)
        flow.looks[-1] = flow._look()  # the same look again, with the batch that ends on it
    decision = decided(Gesscale(), flow)
    assert decision.allocation == {POOL: 3}
    assert "q leaves 2,000 records behind, 1,000 of them bearable" in decision.reason
    # From commit to commit: 1,000 records in 15 s.
    assert learned(Gesscale(), flow.looks)[POOL]["measured"] == [[2.0, pytest.approx(1_000 / 15), 0.0]]


def test_a_batch_that_never_ends_is_overload_without_a_measurement() -> None:
    flow = Dataflow(Doing("stage", in_rps=0.0, arrival_rps=100.0, backpressure=None), shared=2, trigger_s=10.0)
    flow.batch(5.0)
    flow.running = RunningBatch(id=1, started_s=0.0)
    flow.looks.clear()
    flow.passes(75.0)
    memory = learned(Gesscale(), flow.looks)[POOL]
    assert memory["minute"] is not None
    assert (memory["minute"]["rps"], memory["measured"]) == (None, [])
    assert decided(Gesscale(), flow).allocation == {POOL: 3}


def test_the_preset_of_the_code_waits_after_a_change_and_wants_to_see_overload_twice() -> None:
    policy = Gesscale(overloads=2, warm_up_s=300.0)
    flow = pipeline()
    overloaded(flow, 100.0, for_s=285.0)
    assert decided(policy, flow).reason.startswith("source warms up for 15 s more")
    overloaded(flow, 100.0, for_s=75.0)
    assert decided(policy, flow).allocation["map"] == 2
    overloaded(flow, 100.0, for_s=60.0)
    assert decided(policy, flow).allocation["map"] == 3


def test_a_look_without_what_is_needed_says_what_is_missing_and_begins_the_minute_anew() -> None:
    flow = pipeline()
    overloaded(flow, 100.0, for_s=45.0)
    flow.passes(15, source={"in_rps": None})
    decision = decided(Gesscale(), flow)
    assert decision.kind == "hold"
    assert "throughput of q is not known" in decision.reason


def test_a_query_that_restarts_is_not_measured() -> None:
    flow = pipeline()
    overloaded(flow, 100.0)
    query = replace(flow.now.queries[0], phase="restarting")
    now = replace(flow.now, at_s=flow.at_s + 15, queries=(query,))
    memory = learned(Gesscale(), [*flow.looks, now])
    assert memory["map"]["minute"] is None
    assert Gesscale().decide(now, flow.known(), memory).reason.startswith("q is restarting")


def test_an_operator_that_more_workers_do_not_help_is_left_alone() -> None:
    flow = pipeline()
    overloaded(flow, 100.0)
    query = flow.now.queries[0]
    alone = tuple(
        Operator(name=operator.name, pool=operator.pool, parallel=False) for operator in query.topology.operators
    )
    now = replace(flow.now, queries=(replace(query, topology=replace(query.topology, operators=alone)),))
    decision = Gesscale().decide(now, flow.known(), learned(Gesscale(), flow.looks))
    assert decision.kind == "keep"
    assert "more workers would not make map faster" in decision.reason


def test_the_baseline_without_delays_knows_alpha_alone_and_leaves_the_choice_to_the_platform() -> None:
    flow = pipeline(workers=4, nodes=("brussels", "amsterdam", "madrid", "helsinki"))
    policy = MdlNLUnaware()
    overloaded(flow, 140.0)
    memory = learned(policy, flow.looks)
    assert memory["map"]["measured"] == [[4.0, pytest.approx(140.0), 0.0]]
    assert policy.decide(flow.now, flow.known(), memory).add_on == ()
    at_ease(flow, 70.0)
    decision = decided(policy, flow)
    # 35/s each: 70/s are two workers, whoever they are.
    assert (decision.allocation["map"], decision.leave_first) == (2, ())
    newest = policy.model([Saturated(2, 100.0), Saturated(4, 120.0)])
    assert newest is not None
    assert newest.rps(2) == pytest.approx(60.0)


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="most 6 must be at least 1 and not below least"):
        Gesscale(least=7, most=6)
    with pytest.raises(BadInput, match="least 0 must be at least 1"):
        Gesscale(least=0)
    with pytest.raises(BadInput, match="drop 1 must be at least 0 and below 1"):
        Gesscale(drop=1.0)


def taxi_job() -> DataflowModel:
    """One operator that reads the log, of 100/s per worker; a worker on Helsinki costs all others together 30/s."""
    delays = {a: {b: max(DELAYS_MS[a], DELAYS_MS[b]) for b in DELAYS_MS if b != a} for a in DELAYS_MS}
    return DataflowModel(
        name="taxi",
        logs=(LogModel(name="rides"),),
        operators=(
            OperatorModel(name="map", after=(Feed("rides"),), rate_rps=100.0, delay_cost_rps=0.1, buffer=100.0),
        ),
        pools={"map": replace(WARM, max_workers=6, initial_workers=2)},
        restart=RestartModel(grow_s=30.0, shrink_s=30.0),
        places=PlacesModel(nodes=tuple(DELAYS_MS), delays_ms=delays),
    )


def simulated(policy: Policy[Any], workload: str, *, minutes: float) -> Story:
    story = Story()
    load = parse_workload(workload)
    Simulation(taxi_job(), load, policy, name="p", duration_s=minutes * 60, seed=3).run([story])
    assert not any(tick.troubles for tick in story.ticks)
    return story


def test_on_the_continuous_engine_it_ends_on_the_nearest_of_the_nodes_it_had() -> None:
    story = simulated(Gesscale(), "constant(100) + spike(250, at=10m, for=15m)", minutes=40)
    assert max(story.ready()) >= 4
    last = story.looks()[-1].pools[0]
    # Two are the least; of all that were added in between, the farthest have left.
    assert {worker.node for worker in last.workers} == {"brussels", "amsterdam"}


def test_as_published_it_takes_catching_up_after_a_change_for_overload() -> None:
    """Every change leaves records behind, so that under a constant load it goes down, up and down again."""
    sizes = simulated(Gesscale(), "constant(350)", minutes=30).wanted()
    changes = [(before, after) for before, after in pairwise(sizes) if before != after]
    assert changes.count((6, 4)) >= 2
    # As the public code runs, with a wait after every change, it settles.
    settling = policies.build("gesscale-code")
    assert len(set(simulated(settling, "constant(350)", minutes=75).wanted(from_s=3600))) == 1

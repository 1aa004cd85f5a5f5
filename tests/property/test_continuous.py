"""Whatever the job, the load and the faults: nothing is created or lost, and records leave in the order they came."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastream.estimators.delay import quantiles
from elastream.simulator.continuous.engine import ContinuousEngine
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    MeasuringModel,
    OperatorModel,
    PlacesModel,
    RestartModel,
    WindowModel,
)
from elastream.simulator.faults import Fault, SinkBlocked, SlowStart, Straggler, WorkerLoss
from elastream.workloads.series import RateSeries

DURATION_S = 120.0

rates = st.lists(st.sampled_from([0.0, 0.3, 10.0, 500.0, 20_000.0]), min_size=1, max_size=6)


@st.composite
def operators(draw: st.DrawFn, name: str, feeds: list[str], shared: bool, *, of_log: bool = False) -> OperatorModel:
    chosen = sorted(draw(st.sets(st.sampled_from(feeds), min_size=1, max_size=1 if of_log else 2)))
    selectivity = st.just(1.0) if of_log else st.sampled_from([0.0, 0.3, 1.0, 20.0])
    window = WindowModel(
        every_s=draw(st.sampled_from([5.0, 20.0])),
        length_s=draw(st.sampled_from([None, 60.0])),
        fire_rps=draw(st.sampled_from([50.0, 5_000.0])),
    )
    return OperatorModel(
        name=name,
        after=tuple(Feed(feed, draw(selectivity)) for feed in chosen),
        rate_rps=draw(st.sampled_from([30.0, 300.0, 30_000.0])),
        pool="workers" if shared else None,
        buffer=draw(st.sampled_from([None, 1.0, 200.0])),
        scaling=draw(st.sampled_from([1.0, 0.9])),
        delay_cost_rps=draw(st.sampled_from([0.0, 1.0])),
        delay_idle=draw(st.sampled_from([0.0, 0.5])),
        hot_share=0.0 if of_log else draw(st.sampled_from([0.0, 0.5, 1.0])),
        window=window if draw(st.integers(0, 4)) == 0 else None,
        partitions=draw(st.sampled_from([None, 3])),
        unseen=draw(st.sampled_from([0.0, 0.2])),
    )


@st.composite
def jobs(draw: st.DrawFn, *, slots: int | None = None) -> DataflowModel:
    logs = tuple(
        LogModel(
            name=name,
            share=share,
            partitions=partitions,
            hot_share=hot_share,
            retention_s=draw(st.sampled_from([None, None, 0.0, 15.0])),
        )
        for name, share in (("a", 1.0), ("b", 0.4))[: draw(st.integers(1, 2))]
        for partitions, hot_share in [draw(st.sampled_from([(None, 0.0), (1, 0.0), (7, 0.0), (7, 0.5), (7, 1.0)]))]
    )
    shared = draw(st.booleans())
    found = [draw(operators(f"read-{log.name}", [log.name], shared, of_log=True)) for log in logs]
    if logs[0].partitions is None:
        found[0] = replace(found[0], hot_share=draw(st.sampled_from([0.0, 0.5, 1.0])))
    for number in range(draw(st.integers(0, 3))):
        found.append(draw(operators(f"op-{number}", [one.name for one in found], shared)))
    pool = replace(
        WARM,
        slots_per_worker=slots or draw(st.sampled_from([1, 3])),
        initial_workers=draw(st.integers(1, 3)),
        start_s=draw(st.sampled_from([0.0, 4.0])),
        cpu_noise=0.02,
    )
    nodes = tuple(f"n{i}" for i in range(40))
    delays_ms = {"n0": {"n1": 20.0, "n2": 5.0}, "n3": {"n4": 100.0}}
    return DataflowModel(
        name="any",
        logs=logs,
        operators=tuple(found),
        pools={operator.pool_name: pool for operator in found},
        restart=RestartModel(
            grow_s=draw(st.sampled_from([0.0, 7.0])),
            shrink_s=draw(st.sampled_from([0.0, 3.0])),
            loss_s=5.0,
            downtimes_s=draw(st.sampled_from([(), (2.0, 0.0)])),
            checkpoint_s=draw(st.sampled_from([None, 10.0])),
        ),
        measuring=MeasuringModel(busy_ceiling=0.9, unsteady=draw(st.sampled_from([0.0, 0.3]))),
        places=draw(
            st.sampled_from(
                [
                    None,
                    PlacesModel(nodes=nodes, delays_ms=delays_ms),
                    PlacesModel(nodes=nodes, delays_ms=delays_ms, start=("n3", "n4"), anew=True),
                ]
            )
        ),
        cluster_workers=draw(st.sampled_from([None, 12])),
        stops_sources_until=draw(st.sampled_from([None, None, 0.5])),
    )


times = st.floats(0.0, DURATION_S)
faults: st.SearchStrategy[Fault] = st.one_of(
    st.builds(WorkerLoss, at_s=times, workers=st.integers(1, 3)),
    st.builds(Straggler, at_s=times, for_s=times, factor=st.just(4.0)),
    st.builds(SlowStart, at_s=times, for_s=times, by_s=st.just(20.0)),
    st.builds(SinkBlocked, at_s=times, for_s=st.floats(0.0, 30.0)),
)
moves = st.lists(st.tuples(st.integers(0, 119), st.lists(st.integers(1, 6), min_size=5, max_size=5)), max_size=6)


def engine_of(model: DataflowModel, levels: list[float], planted: list[Fault], seed: int) -> ContinuousEngine:
    curve = RateSeries.steps(levels, step_s=20.0, duration_s=DURATION_S)
    return ContinuousEngine(model, {log.name: curve * log.share for log in model.logs}, seed=seed, faults=planted)


@settings(max_examples=60)
@given(jobs(), rates, st.lists(faults, max_size=3), moves, st.integers(0, 5))
def test_every_record_is_in_one_place_at_every_step(
    model: DataflowModel,
    levels: list[float],
    planted: list[Fault],
    resizes: list[tuple[int, list[int]]],
    seed: int,
) -> None:
    engine = engine_of(model, levels, planted, seed)
    before = [0.0] * len(engine.logs)
    for second in range(int(DURATION_S)):
        for at_s, sizes in resizes:
            if at_s == second:
                engine.resize(dict(zip(model.pools, sizes, strict=False)))
        spent = [(op.busy_s, op.backpressure_s) for op in engine.operators]
        engine.advance(float(second + 1))
        before = assert_conserved(engine, before)
        assert_time_is_spent_once(engine, spent)
    counted = sum(part.records for part in engine.delays)
    assert_near(counted, sum(log.committed for log in engine.logs))
    assert all(0 <= part.shortest_s <= part.longest_s for part in engine.delays)
    assert_workers_sound(engine)


def assert_near(value: float, expected: float, why: str = "", *, among: float = 0.0) -> None:
    # By hand, because this runs a million times. What is left of large numbers is as inexact as they are.
    assert abs(value - expected) <= 1e-6 + 1e-8 * max(abs(expected), among), f"{value} is not {expected}: {why}"


def assert_conserved(engine: ContinuousEngine, before: list[float]) -> list[float]:
    for log, then in zip(engine.logs, before, strict=True):
        assert_near(log.arrived, log.curve.arrived(engine.now_s))
        assert_near(log.arrived, log.expired + log.unread + log.high, "arrived is read, gone, or waits")
        assert then <= log.committed <= log.high * (1 + 1e-9)
        assert log.read <= log.high * (1 + 1e-9)
        assert log.unread >= -1e-6 * (1 + log.arrived)
    given_out = given_to_each(engine)
    for operator in engine.operators:
        assert_near(sum(operator.passed) + sum(operator.waiting), given_out[operator.number])
        assert_near(operator.queue, sum(operator.waiting), among=operator.records_in)
        least = min((0.0, *operator.waiting, *(group.queue for group in operator.groups)))
        assert_near(least, 0.0, "less than nothing waits", among=operator.records_in)
        assert operator.busy_s >= 0
    return [log.committed for log in engine.logs]


def assert_time_is_spent_once(engine: ContinuousEngine, before: list[tuple[float, float]]) -> None:
    """Useful time and waiting together fit into a second of all instances; observed rates stay below true ones."""
    for operator, (busy_s, held_s) in zip(engine.operators, before, strict=True):
        busy_s, held_s = operator.busy_s - busy_s, operator.backpressure_s - held_s
        assert busy_s >= 0
        assert held_s >= 0
        if engine.model.stops_sources_until is None:
            assert busy_s + held_s <= operator.useful * (1 + 1e-6)
        else:
            # Who works on while the sources stand still counts as held up too, as Heron tells it.
            assert max(busy_s, held_s) <= operator.useful * (1 + 1e-6)


def given_to_each(engine: ContinuousEngine) -> dict[int, float]:
    """What reached each operator since the beginning, or since what is done again: from logs and from operators."""
    reached = {op.number: sum(log.read for log in op.logs) for op in engine.operators}
    for operator in engine.operators:
        window = operator.window
        through = sum(operator.passed) if window is None else window.fired
        for out in operator.outs:
            reached[out.to.number] += through * out.selectivity
        if window is not None and not window.panes:
            assert_near(sum(operator.passed), window.held + window.firing + window.fired)
    return reached


def assert_workers_sound(engine: ContinuousEngine) -> None:
    engine.settle_accounts()
    nodes = [worker.node for cluster in engine.clusters.values() for worker in cluster.workers if worker.node]
    assert len(nodes) == len(set(nodes)), "each node takes one worker"
    for cluster in engine.clusters.values():
        for worker in cluster.workers:
            assert worker.busy_slot_s <= worker.slots * (engine.now_s - worker.since_s) + 1e-6


@settings(max_examples=40)
@given(jobs(), rates, st.lists(st.builds(Straggler, at_s=times, for_s=times, factor=st.just(4.0)), max_size=1))
def test_what_workers_have_done_is_what_their_operators_have(
    model: DataflowModel, levels: list[float], planted: list[Fault]
) -> None:
    """Uneven partitions, hot keys and slow workers part the work, and lose none of it."""
    engine = engine_of(model, levels, planted, 0)
    engine.advance(DURATION_S)
    engine.settle_accounts()
    for name, cluster in engine.clusters.items():
        in_pool = [op for op in engine.operators if op.model.pool_name == name]
        counted = [op for op in in_pool if op.logs] or in_pool
        assert_near(sum(worker.records for worker in cluster.workers), sum(op.records_in for op in counted))
    assert_workers_sound(engine)


@settings(max_examples=25)
@given(jobs(), rates, st.lists(faults, max_size=2), moves, st.integers(0, 3))
def test_the_same_seed_gives_the_same_run_and_stops_in_between_change_nothing(
    model: DataflowModel,
    levels: list[float],
    planted: list[Fault],
    resizes: list[tuple[int, list[int]]],
    seed: int,
) -> None:
    def run(stops: list[float]) -> list[object]:
        engine = engine_of(model, levels, planted, seed)
        for second, sizes in sorted(resizes):
            for stop in [stop for stop in stops if stop <= second]:
                engine.advance(stop)
            engine.advance(float(second))
            engine.resize(dict(zip(model.pools, sizes, strict=False)))
        engine.advance(DURATION_S)
        totals = [(op.records_in, op.records_out, op.busy_s, op.backpressure_s, op.queue) for op in engine.operators]
        return [engine.delays, totals, [worker.id for c in engine.clusters.values() for worker in c.workers]]

    assert run([]) == run([float(t) / 2 for t in range(241)])


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12),
    st.sampled_from([7.0, 20.0, 33.0]),
    st.sampled_from([5.0, 25.0]),
    st.sampled_from([3.0, 40.0, None]),
)
def test_delays_are_those_of_single_records_that_queue_one_behind_the_other(
    levels: list[int], first_rps: float, second_rps: float, buffer: float | None
) -> None:
    """Records are split into a thousand parts, each of which is followed by itself through log and buffer."""
    model = DataflowModel(
        name="two",
        logs=(LogModel(name="a"),),
        operators=(
            OperatorModel(name="one", after=(Feed("a"),), rate_rps=first_rps),
            OperatorModel(name="two", after=(Feed("one"),), rate_rps=second_rps, buffer=buffer),
        ),
        pools={"one": WARM, "two": WARM},
        base_latency_s=0.5,
    )
    curve = RateSeries.steps([float(level) for level in levels], step_s=5.0, duration_s=DURATION_S)
    engine = ContinuousEngine(model, {"a": curve}, seed=0)
    engine.advance(60.0)
    single = single_delays(curve, first_rps, second_rps, float("inf") if buffer is None else buffer)
    assert sum(part.records for part in engine.delays) == pytest.approx(len(single) * PART, abs=4 * PART)
    if len(single) * PART < 1:
        return
    for share, delay in zip((0.5, 0.95, 0.99), quantiles(engine.delays, (0.5, 0.95, 0.99)), strict=True):
        # Between two stretches of delays that no record has, any value in the gap is the quantile.
        low = np.quantile(single, max(0.0, share - 0.01), method="lower")
        high = np.quantile(single, min(1.0, share + 0.01), method="higher")
        assert low - 0.06 <= delay - 0.5 <= high + 0.06


PART = 0.05


def single_delays(curve: RateSeries, first_rps: float, second_rps: float, room: float) -> list[float]:
    """Two servers in a row, in fine steps of time, with records as things in queues."""
    fine_s, log, buffer = 0.01, deque[float](), deque[float]()
    delays: list[float] = []
    made, first_credit, second_credit = 0.0, 0.0, 0.0
    for tick in range(int(60.0 / fine_s)):
        now_s = (tick + 1) * fine_s
        while made + PART <= curve.arrived(now_s) + 1e-9:
            made += PART
            log.append(curve.when(made))
        # Time in which a server could not work is lost, but for the part of a record that it has begun.
        first_credit = min(first_credit, PART) + first_rps * fine_s
        second_credit = min(second_credit, PART) + second_rps * fine_s
        moving = True
        while moving:
            moving = False
            if log and first_credit >= PART and len(buffer) * PART < room + second_rps * fine_s:
                first_credit -= PART
                buffer.append(log.popleft())
                moving = True
            if buffer and second_credit >= PART:
                second_credit -= PART
                delays.append(max(0.0, now_s - buffer.popleft()))
                moving = True
    return delays

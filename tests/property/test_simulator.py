"""Whatever the model, the load and the faults: nothing is created, lost, or processed before it arrived."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastream.core.observation import Trigger
from elastream.estimators.delay import Stretch, quantiles
from elastream.simulator.delay import stretches
from elastream.simulator.faults import Fault, SinkBlocked, SlowStart, Straggler, WorkerLoss
from elastream.simulator.microbatch.engine import MicroBatchEngine
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel, SourceModel, StageModel, StateModel
from elastream.simulator.microbatch.query import SimulatedQuery
from elastream.simulator.pool_model import PoolModel
from elastream.workloads.series import RateSeries

DURATION_S = 120.0

rates = st.lists(st.sampled_from([0.0, 0.3, 10.0, 500.0, 20_000.0]), min_size=1, max_size=6)


@st.composite
def stages(draw: st.DrawFn, after: tuple[str, ...], name: str, stateful: bool) -> StageModel:
    partitions = draw(st.integers(1, 9))
    return StageModel(
        name=name,
        after=after,
        partitions=partitions,
        slot_s_per_record=draw(st.sampled_from([0.0, 1e-5, 2e-4])),
        records_out=draw(st.sampled_from([0.0, 0.3, 1.0, 5.0])),
        task_s=draw(st.sampled_from([0.0, 0.05])),
        skew=min(draw(st.sampled_from([1.0, 2.5])), partitions),
        stateful=stateful,
    )


@st.composite
def queries(draw: st.DrawFn, name: str) -> QueryModel:
    two = draw(st.booleans())
    limit = draw(st.sampled_from([None, 1.0, 700.0]))
    sources = (SourceModel(name="a", read_limit=limit), *([SourceModel(name="b", share=0.4)] if two else []))
    scans = tuple(draw(stages((source.name,), f"scan-{source.name}", False)) for source in sources)
    last = draw(stages(tuple(scan.name for scan in scans), "last", draw(st.booleans())))
    return QueryModel(
        name=name,
        sources=sources,
        stages=(*scans, last),
        trigger=Trigger(interval_s=draw(st.sampled_from([None, 3.0, 10.0]))),
        # Without any cost per batch, a query that runs as fast as possible would never let time pass.
        plan_s=draw(st.sampled_from([0.05, 0.3])),
        state=StateModel(bytes_per_record=draw(st.sampled_from([0.0, 1e3]))),
        locality_wait_s=draw(st.sampled_from([0.0, 0.5, 3.0])),
        noise=draw(st.sampled_from([0.0, 0.2])),
    )


@st.composite
def applications(draw: st.DrawFn) -> ApplicationModel:
    names = draw(st.sampled_from([("one",), ("one", "two")]))
    pool = PoolModel(
        slots_per_worker=draw(st.sampled_from([1, 4])),
        initial_workers=draw(st.integers(1, 4)),
        cluster_workers=draw(st.sampled_from([None, 4])),
        start_s=draw(st.sampled_from([0.0, 6.0])),
    )
    return ApplicationModel(name="any", queries=tuple(draw(queries(name)) for name in names), pool=pool)


times = st.floats(0.0, DURATION_S)
faults: st.SearchStrategy[Fault] = st.one_of(
    st.builds(WorkerLoss, at_s=times, workers=st.integers(1, 3)),
    st.builds(Straggler, at_s=times, for_s=times, factor=st.just(4.0)),
    st.builds(SlowStart, at_s=times, for_s=times, by_s=st.just(20.0)),
    st.builds(SinkBlocked, at_s=times, for_s=st.floats(0.0, 30.0)),
)
moves = st.lists(st.tuples(times, st.integers(1, 6)), max_size=8)


@settings(max_examples=60)
@given(applications(), rates, st.lists(faults, max_size=3), moves, st.integers(0, 5))
def test_records_in_are_processed_plus_queued_at_every_step(
    model: ApplicationModel, levels: list[float], planted: list[Fault], resizes: list[tuple[float, int]], seed: int
) -> None:
    curve = RateSeries.steps(levels, step_s=20.0, duration_s=DURATION_S)
    engine = MicroBatchEngine(model, {query.name: curve for query in model.queries}, seed=seed, faults=planted)
    before = [0 for query in engine.queries for _ in query.sources]
    steps: list[tuple[float, int | None]] = [*((float(t), None) for t in range(0, 121, 5)), *resizes]
    for at_s, size in sorted(steps, key=lambda step: step[0]):
        engine.advance(at_s)
        if size is not None:
            engine.resize(size)
        before = assert_conserved(engine, before)
    assert_workers_sound(engine)


def assert_conserved(engine: MicroBatchEngine, before: list[int]) -> list[int]:
    committed = []
    for query in engine.queries:
        for source in query.sources:
            arrived = source.arrived(engine.now_s)
            in_batch = source.planned - source.committed
            waiting = arrived - source.planned
            assert in_batch >= 0
            assert waiting >= 0, "a batch read what had not arrived"
            assert source.committed + in_batch + waiting == arrived
            committed.append(source.committed)
        counted = sum(part.records for part in query.delays)
        assert counted == pytest.approx(sum(source.committed for source in query.sources), abs=1e-3)
        assert all(part.shortest_s >= -1e-6 for part in query.delays), "processed before it arrived"
        if query.batch is None:
            assert_stages_saw_every_record(query)
    assert all(now >= then for now, then in zip(committed, before, strict=True))
    return committed


def assert_stages_saw_every_record(query: SimulatedQuery) -> None:
    reaching = {source.model.name: float(source.committed) for source in query.sources}
    for stage in [stage for level in query.levels for stage in level]:
        totals = query.totals[stage.name]
        expected = sum(reaching[name] for name in stage.after)
        assert totals.records_in == pytest.approx(expected, rel=1e-9, abs=1e-6)
        assert totals.records_out == pytest.approx(expected * stage.records_out, rel=1e-9, abs=1e-6)
        reaching[stage.name] = totals.records_out


def assert_workers_sound(engine: MicroBatchEngine) -> None:
    for worker in engine.cluster.workers:
        assert 0 <= worker.running <= worker.slots
        assert worker.busy_slot_s <= worker.slots * (engine.now_s - worker.since_s) + 1e-6


@settings(max_examples=30)
@given(applications(), rates, st.lists(faults, max_size=2), st.integers(0, 3))
def test_the_same_seed_gives_the_same_run_and_stops_in_between_change_nothing(
    model: ApplicationModel, levels: list[float], planted: list[Fault], seed: int
) -> None:
    curve = RateSeries.steps(levels, step_s=20.0, duration_s=DURATION_S)
    curves = {query.name: curve for query in model.queries}

    def run(stops: list[float]) -> list[object]:
        engine = MicroBatchEngine(model, curves, seed=seed, faults=planted)
        for stop in stops:
            engine.advance(stop)
        return [(query.finished, query.delays, query.totals) for query in engine.queries]

    assert run([DURATION_S]) == run([float(t) for t in range(121)])


@given(rates, st.lists(st.floats(0.5, 20.0), min_size=1, max_size=8))
def test_delay_quantiles_equal_those_of_single_records(levels: list[float], gaps: list[float]) -> None:
    curve = RateSeries.steps(levels, step_s=20.0, duration_s=DURATION_S) * 0.01
    parts: list[Stretch] = []
    weights: list[float] = []
    delays: list[float] = []
    now_s = committed = 0.0
    for gap in gaps:
        now_s += gap
        arrived = curve.arrived(now_s)
        parts += stretches(curve, committed, arrived, now_s + 1.0)
        if arrived > committed:
            numbers = np.linspace(committed, arrived, 2001)[:-1] + (arrived - committed) / 4000
            weights += [arrived - committed] * len(numbers)
            delays += [now_s + 1.0 - curve.when(float(number)) for number in numbers]
        committed = arrived
    if not parts:
        return
    order = np.argsort(delays)
    single, shares = np.array(delays)[order], np.cumsum(np.array(weights)[order]) / sum(weights)
    for share, delay in zip((0.5, 0.95), quantiles(parts, (0.5, 0.95)), strict=True):
        # Between two stretches of delays that no record has, any value in the gap is the quantile.
        low = single[int(np.searchsorted(shares, share - 0.002))]
        high = single[min(len(shares) - 1, int(np.searchsorted(shares, share + 0.002)))]
        assert low - 0.05 <= delay <= high + 0.05


def test_a_query_waits_for_data_and_reads_the_first_record_that_comes() -> None:
    query = QueryModel(
        name="one",
        sources=(SourceModel(name="a"),),
        stages=(StageModel(name="s", after=("a",), partitions=1, slot_s_per_record=0.0, task_s=0.0),),
        trigger=Trigger(interval_s=None),
        noise=0.0,
    )
    model = replace(ApplicationModel(name="m", queries=(query,)), pool=PoolModel())
    curve = RateSeries(np.array([0.0, 50.0, 51.0]), np.array([0.0, 1.0, 0.0]), 60.0)
    engine = MicroBatchEngine(model, {"one": curve}, seed=0)
    engine.advance(60.0)
    (done,) = engine.queries
    assert done.sources[0].committed == 1
    assert done.finished is not None
    assert done.finished.started_s == pytest.approx(51.0, abs=0.011)

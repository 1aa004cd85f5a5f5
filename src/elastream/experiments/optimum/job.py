"""What is to be planned for a simulated experiment: its engine without noise, and what its pool costs."""

from __future__ import annotations

import math
from functools import lru_cache

from elastream.experiments.experiment import ExecutorBounds, SimulatedModel
from elastream.experiments.optimum.batches import BatchJob, BatchTime, worth_having
from elastream.experiments.optimum.problem import Engine, Problem
from elastream.experiments.optimum.stream import StreamJob
from elastream.experiments.simulated import SimulatedSetup, build_model
from elastream.simulator.continuous.engine import ContinuousEngine
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel
from elastream.simulator.pool_model import PoolModel
from elastream.workloads.series import RateSeries

# A continuous job that always has more to do is watched for so long, once its buffers are full.
_FILLED_S, _WATCHED_S = 60.0, 120.0
# Over this, levels are made coarser, so that a day takes seconds too.
_LONG_S, _LEAST_SLICES = 8 * 3600.0, 20


def find_jobs(setup: SimulatedSetup, *, slower: float = 1.0, ahead_s: float | None = None) -> list[Engine]:
    """One for each query that shares the pool; none where nothing is promised or there are several pools.

    For plans with slack: everything takes so many times longer, and a worker is asked for so long ahead.
    """
    model = setup.model
    if model.slo is None or len(model.pools) != 1:
        return []
    duration_s = setup.experiment.duration_s
    curve = setup.workload.series(duration_s=duration_s, seed=setup.experiment.seed)
    if isinstance(model, DataflowModel):
        # Where a log forgets, what was never done is not late.
        forgets = any(log.retention_s is not None for log in model.logs)
        return [] if forgets else [_stream_job(setup, model, curve, slower)]
    if any(query.slo is None for query in model.queries):
        return []
    return [_batch_job(model, query, curve, duration_s, slower, ahead_s) for query in model.queries]


def _batch_job(
    model: ApplicationModel,
    query: QueryModel,
    curve: RateSeries,
    duration_s: float,
    slower: float,
    ahead_s: float | None,
) -> BatchJob:
    assert query.slo is not None
    pool = model.pool
    batch = BatchTime(query=query, slots_per_worker=pool.slots_per_worker, slower=slower)
    workers = tuple(worth_having(batch, range(pool.min_workers, pool.max_workers + 1)))
    total = sum(source.share for source in query.sources)
    problem = Problem(
        curve=curve * total, duration_s=duration_s, workers=workers, begins_with=_begins_with(pool, workers),
        slo=query.slo, start_s=pool.start_s if ahead_s is None else ahead_s,
        least_start_s=pool.start_s * (1 - pool.start_spread),
        leave_s=pool.leave_s,
    )  # fmt: skip
    slices = 60 if duration_s <= _LONG_S else max(_LEAST_SLICES, round(60 * math.sqrt(_LONG_S / duration_s)))
    return BatchJob(problem=problem, batch=batch, trigger_s=query.trigger.interval_s or 0.0, slices=slices)


def _stream_job(setup: SimulatedSetup, model: DataflowModel, curve: RateSeries, slower: float) -> StreamJob:
    subject, duration_s = setup.experiment.subject, setup.experiment.duration_s
    assert model.slo is not None
    assert isinstance(subject, SimulatedModel)
    [pool] = model.pools.values()
    every = range(pool.min_workers, pool.max_workers + 1)
    rates = {workers: measure_rps(subject, workers) / slower for workers in every}
    faster = tuple(n for n in every if all(rates[n] > rates[m] * (1 + 1e-9) for m in every if m < n))
    problem = Problem(
        curve=curve * sum(log.share for log in model.logs), duration_s=duration_s, workers=faster,
        begins_with=_begins_with(pool, faster), slo=model.slo, start_s=pool.start_s,
        least_start_s=pool.start_s * (1 - pool.start_spread),
    )  # fmt: skip
    restart = model.restart
    return StreamJob(
        problem=problem, rates_rps=tuple(rates[n] for n in faster), grow_s=restart.grow_s, shrink_s=restart.shrink_s,
        # A stop comes at any time between two checkpoints.
        replay_s=(restart.checkpoint_s or 0.0) / 2, base_s=model.base_latency_s,
        step_s=10.0 if duration_s <= _LONG_S else 15.0,
    )  # fmt: skip


def _begins_with(pool: PoolModel, workers: tuple[int, ...]) -> int:
    """The size at the start, or the next smaller one that is worth having."""
    return max((place for place, size in enumerate(workers) if size <= pool.initial_workers), default=0)


@lru_cache(maxsize=256)
def measure_rps(subject: SimulatedModel, workers: int) -> float:
    """What a continuous engine does with so many workers and more to do than it can."""
    model = build_model(subject, ExecutorBounds(min=1, max=workers, start=workers))
    assert isinstance(model, DataflowModel)
    rps = 3 * max(1.0, model.full_rps())
    curves = {log.name: RateSeries.constant(rps * log.share, duration_s=_FILLED_S) for log in model.logs}
    engine = ContinuousEngine(model, curves, seed=0)
    engine.advance(_FILLED_S)
    before = sum(log.committed for log in engine.logs)
    engine.advance(_FILLED_S + _WATCHED_S)
    return (sum(log.committed for log in engine.logs) - before) / _WATCHED_S

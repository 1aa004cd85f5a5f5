"""Small problems, and every schedule of them tried, one by one: nothing here is shared with what it is held against."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import numpy as np

from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.experiments.optimum.batches import BatchJob, BatchTime
from elastream.experiments.optimum.problem import Problem
from elastream.experiments.optimum.stream import StreamJob
from elastream.simulator.microbatch.model import QueryModel, SourceModel, StageModel
from elastream.workloads.series import RateSeries


def draw_batches(draw: random.Random) -> BatchJob:
    """A query of one or two stages with three sizes, for about ten batches."""
    trigger_s = draw.choice((2.0, 3.0))
    first = StageModel(
        name="a", after=("in",), partitions=draw.choice((2, 4)), slot_s_per_record=draw.uniform(0.01, 0.05),
        task_s=draw.uniform(0.0, 0.3), skew=draw.choice((1.0, 1.5)),
    )  # fmt: skip
    second = StageModel(name="b", after=("a",), partitions=2, slot_s_per_record=0.005, task_s=0.05)
    query = QueryModel(
        name="q", sources=(SourceModel(name="in"),), stages=(first, second)[: draw.choice((1, 2))],
        trigger=Trigger(interval_s=trigger_s), plan_s=0.1, commit_s=0.05,
    )  # fmt: skip
    batch = BatchTime(query=query, slots_per_worker=1)
    full_rps = 1000 / float(batch.at(4, np.array(1000.0)))
    problem = Problem(
        curve=_curve(draw, full_rps, step_s=trigger_s, steps=7), duration_s=7 * trigger_s, workers=(1, 2, 4),
        begins_with=0, slo=Slo(delay_s=trigger_s * draw.choice((1.7, 2.5, 3.0)), share=draw.choice((0.7, 0.9, 0.99))),
        start_s=draw.choice((0.0, 1.0)), least_start_s=0.0, leave_s=draw.choice((0.0, 0.5)),
    )  # fmt: skip
    return BatchJob(problem=problem, batch=batch, trigger_s=trigger_s)


def draw_stream(draw: random.Random) -> StreamJob:
    """A job with three sizes, for eight steps."""
    step_s, sizes = 5.0, (1, 2, 3)
    rates = tuple(100.0 * size ** draw.choice((0.8, 1.0)) for size in sizes)
    problem = Problem(
        curve=_curve(draw, rates[-1], step_s=step_s, steps=8), duration_s=8 * step_s, workers=sizes, begins_with=0,
        slo=Slo(delay_s=draw.choice((6.0, 12.0, 20.0)), share=draw.choice((0.7, 0.9, 0.99))),
        start_s=draw.choice((0.0, 2.0)), least_start_s=0.0,
    )  # fmt: skip
    stops = draw.choice(((0.0, 0.0), (5.0, 5.0), (7.0, 4.0)))
    return StreamJob(problem=problem, rates_rps=rates, grow_s=stops[0], shrink_s=stops[1], base_s=0.5, step_s=step_s)


def _curve(draw: random.Random, full_rps: float, *, step_s: float, steps: int) -> RateSeries:
    rates = [draw.choice((0.0, 0.2, 0.5, 0.8, 1.1)) * full_rps for _ in range(steps)]
    return RateSeries.steps(rates, step_s=step_s, duration_s=step_s * steps)


def try_all(job: BatchJob | StreamJob) -> float | None:
    """The least that a schedule costs that keeps the promise; None if none does."""
    schedules: Callable[..., Iterator[tuple[float, float, float]]] = (
        _batch_schedules if isinstance(job, BatchJob) else _stream_schedules
    )
    share = job.problem.slo.share
    kept = (cost_s for cost_s, late, judged in schedules(job) if late <= (1 - share) * judged + 1e-6)
    return min(kept, default=None)


def _batch_schedules(job: BatchJob) -> Iterator[tuple[float, float, float]]:
    problem, arrived = job.problem, job.problem.curve.arrived
    end_s, bound_s, every_s = problem.duration_s, problem.slo.delay_s, job.trigger_s

    def go(now_s: float, done: float, size: int, cost_s: float, late: float) -> Iterator[tuple[float, float, float]]:
        if now_s >= end_s - 1e-9:
            missed = max(0.0, arrived(end_s - bound_s) - done)
            yield cost_s, late + missed, max(done, arrived(end_s - bound_s))
            return
        rows, boundary_s = arrived(now_s) - done, (math.floor(now_s / every_s + 1e-9) + 1) * every_s
        for workers in problem.workers:
            more = workers - size
            price_s = more * problem.start_s if more > 0 else -more * problem.leave_s
            if rows < 1 - 1e-6:
                paid_s = workers * (min(boundary_s, end_s) - now_s)
                yield from go(boundary_s, done, workers, cost_s + price_s + paid_s, late)
                continue
            over_s = now_s + float(job.batch.at(workers, np.array(rows)))
            next_s = max(over_s, boundary_s)
            paid_s = workers * (min(next_s, end_s) - now_s)
            if over_s > end_s:
                # It is not committed any more: only who waits too long counts.
                missed = max(0.0, arrived(end_s - bound_s) - done)
                yield cost_s + price_s + paid_s, late + missed, max(done, arrived(end_s - bound_s))
                continue
            missed = max(0.0, min(arrived(over_s - bound_s), arrived(now_s)) - done)
            yield from go(next_s, arrived(now_s), workers, cost_s + price_s + paid_s, late + missed)

    yield from go(0.0, 0.0, problem.workers[problem.begins_with], 0.0, 0.0)


def _stream_schedules(job: StreamJob, tick_s: float = 0.25) -> Iterator[tuple[float, float, float]]:
    problem, arrived = job.problem, job.problem.curve.arrived
    end_s, bound_s = problem.duration_s, problem.slo.delay_s - job.base_s
    rates = dict(zip(problem.workers, job.rates_rps, strict=True))

    def work(from_s: float, to_s: float, stop_s: float, held: float, rate: float) -> tuple[float, float]:
        late, now_s = 0.0, from_s
        while now_s < to_s - 1e-9:
            then_s = min(now_s + tick_s, to_s)
            before = arrived(now_s) - held
            can = 0.0 if then_s <= from_s + stop_s + 1e-9 else rate * tick_s
            held = max(0.0, held + arrived(then_s) - arrived(now_s) - can)
            # Who is due in this moment was done evenly within it.
            after, low, high = arrived(then_s) - held, arrived(now_s - bound_s), arrived(then_s - bound_s)
            late += max(0.0, high - max(low, (before + after) / 2))
            now_s = then_s
        return held, late

    def go(now_s: float, held: float, size: int, cost_s: float, late: float) -> Iterator[tuple[float, float, float]]:
        if now_s >= end_s - 1e-9:
            yield cost_s, late, max(problem.records - held, arrived(end_s - bound_s))
            return
        for workers in problem.workers:
            more, stop_s, price_s = workers - size, 0.0, 0.0
            if more:
                stop_s = job.grow_s if more > 0 else job.shrink_s
                price_s = more * problem.start_s if more > 0 else -more * stop_s
            steps = max(1, math.ceil(stop_s / job.step_s - 1e-9))
            to_s = min(now_s + steps * job.step_s, end_s)
            after, missed = work(now_s, to_s, stop_s, held, rates[workers])
            yield from go(to_s, after, workers, cost_s + price_s + workers * (to_s - now_s), late + missed)

    yield from go(0.0, 0.0, problem.workers[problem.begins_with], 0.0, 0.0)

"""The bounds against HiGHS, a solver of mixed-integer programs, on problems that cannot be tried one by one.

Both programs keep the budget of late records as a constraint: nothing here has a price for one.
"""

from __future__ import annotations

import math
import random

import highspy
import numpy as np
import pytest

from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.experiments.optimum.batches import BatchJob, BatchTime
from elastream.experiments.optimum.bounds import find_bounds
from elastream.experiments.optimum.problem import Problem
from elastream.experiments.optimum.stream import StreamJob
from elastream.simulator.microbatch.model import QueryModel, SourceModel, StageModel
from elastream.workloads.series import RateSeries

STEP_S = 5.0
State = tuple[float, float, int]
"""When a batch begins, when the one before began, and the size."""


def solver() -> highspy.Highs:
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 1e-6)
    return highs


def load(seed: int, steps: int, step_s: float, most_rps: float) -> RateSeries:
    draw = random.Random(f"load {seed}")
    rates = [most_rps * (0.5 + 0.35 * math.sin(k / 4) + draw.uniform(-0.1, 0.1)) for k in range(steps)]
    return RateSeries.steps(rates, step_s=step_s, duration_s=step_s * steps)


def stream_job(seed: int) -> StreamJob:
    problem = Problem(
        curve=load(seed, 30, STEP_S, 400.0), duration_s=30 * STEP_S, workers=(1, 2, 3, 4), begins_with=1,
        slo=Slo(delay_s=20.0, share=0.93), start_s=3.0, least_start_s=3.0,
    )  # fmt: skip
    return StreamJob(
        problem=problem, rates_rps=(100.0, 190.0, 280.0, 360.0), grow_s=2 * STEP_S, shrink_s=STEP_S, step_s=STEP_S,
        part=0.005,
    )  # fmt: skip


def solve_stream(job: StreamJob) -> float:
    """Sizes, who is stopped and who is late in each step."""
    problem, steps = job.problem, job.moments
    arrived = [problem.curve.arrived(k * STEP_S) for k in range(steps + 1)]
    due = [problem.curve.arrived(max(0.0, k * STEP_S - problem.slo.delay_s)) for k in range(steps + 1)]
    highs, most = solver(), 10 * arrived[-1]
    sizes = [[highs.addBinary() for _ in problem.workers] for _ in range(steps)]
    grows, shrinks = ([highs.addBinary() for _ in range(steps)] for _ in range(2))
    more, fewer, late = ([highs.addVariable() for _ in range(steps)] for _ in range(3))
    spared = [highs.addBinary() for _ in range(steps)]
    done = [highs.addVariable(0, arrived[k]) for k in range(steps + 1)]
    first: float = problem.workers[problem.begins_with]
    costs = []
    for k in range(steps):
        highs.addConstr(sum(sizes[k]) == 1)
        workers = sum(n * chosen for n, chosen in zip(problem.workers, sizes[k], strict=True))
        before = first if not k else sum(n * chosen for n, chosen in zip(problem.workers, sizes[k - 1], strict=True))
        highs.addConstr(more[k] >= workers - before)
        highs.addConstr(fewer[k] >= before - workers)
        highs.addConstr(more[k] <= 4 * grows[k])
        highs.addConstr(fewer[k] <= 4 * shrinks[k])
        served = done[k + 1] - done[k]
        highs.addConstr(served >= 0)
        highs.addConstr(
            served <= STEP_S * sum(rate * chosen for rate, chosen in zip(job.rates_rps, sizes[k], strict=True))
        )
        highs.addConstr(served <= most * (1 - grows[k]))
        highs.addConstr(served <= most * (1 - shrinks[k]))
        highs.addConstr(grows[k] + shrinks[k] <= 1)
        if k:
            # A change to more takes two steps, in the second of which nothing is changed either.
            highs.addConstr(served <= most * (1 - grows[k - 1]))
            highs.addConstr(grows[k] + shrinks[k] <= 1 - grows[k - 1])
        # All that became due is late, or what was not done of it.
        highs.addConstr(late[k] >= due[k + 1] - done[k + 1] - most * spared[k])
        highs.addConstr(late[k] >= (due[k + 1] - due[k]) * spared[k])
        costs.append(STEP_S * workers + problem.start_s * more[k] + job.shrink_s * fewer[k])
    highs.addConstr(sum(late) <= problem.may_be_late)
    highs.addConstr(done[0] == 0)
    highs.minimize(highs.qsum(costs))
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getObjectiveValue())


def batch_job(seed: int) -> BatchJob:
    stage = StageModel(name="a", after=("in",), partitions=4, slot_s_per_record=0.02, task_s=0.2)
    query = QueryModel(
        name="q", sources=(SourceModel(name="in"),), stages=(stage,), trigger=Trigger(interval_s=STEP_S), plan_s=0.2,
        commit_s=0.1,
    )  # fmt: skip
    problem = Problem(
        curve=load(seed, 14, STEP_S, 190.0), duration_s=14 * STEP_S, workers=(1, 2, 4), begins_with=0,
        slo=Slo(delay_s=11.0, share=0.93), start_s=4.0, least_start_s=4.0, leave_s=1.0,
    )  # fmt: skip
    return BatchJob(problem=problem, batch=BatchTime(query=query, slots_per_worker=1), trigger_s=STEP_S)


def solve_batches(job: BatchJob) -> float:
    """The cheapest way through all states that can be reached, each known by its exact times."""
    problem, arrived = job.problem, job.problem.curve.arrived
    end_s, bound_s = problem.duration_s, problem.slo.delay_s
    edges: list[tuple[State, State, float, float]] = []
    end: State = (end_s, 0.0, 0)
    start: State = (0.0, 0.0, problem.workers[problem.begins_with])
    seen, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        now_s, done_s, size = state
        rows = arrived(now_s) - arrived(done_s)
        boundary_s = (math.floor(now_s / STEP_S + 1e-9) + 1) * STEP_S
        for workers in problem.workers:
            over_s = now_s + (float(job.batch.at(workers, np.array(rows))) if rows >= 1 else 0.0)
            next_s = min(max(over_s, boundary_s), end_s)
            more = workers - size
            cost = (more * problem.start_s if more > 0 else -more * problem.leave_s) + workers * (next_s - now_s)
            late = max(0.0, min(arrived(min(over_s, end_s) - bound_s), arrived(now_s)) - arrived(done_s))
            # After a batch that takes longer than the bound more is late than may be.
            if over_s - now_s > 1.5 * bound_s:
                continue
            to = end if next_s >= end_s - 1e-9 else (round(next_s, 9), now_s, workers)
            if to is end:
                late += max(0.0, arrived(end_s - bound_s) - arrived(now_s))
            edges.append((state, to, cost, late))
            if to not in seen and to is not end:
                seen.add(to)
                waiting.append(to)
        assert len(edges) < 60_000
    highs = solver()
    taken = [highs.addBinary() for _ in edges]
    flows: dict[State, list[tuple[int, int]]] = {}
    for number, (source, to, _, _) in enumerate(edges):
        flows.setdefault(source, []).append((1, number))
        flows.setdefault(to, []).append((-1, number))
    for state, parts in flows.items():
        given = 1 if state == start else -1 if state == end else 0
        highs.addConstr(highs.qsum(sign * taken[number] for sign, number in parts) == given)
    highs.addConstr(
        highs.qsum(late * taken[number] for number, (_, _, _, late) in enumerate(edges)) <= problem.may_be_late
    )
    highs.minimize(highs.qsum(cost * taken[number] for number, (_, _, cost, _) in enumerate(edges)))
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getObjectiveValue())


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full), pytest.param(2, marks=pytest.mark.full)])
def test_what_a_solver_finds_for_a_continuous_job_lies_between_both_bounds(seed: int) -> None:
    job = stream_job(seed)
    best, found = solve_stream(job), find_bounds(job)
    assert found.plan is not None
    assert 0.9 * best <= found.lower_s <= best * (1 + 1e-5)
    assert best * (1 - 1e-5) <= found.plan.cost_s <= 1.1 * best


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full), pytest.param(2, marks=pytest.mark.full)])
def test_what_a_solver_finds_for_batches_lies_between_both_bounds(seed: int) -> None:
    job = batch_job(seed)
    best, found = solve_batches(job), find_bounds(job)
    assert found.plan is not None
    assert 0.75 * best <= found.lower_s <= best * (1 + 1e-5)
    assert best * (1 - 1e-5) <= found.plan.cost_s <= 1.1 * best

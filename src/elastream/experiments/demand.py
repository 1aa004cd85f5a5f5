"""What a simulated load would have needed: at each moment, and as one fixed size for the whole run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.simulated import build_model, find_capacity, set_up_simulation


def find_demand(experiment: Experiment, offered_rps: Sequence[float]) -> tuple[int, ...] | None:
    """The fewest workers that can do what is offered, at each moment; the most there may be where none can.

    None where several pools share the work, or it costs nothing: the size that is needed is then no single number.
    """
    capacities = _find_capacities(experiment.subject, experiment.executors)
    if capacities is None:
        return None
    least, rates = capacities
    return tuple(least + min(bisect_left(rates, rps), len(rates) - 1) for rps in offered_rps)


@lru_cache(maxsize=256)
def _find_capacities(subject: object, bounds: ExecutorBounds) -> tuple[int, tuple[float, ...]] | None:
    """The smallest size, and what each can do from there on, never less than a smaller one."""
    if not isinstance(subject, SimulatedModel):
        return None
    model = build_model(subject, bounds)
    if len(model.pools) != 1:
        return None
    [pool] = model.pools.values()
    rates: list[float] = []
    for workers in range(pool.min_workers, pool.max_workers + 1):
        capacity_rps = find_capacity(build_model(subject, ExecutorBounds(min=1, max=workers, start=1)))
        rates.append(max(capacity_rps, rates[-1] if rates else 0.0))
    return None if rates[-1] == float("inf") else (pool.min_workers, tuple(rates))


def find_least_size(experiment: Experiment) -> int | None:
    """The smallest fixed size that keeps the promise under this very load, faults and all, found by halving.

    None if nothing is promised, if not even the largest keeps it, or if there are several pools.
    """
    return _search(replace(experiment, policy=parse_policy("fixed(workers=1)"), guards=()))


@lru_cache(maxsize=64)
def _search(experiment: Experiment) -> int | None:
    # Policies that are compared share the answer.
    if not isinstance(experiment.subject, SimulatedModel):
        return None
    model = set_up_simulation(experiment).model
    if model.slo is None or len(model.pools) != 1:
        return None
    [pool] = model.pools.values()
    sizes = range(pool.min_workers, pool.max_workers + 1)
    place = bisect_left(sizes, True, key=lambda workers: _keeps(experiment, workers))
    return sizes[place] if place < len(sizes) else None


def _keeps(experiment: Experiment, workers: int) -> bool:
    fixed = replace(
        experiment,
        policy=parse_policy(f"fixed(workers={workers})"),
        executors=replace(experiment.executors, start=workers),
    )
    return set_up_simulation(fixed).simulation().run().summary.slo_kept is True

"""The one fixed size that a simulated load would have needed."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache

from elastream.experiments.experiment import Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.simulated import set_up_simulation


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

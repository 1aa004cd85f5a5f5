"""What Phoebe reads from a profile: how much a size can take in, and how late its results are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from elastream.core.observation import Observation
from elastream.estimators.capacity import CapacityModel, Saturated, power_law
from elastream.estimators.left_behind import is_batched
from elastream.estimators.waves import stages_of, task_time_s


class Profiled(NamedTuple):
    """One point of a profile."""

    workers: float
    load_rps: float
    capacity_rps: float
    latency_s: float

    @property
    def use(self) -> float:
        """Share of the capacity that the load was."""
        return self.load_rps / self.capacity_rps


class Capacity(NamedTuple):
    """What sizes can take in: as profiled where they were, else by a model that stays between those that were."""

    model: CapacityModel
    rows: Sequence[Profiled]
    worth: Callable[[float], float]

    def rps(self, workers: int) -> float:
        """What so many workers can take in per second."""
        known = [row.capacity_rps for row in self.rows if row.workers == workers]
        if known:
            return sum(known) / len(known)
        least = max((row.capacity_rps for row in self.rows if row.workers < workers), default=0.0)
        most = min((row.capacity_rps for row in self.rows if row.workers > workers), default=math.inf)
        return min(max(self.model.rps(self.worth(workers)), least), most)


def capacity_of(rows: Sequence[Profiled], now: Observation) -> Capacity | None:
    """The capacity of all sizes; None without a row."""
    worth = worth_of_workers(now)
    model = power_law([Saturated(worth(row.workers), row.capacity_rps) for row in rows])
    return None if model is None else Capacity(model, rows, worth)


def worth_of_workers(now: Observation) -> Callable[[float], float]:
    """How many workers' work so many do. Tasks of micro-batches run in waves: 24 take as long on 23 slots as on 12."""
    queries = [query for query in now.queries if query.phase != "terminated"]
    if len(queries) != 1 or len(now.pools) != 1 or not is_batched(queries[0]):
        return lambda workers: workers
    stages, slots = stages_of(queries[0]), now.pools[0].slots_per_worker
    if not stages:
        return lambda workers: workers
    return lambda workers: 1.0 / (task_time_s(1.0, stages, max(1, round(workers * slots))) * slots)


def latency_s(rows: Sequence[Profiled], workers: float, use: float) -> float:
    """Latency at a size and a share of its capacity: the mean of profiled ones, the nearer the heavier.

    Points at which the job fell behind say how long it was profiled, not how late it is, and are left out.
    """
    normal = [row for row in rows if row.use < 1]
    if not normal:
        return math.inf
    weights = [
        1 / (1e-6 + math.log(workers / row.workers) ** 2 + (2 * (use - row.use)) ** 2) for row in normal
    ]  # fmt: skip
    logs = [math.log(max(row.latency_s, 1e-3)) for row in normal]
    return math.exp(sum(w * value for w, value in zip(weights, logs, strict=True)) / sum(weights))

"""Faults as data: what goes wrong, when, and for how long."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from elastream.core.errors import BadInput
from elastream.registry import Registry, setting


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that begins at a time."""

    at_s: float = setting(doc="when it begins")

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and value < 0:
                name = field.name.removesuffix("_s")
                raise BadInput(f"fault {faults.name_of(self)}: {name}: found {value:g}; it must not be negative")


@dataclass(frozen=True, kw_only=True)
class LastingFault(Fault):
    """Something that lasts."""

    for_s: float = setting(math.inf, doc="how long it lasts")

    def holds(self, now_s: float) -> bool:
        """Whether it is going on."""
        return self.at_s <= now_s < self.at_s + self.for_s


faults: Registry[Fault] = Registry("fault")


@faults.register("worker-loss")
@dataclass(frozen=True, kw_only=True)
class WorkerLoss(Fault):
    """Workers die; what they ran is run again, and the cluster replaces them."""

    workers: int = setting(1, doc="how many die, oldest first")


@faults.register("straggler")
@dataclass(frozen=True, kw_only=True)
class Straggler(LastingFault):
    """Workers become slow."""

    workers: int = setting(1, doc="how many, oldest first")
    factor: float = setting(3.0, doc="how many times longer their tasks take")


@faults.register("scale-failure")
@dataclass(frozen=True, kw_only=True)
class ScaleFailure(LastingFault):
    """The cluster refuses every change."""


@faults.register("slow-start")
@dataclass(frozen=True, kw_only=True)
class SlowStart(LastingFault):
    """New workers take longer to start."""

    by_s: float = setting(60.0, doc="how much longer")


@faults.register("metrics-missing")
@dataclass(frozen=True, kw_only=True)
class MetricsMissing(LastingFault):
    """Nothing is known about queries and workers but how many workers there are."""


@faults.register("metrics-late")
@dataclass(frozen=True, kw_only=True)
class MetricsLate(LastingFault):
    """What is known is old."""

    by_s: float = setting(30.0, doc="how old")


@faults.register("unreachable")
@dataclass(frozen=True, kw_only=True)
class Unreachable(LastingFault):
    """The platform cannot be looked at."""


@faults.register("sink-blocked")
@dataclass(frozen=True, kw_only=True)
class SinkBlocked(LastingFault):
    """No batch can finish."""


@faults.register("ad-hoc-job")
@dataclass(frozen=True, kw_only=True)
class AdHocJob(LastingFault):
    """Work of no query takes slots as they become free, before tasks of queries, and keeps each for a while."""

    tasks: int = setting(1, doc="how many slots it takes in all")
    for_s: float = setting(60.0, doc="how long each task keeps its slot")

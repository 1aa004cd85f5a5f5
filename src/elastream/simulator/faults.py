"""Faults as data: what goes wrong, when, and for how long."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Self

from elastream.core.errors import BadInput
from elastream.registry import Registry, setting

MOST_TIMES = 100_000


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that begins at a time."""

    at_s: float = setting(doc="when it begins")
    every_s: float = setting(math.inf, doc="how long until it comes again")

    def __post_init__(self) -> None:
        if self.every_s <= 0:
            raise BadInput(f"fault {faults.name_of(self)}: every: found {self.every_s:g}; it must be more than 0")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and value < 0:
                name = field.name.removesuffix("_s")
                raise BadInput(f"fault {faults.name_of(self)}: {name}: found {value:g}; it must not be negative")

    def occurrences(self, duration_s: float) -> list[Self]:
        """Each time that it comes within a run."""
        times = 1 if math.isinf(self.every_s) else max(1, math.ceil((duration_s - self.at_s) / self.every_s))
        if times > MOST_TIMES:
            raise BadInput(
                f"fault {faults.name_of(self)}: every: it would come {times:,} times; {MOST_TIMES:,} are the most"
            )
        return [
            replace(self, at_s=self.at_s + (number * self.every_s if number else 0.0), every_s=math.inf)
            for number in range(times)
        ]


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


@faults.register("skew-drift")
@dataclass(frozen=True, kw_only=True)
class SkewDrift(Fault):
    """The largest task of each stage without state gets larger, evenly, and stays so; micro-batches only."""

    to: float = setting(4.0, doc="how many times the mean of all tasks its records are in the end")
    for_s: float = setting(3600.0, doc="how long it takes until then")

    def skew(self, now_s: float) -> float:
        """The largest task over the mean one."""
        if now_s < self.at_s:
            return 1.0
        return 1.0 + (self.to - 1.0) * (min(1.0, (now_s - self.at_s) / self.for_s) if self.for_s else 1.0)

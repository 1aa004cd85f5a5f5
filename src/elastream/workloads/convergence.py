"""Levels held long enough for an autoscaler to settle."""

from dataclasses import dataclass

import numpy as np

from elastream.core.errors import BadInput
from elastream.registry import setting
from elastream.workloads.pattern import Duration, Pattern, Rate, Streams, workloads
from elastream.workloads.series import RateSeries


@workloads.register("convergence")
@dataclass(frozen=True, kw_only=True)
class Convergence(Pattern):
    """Levels, one after the other: the first for `first_s`, each other one for `each_s`, the last one for good."""

    positional = ("levels_rps",)

    levels_rps: tuple[Rate, ...] = setting(doc="the rates")
    first_s: Duration = setting(600.0, doc="how long the first level lasts")
    each_s: Duration = setting(2400.0, doc="how long each further level lasts")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.levels_rps:
            raise BadInput("workload convergence: it has no levels; give at least one rate")

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        later = self.first_s + self.each_s * np.arange(len(self.levels_rps) - 1)
        return RateSeries(np.concatenate(([0.0], later)), np.array(self.levels_rps, dtype=np.float64), duration_s)

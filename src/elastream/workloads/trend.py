"""A load that grows or shrinks over hours, not in a straight line."""

from dataclasses import dataclass

import numpy as np

from elastream.core.errors import BadInput
from elastream.registry import setting
from elastream.workloads.pattern import Duration, Moment, Pattern, Rate, Share, Streams, grid, sampled, workloads
from elastream.workloads.series import FloatArray, RateSeries


@dataclass(frozen=True, kw_only=True)
class _Trend(Pattern):
    positional = ("from_rps", "to_rps")

    from_rps: Rate = setting(doc="the rate at the start")
    to_rps: Rate = setting(doc="the rate at the end")
    over_s: Duration = setting(8400.0, doc="how long the way takes, with the time on hold")
    hold_s: Moment = setting(0.0, doc="how long it stays near its first rate")
    wander: Share = setting(0.04, doc="the largest random step, as a share of the way")
    step_s: Duration = setting(60.0, doc="how long each value is held")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hold_s >= self.over_s:
            raise BadInput(
                f"workload {workloads.name_of(self)}: on hold for {self.hold_s:g} s; it must be less than "
                f"the {self.over_s:g} s of the whole way"
            )

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        at_s = grid(duration_s, self.step_s)
        straight = np.interp(at_s, [self.hold_s, self.over_s], [self.from_rps, self.to_rps])
        aside = self._wandering(streams.next(workloads.name_of(self)))
        aside = np.pad(aside, (0, max(len(at_s) - len(aside), 0)))[: len(at_s)]
        low, high = sorted((self.from_rps, self.to_rps))
        return sampled(np.clip(straight + aside, low, high), step_s=self.step_s, duration_s=duration_s)

    def _wandering(self, random: np.random.Generator) -> FloatArray:
        """A random walk that comes back to zero at the end, so that every seed arrives at `to_rps`."""
        steps = len(grid(self.over_s, self.step_s))
        reach = self.wander * abs(self.to_rps - self.from_rps)
        walk = np.concatenate(([0.0], np.cumsum(reach * (2 * random.random(steps) - 1))))
        bridge: FloatArray = walk - walk[-1] * np.linspace(0.0, 1.0, steps + 1)
        return bridge


@workloads.register("increasing")
@dataclass(frozen=True, kw_only=True)
class Increasing(_Trend):
    """A load that grows, now faster, now slower, and falls back at times."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.from_rps > self.to_rps:
            raise BadInput(f"workload increasing: from {self.from_rps:g} is above to {self.to_rps:g}")


@workloads.register("decreasing")
@dataclass(frozen=True, kw_only=True)
class Decreasing(_Trend):
    """A load that shrinks, now faster, now slower, and comes back at times."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.from_rps < self.to_rps:
            raise BadInput(f"workload decreasing: from {self.from_rps:g} is below to {self.to_rps:g}")

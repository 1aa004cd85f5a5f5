"""A random walk."""

from dataclasses import dataclass

import numpy as np

from elastream.core.errors import BadInput
from elastream.registry import setting
from elastream.workloads.pattern import Duration, Pattern, Rate, Streams, grid, sampled, workloads
from elastream.workloads.series import RateSeries


@workloads.register("random")
@dataclass(frozen=True, kw_only=True)
class RandomWalk(Pattern):
    """A random walk between two bounds: each value is the one before plus a uniform change."""

    positional = ("start_rps",)

    start_rps: Rate = setting(doc="the first rate")
    rise_rps: Rate = setting(doc="the largest change upwards in one step")
    fall_rps: Rate = setting(doc="the largest change downwards in one step")
    low_rps: Rate = setting(0.0, doc="the walk stops here from above")
    high_rps: Rate | None = setting(None, doc="the walk stops here from below")
    step_s: Duration = setting(60.0, doc="how long each value is held")

    def __post_init__(self) -> None:
        super().__post_init__()
        high = self.start_rps if self.high_rps is None else self.high_rps
        if not self.low_rps <= self.start_rps <= high:
            raise BadInput(f"workload random: start {self.start_rps:g} is not within {self.low_rps:g}..{high:g}")

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        steps = len(grid(duration_s, self.step_s))
        chances = streams.next("random").random(steps)
        changes = chances * (self.rise_rps + self.fall_rps) - self.fall_rps
        high = float("inf") if self.high_rps is None else self.high_rps
        # Bounded at every step and not afterwards: a walk that meets a bound turns back from there.
        rates = [self.start_rps]
        for change in changes[1:].tolist():
            rates.append(min(max(rates[-1] + change, self.low_rps), high))
        return sampled(np.array(rates), step_s=self.step_s, duration_s=duration_s)

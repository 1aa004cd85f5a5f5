"""A sudden change, and a gradual one."""

from dataclasses import dataclass

import numpy as np

from elastream.registry import setting
from elastream.workloads.pattern import Duration, Moment, Pattern, Rate, Streams, grid, sampled, workloads
from elastream.workloads.series import RateSeries


@workloads.register("step")
@dataclass(frozen=True, kw_only=True)
class Step(Pattern):
    """One rate, and from some moment on another."""

    positional = ("from_rps", "to_rps")

    from_rps: Rate = setting(doc="the rate before")
    to_rps: Rate = setting(doc="the rate after")
    at_s: Duration = setting(600.0, doc="when it changes")

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        return RateSeries(np.array([0.0, self.at_s]), np.array([self.from_rps, self.to_rps]), duration_s)


@workloads.register("ramp")
@dataclass(frozen=True, kw_only=True)
class Ramp(Pattern):
    """A straight line from one rate to another, level before and after it."""

    positional = ("from_rps", "to_rps")

    from_rps: Rate = setting(doc="the rate before")
    to_rps: Rate = setting(doc="the rate after")
    at_s: Moment = setting(0.0, doc="when the change begins")
    for_s: Duration = setting(600.0, doc="how long the change takes")
    step_s: Duration = setting(1.0, doc="how long each value is held")

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        # The middle of each step, so that as many records arrive as under the straight line.
        middles = grid(duration_s, self.step_s) + self.step_s / 2
        rates = np.interp(middles, [self.at_s, self.at_s + self.for_s], [self.from_rps, self.to_rps])
        return sampled(rates, step_s=self.step_s, duration_s=duration_s)

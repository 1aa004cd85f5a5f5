"""Short bursts: one at a known time, or many at random times.

With `base=1` they are factors: `kanis-cosine * spikes(0.2..0.5, base=1)` is a wave with random dips.
"""

from dataclasses import dataclass

import numpy as np

from elastream.core.errors import BadInput
from elastream.registry import setting
from elastream.workloads.pattern import Duration, Moment, Pattern, Rate, Share, Streams, grid, sampled, workloads
from elastream.workloads.series import RateSeries


@workloads.register("spike")
@dataclass(frozen=True, kw_only=True)
class Spike(Pattern):
    """One burst."""

    positional = ("rps",)

    rps: Rate = setting(doc="the rate during the burst")
    at_s: Moment = setting(600.0, doc="when it begins")
    for_s: Duration = setting(60.0, doc="how long it lasts")
    base_rps: Rate = setting(0.0, doc="the rate outside the burst")

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        times, rates = [0.0, self.at_s, self.at_s + self.for_s], [self.base_rps, self.rps, self.base_rps]
        first = 1 if self.at_s == 0 else 0
        return RateSeries(np.array(times[first:]), np.array(rates[first:]), duration_s)


@workloads.register("spikes")
@dataclass(frozen=True, kw_only=True)
class Spikes(Pattern):
    """Bursts that begin by chance, with random length and height."""

    positional = ("low_rps", "high_rps")

    low_rps: Rate = setting(doc="the rate of the smallest burst")
    high_rps: Rate = setting(doc="the rate of the largest burst")
    chance: Share = setting(0.05, doc="how likely a burst begins in a step without one")
    longest_s: Duration = setting(60.0, doc="the longest burst; the shortest is one step")
    base_rps: Rate = setting(0.0, doc="the rate outside bursts")
    step_s: Duration = setting(60.0, doc="how long each value is held")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low_rps > self.high_rps:
            raise BadInput(f"workload spikes: low {self.low_rps:g} is above high {self.high_rps:g}")

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        steps = len(grid(duration_s, self.step_s))
        longest = max(round(self.longest_s / self.step_s), 1)
        rates = np.full(steps, self.base_rps, dtype=np.float64)
        # Three numbers for every step, used or not: what happens late does not depend on how long the run is.
        luck = streams.next("spikes").random((steps, 3))
        free = 0
        for i in np.flatnonzero(luck[:, 0] < self.chance).tolist():
            if i >= free:
                free = i + 1 + int(luck[i, 1] * longest)
                rates[i:free] = self.low_rps + luck[i, 2] * (self.high_rps - self.low_rps)
        return sampled(rates, step_s=self.step_s, duration_s=duration_s)

"""Waves with a little noise: sine and cosine."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from elastream.core.errors import BadInput
from elastream.registry import setting
from elastream.workloads.pattern import Duration, Moment, Pattern, Rate, Streams, grid, sampled, workloads
from elastream.workloads.series import FloatArray, RateSeries


@dataclass(frozen=True, kw_only=True)
class _Wave(Pattern):
    positional = ("low_rps", "high_rps")

    low_rps: Rate = setting(doc="the rate in the trough, before noise")
    high_rps: Rate = setting(doc="the rate at the crest, before noise")
    period_s: Duration = setting(3600.0, doc="from crest to crest")
    noise_rps: Rate = setting(0.0, doc="each value is moved by up to this much, up or down")
    shift_s: Moment = setting(0.0, doc="how far into the wave it starts")
    step_s: Duration = setting(1.0, doc="how long each value is held")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low_rps > self.high_rps:
            raise BadInput(f"workload {workloads.name_of(self)}: low {self.low_rps:g} is above high {self.high_rps:g}")

    def _sampled(self, wave: Callable[[FloatArray], FloatArray], duration_s: float, streams: Streams) -> RateSeries:
        random = streams.next(workloads.name_of(self))
        at_s = grid(duration_s, self.step_s)
        height = (1.0 + wave(2 * math.pi * ((at_s + self.shift_s) / self.period_s))) / 2
        noise = self.noise_rps * (2 * random.random(len(at_s)) - 1) if self.noise_rps else 0.0
        rates = self.low_rps + (self.high_rps - self.low_rps) * height + noise
        return sampled(rates, step_s=self.step_s, duration_s=duration_s)


@workloads.register("sine")
@dataclass(frozen=True, kw_only=True)
class Sine(_Wave):
    """A wave that starts half way up and rises."""

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        return self._sampled(np.sin, duration_s, streams)


@workloads.register("cosine")
@dataclass(frozen=True, kw_only=True)
class Cosine(_Wave):
    """A wave that starts at its crest and falls."""

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        return self._sampled(np.cos, duration_s, streams)

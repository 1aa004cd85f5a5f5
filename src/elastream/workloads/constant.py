"""One rate for ever."""

from dataclasses import dataclass

from elastream.core.quantity import spell_number
from elastream.registry import setting
from elastream.workloads.pattern import Pattern, Rate, Streams, workloads
from elastream.workloads.series import RateSeries


@workloads.register("constant")
@dataclass(frozen=True, kw_only=True)
class Constant(Pattern):
    """The same rate all the time. A bare number in the text form is one of these."""

    positional = ("rps",)

    rps: Rate = setting(doc="the rate")

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        return RateSeries.constant(self.rps, duration_s=duration_s)

    def __str__(self) -> str:
        return spell_number(self.rps)

"""A forecast: rates over equal steps from now on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Forecast(NamedTuple):
    """Records/s, step by step. Within a step the rate is constant; after the last step it stays as it is there."""

    step_s: float
    rates: Sequence[float]

    def highest(self, until_s: float) -> float:
        """The greatest rate from now until then."""
        return max(rate for _, rate in self.pieces(0.0, until_s))

    def records(self, from_s: float, to_s: float) -> float:
        """Records that arrive between two times from now."""
        at_s, total = from_s, 0.0
        for end_s, rate in self.pieces(from_s, to_s):
            total += rate * (end_s - at_s)
            at_s = end_s
        return total

    def pieces(self, from_s: float, to_s: float) -> Iterator[tuple[float, float]]:
        """Ends and rates of the stretches of constant rate between two times from now; at least one."""
        at_s = max(0.0, from_s)
        place = min(int(at_s / self.step_s), len(self.rates) - 1)
        while place < len(self.rates) - 1 and (place + 1) * self.step_s < to_s:
            yield (place + 1) * self.step_s, self.rates[place]
            place += 1
        yield max(to_s, at_s), self.rates[place]

    def scaled(self, factor: float) -> Forecast:
        """Every rate times a factor."""
        return Forecast(self.step_s, [rate * factor for rate in self.rates])


def wape(actual: Sequence[float], forecast: Sequence[float]) -> float | None:
    """Weighted absolute percentage error: the sum of errors over the sum of what came; None where nothing came."""
    pairs = list(zip(actual, forecast, strict=False))
    came = sum(rate for rate, _ in pairs)
    return sum(abs(rate - expected) for rate, expected in pairs) / came if came > 0 else None

"""A number over time, and what is asked of it: mean, quantiles, variance, the longest stretch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from elastream.evaluation.measures import Value


@dataclass(frozen=True, slots=True)
class StepCurve:
    """Every value holds until the next moment, the last one for no time. None is unknown and counts for nothing."""

    at: Sequence[float]
    values: Sequence[Value]

    def pieces(self) -> Iterator[tuple[float, float]]:
        """Seconds and the value that held for them, of what is known."""
        for (since, until), value in zip(pairwise(self.at), self.values, strict=False):
            if value is not None:
                yield until - since, value

    @property
    def known_s(self) -> float:
        """For how long something is known."""
        return sum(lasted_s for lasted_s, _ in self.pieces())

    @property
    def integral(self) -> float:
        """The sum over time."""
        return sum(lasted_s * value for lasted_s, value in self.pieces())

    @property
    def mean(self) -> Value:
        """Over the time for which it is known."""
        return self.integral / self.known_s if self.known_s else None

    @property
    def variance(self) -> Value:
        """Over that time: the mean of the squared distance to the mean."""
        mean, known_s = self.mean, self.known_s
        if mean is None:
            return None
        return sum(lasted_s * (value - mean) ** 2 for lasted_s, value in self.pieces()) / known_s

    @property
    def largest(self) -> Value:
        """Of all moments, the last one too."""
        return max((value for value in self.values if value is not None), default=None)

    def quantile(self, share: float) -> Value:
        """The smallest value that is not exceeded for that share of the time."""
        sorted_pieces = sorted(self.pieces(), key=lambda piece: piece[1])
        needed_s, passed_s = share * self.known_s * (1 - 1e-12), 0.0
        for lasted_s, value in sorted_pieces:
            passed_s += lasted_s
            if passed_s >= needed_s:
                return value
        return None

    def longest(self, holds: Callable[[float], bool]) -> Value:
        """The longest stretch in which that is so; what is unknown ends one. None if nothing is known at all."""
        longest_s = lasted_s = 0.0
        for (since, until), value in zip(pairwise(self.at), self.values, strict=False):
            lasted_s = lasted_s + until - since if value is not None and holds(value) else 0.0
            longest_s = max(longest_s, lasted_s)
        return longest_s if self.known_s else None

    def changes(self) -> list[tuple[float, float, float]]:
        """When it changed, from what and to what; across what is unknown too."""
        known = [(at, value) for at, value in zip(self.at, self.values, strict=True) if value is not None]
        return [(at, before, after) for (_, before), (at, after) in pairwise(known) if after != before]

"""Mean and variance of a stream of numbers, in one pass and without keeping them (Welford)."""

from __future__ import annotations

import math
from typing import NamedTuple


class Moments(NamedTuple):
    """A value: adding a number gives another one. As JSON it is a list; `Moments(*list)` is the way back."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared distances to the mean."""

    def add(self, value: float) -> Moments:
        """With one number more."""
        n = self.n + 1
        away = value - self.mean
        mean = self.mean + away / n
        return Moments(n, mean, self.squares + away * (value - mean))

    @property
    def variance(self) -> float:
        """Of the sample; 0 with fewer than two numbers."""
        return self.squares / (self.n - 1) if self.n > 1 else 0.0

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.variance)

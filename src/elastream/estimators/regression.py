"""A straight line through a stream of points, in one pass and without keeping them (Welford, with a covariance)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Regression(NamedTuple):
    """y = intercept + slope x. A value, as `Moments` is."""

    n: int = 0
    mean_x: float = 0.0
    mean_y: float = 0.0
    squares_x: float = 0.0
    products: float = 0.0
    squares_y: float = 0.0

    def add(self, x: float, y: float) -> Regression:
        """With one point more."""
        n = self.n + 1
        away_x, away_y = x - self.mean_x, y - self.mean_y
        mean_x, mean_y = self.mean_x + away_x / n, self.mean_y + away_y / n
        # Each product takes the old mean of one side and the new mean of the other: that is what makes it exact.
        return Regression(
            n,
            mean_x,
            mean_y,
            self.squares_x + away_x * (x - mean_x),
            self.products + away_x * (y - mean_y),
            self.squares_y + away_y * (y - mean_y),
        )

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]]) -> Regression:
        """All points at once."""
        line = cls()
        for x, y in points:
            line = line.add(x, y)
        return line

    @property
    def variance_x(self) -> float:
        """Of the sample."""
        return self.squares_x / (self.n - 1) if self.n > 1 else 0.0

    @property
    def slope(self) -> float | None:
        """None where all points have the same x."""
        return self.products / self.squares_x if self.squares_x > 0 else None

    @property
    def explained(self) -> float:
        """Share of the variance of y that the line explains; 0 where there is no line."""
        both = self.squares_x * self.squares_y
        return self.products**2 / both if both > 0 else 0.0

    def at(self, x: float) -> float | None:
        """The line at x, or None where there is none."""
        slope = self.slope
        return None if slope is None else self.mean_y + slope * (x - self.mean_x)

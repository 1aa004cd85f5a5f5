"""What so many workers can take in at most, learned from the sizes at which they could take in no more.

Two models. *Linear*: every worker adds the same. *Power law with delay*: a n^b - g ND_max, where ND_max is the
greatest network delay between two of the workers (Gesscale).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from elastream.estimators.least_squares import Solution, nonnegative

# Below a tenth, more workers would hardly do more; above one, each would do more than the one before: both are noise.
_LEAST_BETA, _MOST_BETA = 0.1, 1.0
_BETAS = 46
_GOLDEN = (5**0.5 - 1) / 2


class Saturated(NamedTuple):
    """One measurement: what was taken in while more was waiting. Only such a rate is a capacity."""

    workers: float
    rps: float
    max_delay_ms: float = 0.0


class CapacityModel(Protocol):
    """Capacity of sizes that were not measured."""

    def rps(self, workers: float, max_delay_ms: float = 0.0) -> float:
        """What so many workers can take in per second."""


class Linear(NamedTuple):
    """Every worker adds the same."""

    per_worker_rps: float

    def rps(self, workers: float, max_delay_ms: float = 0.0) -> float:
        """What so many workers can take in per second; delay does not matter."""
        return self.per_worker_rps * workers


class PowerLaw(NamedTuple):
    """MST = alpha n^beta - gamma ND_max, never below 0."""

    alpha: float
    """Of a single worker, records/s."""
    beta: float
    """1: nothing is lost by working side by side."""
    gamma: float
    """Records/s lost per millisecond of the greatest delay."""

    def rps(self, workers: float, max_delay_ms: float = 0.0) -> float:
        """What so many workers can take in per second."""
        return max(0.0, self.alpha * math.pow(workers, self.beta) - self.gamma * max_delay_ms)


def linear(measured: Sequence[Saturated]) -> Linear | None:
    """The least-squares line through the origin; None without a measurement."""
    points = _distinct(measured)
    if not points:
        return None
    return Linear(sum(p.workers * p.rps for p in points) / sum(p.workers**2 for p in points))


def power_law(measured: Sequence[Saturated]) -> PowerLaw | None:
    """Calibrate on all measurements; None without one.

    One gives alpha (beta 1, gamma 0), two give alpha and gamma (beta 1), three or more give all. Measurements of the
    same workers and delay count as one: their mean. A parameter about which the measurements say nothing keeps its
    default: beta where all had the same number of workers, gamma where no delay was seen or delay seems to help.
    """
    points = _distinct(measured)
    if not points:
        return None
    free_gamma = len(points) >= 2
    free_beta = len(points) >= 3 and len({point.workers for point in points}) >= 2
    beta = _least(lambda beta: _fit_power(points, beta, free_gamma).left_over) if free_beta else 1.0
    alpha, gamma = _fit_power(points, beta, free_gamma).coefficients.tolist()
    return PowerLaw(alpha, beta, gamma)


def _distinct(measured: Iterable[Saturated]) -> list[Saturated]:
    """The mean of each configuration that was measured; what cannot be a measurement is left out."""
    by_place: dict[tuple[float, float], list[float]] = {}
    for workers, rps, delay in measured:
        if workers > 0 and rps > 0:
            by_place.setdefault((float(workers), float(delay)), []).append(rps)
    return [Saturated(n, sum(rates) / len(rates), delay) for (n, delay), rates in sorted(by_place.items())]


def _fit_power(points: Sequence[Saturated], beta: float, free_gamma: bool) -> Solution:
    """Alpha and gamma for a given beta: the model is linear in them."""
    columns = np.array([[p.workers**beta, -p.max_delay_ms if free_gamma else 0.0] for p in points])
    return nonnegative(columns, np.array([p.rps for p in points]))


def _least(loss: Callable[[float], float]) -> float:
    """The beta with the least loss: the best of a grid, then golden sections around it."""
    grid: list[float] = np.linspace(_LEAST_BETA, _MOST_BETA, _BETAS).tolist()
    losses = [loss(beta) for beta in grid]
    best = losses.index(min(losses))
    low, high = grid[max(0, best - 1)], grid[min(_BETAS - 1, best + 1)]
    while high - low > 1e-9:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if loss(left) <= loss(right) else (left, high)
    # The ends of the range are answers too, and sections only come near them.
    return min((low, high, grid[best]), key=loss)

"""What so many workers can take in at most, learned from the sizes at which they could take in no more.

Three models. *Linear*: every worker adds the same. *Power law with delay*: a n^b - g ND_max, where ND_max is the
greatest network delay between two of the workers (Gesscale). *Universal scalability law*: contention bends the curve,
coherence makes it fall again (Gunther). All say on how many measurements they rest and how far they are from them.
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


class Confidence(NamedTuple):
    """On what a model rests."""

    measurements: int
    parameters: int
    residual: float
    """Root mean square of what the model misses, as a share of the mean capacity measured."""

    @property
    def is_tested(self) -> bool:
        """Whether there were more measurements than parameters: a residual of 0 says nothing without."""
        return self.measurements > self.parameters


class CapacityModel(Protocol):
    """Capacity of sizes that were not measured."""

    @property
    def confidence(self) -> Confidence:
        """On what it rests."""

    def rps(self, workers: float, max_delay_ms: float = 0.0) -> float:
        """What so many workers can take in per second."""


class Linear(NamedTuple):
    """Every worker adds the same."""

    per_worker_rps: float
    confidence: Confidence

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
    confidence: Confidence

    def rps(self, workers: float, max_delay_ms: float = 0.0) -> float:
        """What so many workers can take in per second."""
        return max(0.0, self.alpha * math.pow(workers, self.beta) - self.gamma * max_delay_ms)


class ScalabilityLaw(NamedTuple):
    """C(n) = alpha n / (1 + contention (n - 1) + coherence n (n - 1))."""

    alpha: float
    """Of a single worker, records/s."""
    contention: float
    coherence: float
    confidence: Confidence

    def rps(self, workers: float, max_delay_ms: float = 0.0) -> float:
        """What so many workers can take in per second; delay does not matter."""
        lost = self.contention * (workers - 1) + self.coherence * workers * (workers - 1)
        return self.alpha * workers / max(1e-9, 1 + lost)

    @property
    def peak_workers(self) -> float | None:
        """The size beyond which more workers do less; None if there is none."""
        if self.coherence <= 0:
            return None
        return max(1.0, math.sqrt(max(0.0, 1 - self.contention) / self.coherence))


def linear(measured: Sequence[Saturated]) -> Linear | None:
    """The least-squares line through the origin; None without a measurement."""
    points = _distinct(measured)
    if not points:
        return None
    slope = sum(p.workers * p.rps for p in points) / sum(p.workers**2 for p in points)
    model = Linear(slope, Confidence(len(measured), 1, 0.0))
    return model._replace(confidence=_confidence(model.rps, measured, parameters=1))


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
    model = PowerLaw(alpha, beta, gamma, Confidence(len(measured), 1, 0.0))
    return model._replace(confidence=_confidence(model.rps, measured, parameters=1 + free_gamma + free_beta))


def scalability_law(measured: Sequence[Saturated]) -> ScalabilityLaw | None:
    """Fit with as many parameters as there are sizes measured, at most three; None without a measurement.

    n / C(n) is linear in 1, n - 1 and n (n - 1); each equation is weighted so that errors count as shares.
    """
    points = _distinct(Saturated(point.workers, point.rps) for point in measured)
    if not points:
        return None
    n = np.array([point.workers for point in points])
    rps = np.array([point.rps for point in points])
    width = min(3, len(points))
    columns = np.stack((np.ones_like(n), n - 1, n * (n - 1)), axis=1)[:, :width] * (rps / n)[:, None]
    per_alpha, *losses = [*nonnegative(columns, np.ones_like(n)).coefficients.tolist(), 0.0, 0.0][:3]
    if per_alpha <= 0:
        return None
    contention, coherence = (loss / per_alpha for loss in losses)
    model = ScalabilityLaw(1 / per_alpha, contention, coherence, Confidence(len(measured), width, 0.0))
    return model._replace(confidence=_confidence(model.rps, measured, parameters=width))


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


def _confidence(rps: Callable[[float, float], float], measured: Sequence[Saturated], parameters: int) -> Confidence:
    points = [point for point in measured if point.workers > 0 and point.rps > 0]
    mean = sum(point.rps for point in points) / len(points)
    squares = sum((rps(point.workers, point.max_delay_ms) - point.rps) ** 2 for point in points)
    return Confidence(len(points), parameters, (squares / len(points)) ** 0.5 / mean)

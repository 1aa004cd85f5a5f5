"""Laws of scaling, fitted to what layouts sustain, each with how sure it is.

    Amdahl (1967)               rate = a n / (1 + s (n - 1))                   a part of the work is done one at a time
    universal (Gunther, 1993)   rate = a n / (1 + s (n - 1) + k n (n - 1))     and workers wait for others
    power (Gesscale, 2021)      rate = a n^b                                   each does less than the one before

A law is fitted only where there are more layouts than it has parameters plus one: with fewer it would pass through
nearly all points and say nothing about others. Intervals follow from the residuals, of which there are few, by
Student's t; they cannot be narrower than the precision of the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from elastream.core.quantity import spell_number
from elastream.estimators.capacity import Saturated, power_law
from elastream.estimators.least_squares import nonnegative
from elastream.experiments.statistics import ConfidenceInterval, find_t

Floats = npt.NDArray[np.float64]
LawName = Literal["amdahl", "universal", "power"]
LAWS: tuple[LawName, ...] = get_args(LawName)
TITLES: Mapping[LawName, str] = {
    "amdahl": "Amdahl's law", "universal": "universal scalability law", "power": "power law (Gesscale)",
}  # fmt: skip
PARAMETERS: Mapping[LawName, tuple[str, ...]] = {
    "amdahl": ("of one", "serial share"),
    "universal": ("of one", "serial share", "waiting for each other"),
    "power": ("of one", "exponent"),
}
BEYOND = 2
"""Nothing is said of layouts so many times as large as the largest that was measured, and more."""
Points = Sequence[tuple[int, float]]
"""How many there are of what a curve counts, and the rate that they sustain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLaw:
    """A law with its parameters."""

    name: LawName
    values: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    """Of the parameters."""
    scatter: float
    """Of a layout around the law, as a standard deviation of the logarithm of its rate."""
    freedom: int
    left_out: float
    """Mean relative error of a layout that is foretold from the others."""

    def rate(self, number: float) -> float:
        """What so many sustain."""
        return rate_of(self.name, self.values, number)

    def interval(self, number: float) -> ConfidenceInterval:
        """Where the rate of a layout of that size lies, 19 times out of 20."""
        slope = _slopes(self.name, np.asarray(self.values), np.array([float(number)]))[0]
        spread = math.sqrt(float(slope @ np.asarray(self.covariance) @ slope) + self.scatter**2)
        reach = find_t(self.freedom) * spread
        return ConfidenceInterval(self.rate(number) * math.exp(-reach), self.rate(number) * math.exp(reach))

    def parameters(self) -> list[tuple[str, float, ConfidenceInterval]]:
        """Each with its interval; shares are never below 0."""
        found = []
        for place, name in enumerate(PARAMETERS[self.name]):
            value = self.values[place]
            reach = find_t(self.freedom) * math.sqrt(max(0.0, self.covariance[place][place]))
            found.append((name, value, ConfidenceInterval(max(0.0, value - reach), value + reach)))
        return found

    def spell(self) -> str:
        """Its parameters in words."""
        return ", ".join(
            f"{name} {_spell(value)} ({_spell(within.low)}..{_spell(within.high)}){'/s' * (place == 0)}"
            for place, (name, value, within) in enumerate(self.parameters())
        )

    def number_for(self, rate_rps: float, most: int, get: Callable[[int], float] | None = None) -> int | None:
        """The fewest that sustain a rate; None: not even so many do."""
        told = get or self.rate
        return next((number for number in range(1, most + 1) if told(number) >= rate_rps), None)


def _spell(value: float) -> str:
    """As people write it: 14.8k, 0.012."""
    return spell_number(float(f"{value:.3g}"))


def rate_of(name: LawName, values: Sequence[float], number: float) -> float:
    """What a law says with these parameters."""
    if name == "power":
        return float(values[0] * number ** values[1])
    waiting = values[2] * number * (number - 1) if name == "universal" else 0.0
    return float(values[0] * number / (1 + values[1] * (number - 1) + waiting))


def needs_layouts(name: LawName) -> int:
    """How many layouts a law needs."""
    return len(PARAMETERS[name]) + 2


def fit_laws(points: Points, *, precision: float = 0.1) -> list[FittedLaw]:
    """All laws for which there are enough layouts, the best at foretelling first."""
    usable = [(number, rate) for number, rate in points if rate > 0]
    fitted = [_fit(name, usable, precision) for name in LAWS if len({n for n, _ in usable}) >= needs_layouts(name)]
    return sorted(fitted, key=lambda law: (law.left_out, len(law.values)))


def too_few(points: Points) -> list[str]:
    """A sentence for each law that cannot be fitted."""
    found = len({number for number, rate in points if rate > 0})
    return [
        f"too few layouts for {TITLES[name]}: {found} of {needs_layouts(name)}"
        for name in LAWS
        if found < needs_layouts(name)
    ]


def _fit(name: LawName, points: Points, precision: float) -> FittedLaw:
    values = _solve(name, points)
    numbers = np.array([float(number) for number, _ in points])
    logs = np.log([rate for _, rate in points])
    misses = logs - np.log([rate_of(name, values, number) for number in numbers])
    freedom = len(points) - len(values)
    # What was found lies evenly between the highest rate that passed and the lowest that failed.
    least = math.log1p(precision) / math.sqrt(12)
    scatter = max(least, math.sqrt(float(misses @ misses) / freedom))
    slopes = _slopes(name, np.asarray(values), numbers)
    covariance = scatter**2 * np.linalg.pinv(slopes.T @ slopes)
    return FittedLaw(
        name=name,
        values=values,
        covariance=tuple(tuple(row) for row in covariance.tolist()),
        scatter=scatter,
        freedom=freedom,
        left_out=_leave_out(name, points),
    )


def _solve(name: LawName, points: Points) -> tuple[float, ...]:
    if name == "power":
        law = power_law([Saturated(number, rate) for number, rate in points])
        assert law is not None
        return law.alpha, law.beta
    # n / rate = (1 + s (n - 1) + k n (n - 1)) / a is linear in 1/a, s/a and k/a; weighed, misses are relative.
    numbers = np.array([float(number) for number, _ in points])
    rates = np.array([rate for _, rate in points])
    columns = [np.ones_like(numbers), numbers - 1, numbers * (numbers - 1)][: len(PARAMETERS[name])]
    weighed = np.array(columns).T * (rates / numbers)[:, None]
    first, *others = nonnegative(weighed, np.ones_like(numbers)).coefficients.tolist()
    if not first:
        # Each does more than the one before, which these laws do not know: then nothing is lost.
        return (float(np.exp(np.mean(np.log(rates / numbers)))), *[0.0] * len(others))
    return (1 / first, *(one / first for one in others))


def _leave_out(name: LawName, points: Points) -> float:
    errors = []
    for place, (number, rate) in enumerate(points):
        others = [*points[:place], *points[place + 1 :]]
        errors.append(abs(rate_of(name, _solve(name, others), number) / rate - 1))
    return float(np.mean(errors))


def _slopes(name: LawName, values: Floats, numbers: Floats) -> Floats:
    """How the logarithm of the rate changes with each parameter."""
    found = np.zeros((len(numbers), len(values)))
    for place, value in enumerate(values):
        step = max(abs(value), 1e-3) * 1e-5
        low, high = values.copy(), values.copy()
        # Shares end at 0.
        low[place], high[place] = max(0.0, value - step), value + step
        for row, number in enumerate(numbers):
            upper = math.log(rate_of(name, high.tolist(), number))
            lower = math.log(rate_of(name, low.tolist(), number))
            found[row, place] = (upper - lower) / (high[place] - low[place])
    return found

"""What a curve of layouts says: efficiency, the laws that fit it, and what is asked of it.

Efficiency is that of the document: how many times as much a layout sustains as the next smaller one, over how many
times as many resources it has. Theodolite (Henning and Hasselbring, 2021) asks two questions of the same probes: how
many resources does a load need, and how much load do resources sustain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.core.decision import Json
from elastream.core.errors import BadInput
from elastream.experiments.scalability.laws import BEYOND, TITLES, FittedLaw, fit_laws, too_few
from elastream.experiments.scalability.layout import LayoutCurve, Work, find_curves
from elastream.experiments.scalability.search import spell_rate
from elastream.experiments.scalability.study import LayoutResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A layout of a curve."""

    result: LayoutResult
    number: int
    """Of what the curve counts."""
    efficiency: float | None
    """Against the next smaller layout of the curve that sustains anything; None: there is none."""

    @property
    def rate_rps(self) -> float | None:
        """That it sustains."""
        return self.result.rate_rps

    @property
    def per_core_rps(self) -> float | None:
        """The same for each of its cores."""
        return None if self.rate_rps is None else self.rate_rps / self.result.layout.slots


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingCurve:
    """A curve with what follows from it."""

    curve: LayoutCurve
    points: tuple[CurvePoint, ...]
    laws: tuple[FittedLaw, ...]
    """The best at foretelling a layout that was left out comes first."""
    too_few: tuple[str, ...]

    @property
    def measured(self) -> list[tuple[int, float]]:
        """What laws are fitted to."""
        return [(one.number, one.rate_rps) for one in self.points if one.rate_rps]

    @property
    def most(self) -> int:
        """The largest that anything is said of."""
        return BEYOND * max((number for number, _ in self.measured), default=0)

    def answer(self, rate_rps: float) -> str:
        """How many a load needs, and how sure that is."""
        unit = self.curve.counted
        least = min(((n, rate) for n, rate in self.measured if rate >= rate_rps), default=None)
        told = (f"{least[0]} of those measured ({spell_rate(least[1])})" if least
                else "more than any that was measured")  # fmt: skip
        head = f"{self.curve.title}: {spell_rate(rate_rps)} needs {told}"
        if not self.laws:
            return f"{head}; {self.too_few[0] if self.too_few else 'nothing was measured'}"
        law = self.laws[0]
        found = law.number_for(rate_rps, self.most)
        if found is None:
            return (
                f"{head}; by {TITLES[law.name]} more than {self.most} {unit}, twice the most that was measured: "
                "beyond that nothing is foretold"
            )
        low = law.number_for(rate_rps, self.most, lambda number: law.interval(number).high)
        high = law.number_for(rate_rps, self.most, lambda number: law.interval(number).low)
        upper = f"{high}" if high is not None else f"more than {self.most}"
        return f"{head}; by {TITLES[law.name]} {found} {unit}, from {low} to {upper} 19 times out of 20"

    def foretell(self, number: int) -> float:
        """What so many sustain; BadInput beyond what can be said."""
        if not self.laws:
            raise BadInput(f"{self.curve.title}: {self.too_few[0] if self.too_few else 'nothing was measured'}")
        if not 1 <= number <= self.most:
            raise BadInput(
                f"{self.curve.title}: {number} is not from 1 to {self.most}, twice the most that was measured"
            )
        return self.laws[0].rate(number)

    def as_json(self) -> dict[str, Json]:
        """As plain values."""
        return {
            "direction": self.curve.direction,
            "title": self.curve.title,
            "points": [
                {"layout": one.result.layout.name, "number": one.number, "rate_rps": one.rate_rps,
                 "rate_per_core_rps": one.per_core_rps, "efficiency": one.efficiency}
                for one in self.points
            ],
            "laws": [
                {"law": TITLES[law.name], "error_of_one_left_out": law.left_out,
                 "parameters": {name: {"value": value, "low": within.low, "high": within.high}
                                for name, value, within in law.parameters()}}
                for law in self.laws
            ],
            "too_few": list(self.too_few),
        }  # fmt: skip


def find_scaling(results: Sequence[LayoutResult], work: Work, *, precision: float) -> list[ScalingCurve]:
    """All curves of these layouts. One kind of work has curves of its own, and results of one kind come here."""
    by_layout = {one.layout: one for one in results}
    return [_curve(curve, [by_layout[one] for one in curve.layouts], precision)
            for curve in find_curves(list(by_layout), work)]  # fmt: skip


def _curve(curve: LayoutCurve, results: Sequence[LayoutResult], precision: float) -> ScalingCurve:
    points: list[CurvePoint] = []
    base: LayoutResult | None = None
    for result in results:
        efficiency = None
        if base is not None and result.rate_rps is not None and base.rate_rps:
            grown = result.layout.slots / base.layout.slots
            efficiency = result.rate_rps / base.rate_rps / grown
        points.append(CurvePoint(result=result, number=curve.number(result.layout), efficiency=efficiency))
        base = result if result.rate_rps else base
    measured = [(one.number, one.rate_rps) for one in points if one.rate_rps]
    return ScalingCurve(
        curve=curve,
        points=tuple(points),
        laws=tuple(fit_laws(measured, precision=precision)),
        too_few=tuple(too_few(measured)),
    )


def least_layout(results: Sequence[LayoutResult], load_rps: float) -> LayoutResult | None:
    """Theodolite's first question: the smallest layout that sustains a load; None: none that was measured."""
    able = [one for one in results if one.rate_rps is not None and one.rate_rps >= load_rps]
    return min(able, key=lambda one: (one.layout.slots, one.layout.workers), default=None)


def answer_load(results: Sequence[LayoutResult], load_rps: float) -> str:
    """In words."""
    least = least_layout(results, load_rps)
    if least is None or least.rate_rps is None:
        return f"{spell_rate(load_rps)}: no layout that was measured sustains it"
    sustained = spell_rate(least.rate_rps)
    return f"{spell_rate(load_rps)}: {least.layout.name} is the least layout that sustains it ({sustained})"

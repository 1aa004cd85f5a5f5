"""What a scalability experiment came to: as sentences for people, and as one document for scripts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from elastream.core.decision import Json
from elastream.core.quantity import spell_seconds
from elastream.experiments.scalability.laws import TITLES
from elastream.experiments.scalability.layout import WORK, Work
from elastream.experiments.scalability.probe import ProbeTerms
from elastream.experiments.scalability.scaling import ScalingCurve, answer_load, find_scaling
from elastream.experiments.scalability.search import RateSearch
from elastream.experiments.scalability.shape import ShapeScore, score_shape
from elastream.experiments.scalability.store import RESULT
from elastream.experiments.scalability.study import LayoutResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalabilityResult:
    """All of it."""

    job: str
    work: Work
    note: str
    """What stands beside every figure."""
    terms: ProbeTerms
    search: RateSearch
    results: tuple[LayoutResult, ...]
    left_out: tuple[str, ...]
    """Layouts that could not be had, with the reason."""
    loads_rps: tuple[float, ...]
    """That were asked about."""
    folder: Path
    command: str
    asked_s: float
    """How long a rate was to be sustained; less than it had to be where so few batches would say nothing."""

    @property
    def curves(self) -> list[ScalingCurve]:
        """What layouts that differ in one thing say together."""
        return find_scaling(self.results, self.work, precision=self.search.precision)

    @property
    def shapes(self) -> list[ShapeScore]:
        """Beside the document's figures, where they can be compared: a job of its, and not slots that sleep."""
        return [] if self.work == "emulated" else score_shape(self.job, self.curves)

    def head(self) -> str:
        """The first line of every report: what the numbers are, and what a rate had to do to be sustained."""
        terms = self.terms
        times = "once" if self.search.repeat == 1 else f"{self.search.repeat} times"
        batches = "" if terms.interval_s is None else f" ({terms.accept_after_s / terms.interval_s:.0f} batches"
        if batches:
            is_longer = terms.accept_after_s > self.asked_s
            batches += f"; in {spell_seconds(self.asked_s)} there are too few)" if is_longer else ")"
        asked = (
            f"sustained: for {spell_seconds(terms.accept_after_s)}{batches} after {spell_seconds(terms.warm_up_s)} of "
            f"warm-up, {times}, no growing backlog, median delay at most {terms.delay_s:g} s, "
            f"executors below {terms.processor:.0%} of their processors"
        )
        return f"{WORK[self.work]}{f' ({self.note})' if self.note else ''}; {asked}"

    def sentences(self) -> list[str]:
        """What was found, layout by layout, then curve by curve."""
        told = [one.sentence() for one in self.results]
        told += [limit for one in self.results for limit in _limits(one)]
        for curve in self.curves:
            for law in curve.laws:
                off = f"off by {law.left_out:.1%} for a layout left out"
                told.append(f"{curve.curve.title}: {TITLES[law.name]}: {law.spell()}; {off}")
            told += [f"{curve.curve.title}: {sentence}" for sentence in curve.too_few]
        for load in self.loads_rps:
            told.append(answer_load(self.results, load))
            told += [curve.answer(load) for curve in self.curves]
        return [*told, *(one.sentence() for one in self.shapes)]

    def as_json(self) -> dict[str, Json]:
        """As plain values."""
        return {
            "job": self.job, "work": self.work, "about": self.head(), "command": self.command,
            "layouts": [
                {"layout": one.layout.name, "workers": one.layout.workers, "cores": one.layout.cores,
                 "rate_rps": one.rate_rps, "sentence": one.sentence(),
                 "not_sustained_rps": None if one.found is None else one.found.below_rps,
                 "limits": [asdict(limit) for limit in one.limits],
                 "probes": [probe.as_json() for probe in one.probes]}
                for one in self.results
            ],
            "left_out": list(self.left_out),
            "curves": [one.as_json() for one in self.curves],
            "shapes": [one.as_json() for one in self.shapes],
            "answers": [sentence for load in self.loads_rps
                        for sentence in (answer_load(self.results, load), *(c.answer(load) for c in self.curves))],
        }  # fmt: skip

    def write(self) -> Path:
        """The document, into the folder of the probes."""
        file = self.folder / RESULT
        file.write_text(json.dumps(self.as_json(), indent=2, allow_nan=False) + "\n", encoding="utf-8")
        return file


def _limits(result: LayoutResult) -> list[str]:
    return [f"{result.layout.name} is kept from more: {limit.sentence}" for limit in result.limits[:2]]

"""All layouts of a job, one search each: probes that were run before count, and nothing that was found is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from elastream.core.errors import ElastreamError
from elastream.experiments.scalability.layout import Layout, Work, order_layouts
from elastream.experiments.scalability.limits import ProbeLimit
from elastream.experiments.scalability.probe import ProbeTerms, ProbeVerdict
from elastream.experiments.scalability.recording import ProbeRecording
from elastream.experiments.scalability.search import FoundRate, RateSearch, find_next
from elastream.experiments.scalability.store import ProbeStore, StoredProbe

_BROKEN_RETRIES = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRun:
    """What came of a probe, and what was recorded."""

    verdict: ProbeVerdict
    recording: ProbeRecording
    limits: tuple[ProbeLimit, ...] = ()
    """What kept the job from the rate, the most telling first."""


Show = Callable[[float], None]
"""Is told how much of the time that a yes takes has passed."""


class ProbeBench(Protocol):
    """A cluster of one layout, on which one probe runs after the other."""

    def run(self, terms: ProbeTerms, folder: Path, show: Show) -> ProbeRun:
        """One probe at the rate of the terms, to its verdict. What it leaves beside that is in the folder."""


class ProbeGround(Protocol):
    """Where layouts can be had."""

    def open(self, layout: Layout) -> AbstractContextManager[ProbeBench]:
        """A cluster of that layout; ElastreamError where there can be none."""


class StudyView(Protocol):
    """Who is told how far a study has come."""

    def begin_layout(self, layout: Layout, known: int) -> None:
        """A layout is next, of which so many probes are known."""

    def begin_probe(self, layout: Layout, rate_rps: float, number: int) -> None:
        """A probe begins."""

    def at(self, share: float) -> None:
        """So much of the time that a yes takes has passed."""

    def end_probe(self, probe: StoredProbe) -> None:
        """A probe has its verdict."""

    def end_layout(self, result: LayoutResult) -> None:
        """A layout is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutResult:
    """What a layout sustains."""

    layout: Layout
    found: FoundRate | None
    """None: the search did not come to an end."""
    stopped: str | None
    """Why it did not."""
    probes: tuple[StoredProbe, ...]

    @property
    def rate_rps(self) -> float | None:
        """None: it is not known, or there is no such rate."""
        return None if self.found is None else self.found.rate_rps

    @property
    def limits(self) -> tuple[ProbeLimit, ...]:
        """Of the lowest rate that failed: what keeps the layout from more."""
        failed = [one for one in self.probes if one.verdict.state == "unsustained"]
        return min(failed, key=lambda one: one.rate_rps).limits if failed else ()

    def sentence(self) -> str:
        """In words."""
        if self.found is not None:
            return f"{self.layout.name} {self.found.sentence()}"
        return f"{self.layout.name} has no result: {self.stopped}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalabilityStudy:
    """What to measure, and where."""

    layouts: tuple[Layout, ...]
    work: Work
    search: RateSearch
    terms: ProbeTerms
    """Of the first probe; rate and size follow the layout."""
    store: ProbeStore
    ground: ProbeGround

    def run(self, view: StudyView) -> list[LayoutResult]:
        """Every layout, the smallest first. What goes wrong with one is told, and the next has its turn."""
        results: list[LayoutResult] = []
        for layout in order_layouts(self.layouts):
            search = replace(self.search, start_rps=guess_start(layout, results, self.search))
            known = self.store.probes(layout)
            view.begin_layout(layout, len(known))
            result = self._search(layout, search, view)
            view.end_layout(result)
            results.append(result)
        return results

    def collect(self) -> list[LayoutResult]:
        """What is known by now, of every layout; nothing is run."""
        results: list[LayoutResult] = []
        for layout in order_layouts(self.layouts):
            search = replace(self.search, start_rps=guess_start(layout, results, self.search))
            probes = tuple(self.store.probes(layout))
            step = find_next([one.probed for one in probes], search)
            found = step if isinstance(step, FoundRate) else None
            stopped = None if found else "it is not finished" if probes else "it was not probed"
            results.append(LayoutResult(layout=layout, found=found, stopped=stopped, probes=probes))
        return results

    def _search(self, layout: Layout, search: RateSearch, view: StudyView) -> LayoutResult:
        probes = self.store.probes(layout)
        step = find_next([one.probed for one in probes], search)
        if isinstance(step, FoundRate):
            return LayoutResult(layout=layout, found=step, stopped=None, probes=tuple(probes))
        try:
            with self.ground.open(layout) as bench:
                broken = 0
                while not isinstance(step, FoundRate):
                    probe = self._probe(layout, step, bench, view)
                    probes.append(probe)
                    broken = broken + 1 if probe.verdict.state == "broken" else 0
                    if broken > _BROKEN_RETRIES:
                        raise ElastreamError(probe.verdict.reason)
                    step = find_next([one.probed for one in probes], search)
        except ElastreamError as wrong:
            return LayoutResult(layout=layout, found=None, stopped=str(wrong), probes=tuple(probes))
        return LayoutResult(layout=layout, found=step, stopped=None, probes=tuple(probes))

    def _probe(self, layout: Layout, rate_rps: float, bench: ProbeBench, view: StudyView) -> StoredProbe:
        folder = self.store.begin(layout, rate_rps)
        view.begin_probe(layout, rate_rps, int(folder.name.split("-")[1]))
        terms = replace(self.terms, rate_rps=rate_rps, workers=layout.workers, cores=layout.slots)
        done = bench.run(terms, folder, view.at)
        probe = self.store.keep(folder, layout, rate_rps, done.verdict, done.recording.moments, limits=done.limits)
        view.end_probe(probe)
        return probe


def guess_start(layout: Layout, before: Sequence[LayoutResult], search: RateSearch) -> float:
    """Where a search begins: what the largest layout before sustains, in proportion to its cores."""
    known = [one for one in before if one.rate_rps]
    if not known:
        return search.start_rps
    nearest = max(known, key=lambda one: (one.layout.slots, one.rate_rps or 0.0))
    return float(f"{(nearest.rate_rps or 0.0) * layout.slots / nearest.layout.slots:.3g}")

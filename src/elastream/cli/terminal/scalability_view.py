"""How far a scalability experiment has come: a line per probe, and a bar for the one that runs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from elastream.cli.terminal.output import tell
from elastream.cli.terminal.progress import Progress
from elastream.core.quantity import spell_seconds
from elastream.experiments.scalability.layout import Layout
from elastream.experiments.scalability.search import spell_rate
from elastream.experiments.scalability.store import StoredProbe
from elastream.experiments.scalability.study import LayoutResult, ScalabilityStudy


class ScalabilityView:
    """Tells the person; nothing if quiet."""

    def __init__(self, study: ScalabilityStudy, *, quiet: bool) -> None:
        self._study, self._quiet = study, quiet
        self._tells_probes = study.work != "simulated"
        self._done = 0
        self._progress = Progress(len(study.layouts), 1.0, quiet=quiet)

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.__exit__(kind, error, at)

    def begin_layout(self, layout: Layout, known: int) -> None:
        """The next layout; what is known of it is not run again."""
        self._done = known
        if known and not self._quiet:
            tell(f"{layout.name}: {known} probes are known")

    def begin_probe(self, layout: Layout, rate_rps: float, number: int) -> None:
        """What is on now."""
        self._progress.begin(f"{layout.name}, probe {number}: {spell_rate(rate_rps)}")

    def at(self, share: float) -> None:
        """How many probes a search takes is not known: a dozen are usual, and it is never done before it is."""
        whole = self._done + share
        self._progress.at(whole / (whole + max(1.0, 12.0 - whole)))

    def end_probe(self, probe: StoredProbe) -> None:
        """Its verdict, with the reason."""
        self._done += 1
        if self._quiet or not self._tells_probes:
            return
        lasted = spell_seconds(round(probe.lasted_s))
        tell(
            f"{probe.layout.name}, probe {probe.number}: {spell_rate(probe.rate_rps)} {probe.verdict.state} after "
            f"{lasted}: {probe.verdict.reason}"
        )

    def end_layout(self, result: LayoutResult) -> None:
        """What it came to."""
        self._progress.end()
        if not self._quiet and self._tells_probes:
            tell(result.sentence())

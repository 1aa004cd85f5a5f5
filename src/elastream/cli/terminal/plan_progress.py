"""Progress over experiments that end in any order, by what each costs, and the first errors."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from elastream.cli.terminal.output import tell
from elastream.cli.terminal.progress import Progress
from elastream.experiments.runner.execution import Done, find_cost
from elastream.experiments.runner.runner import CaseStatus
from elastream.experiments.store.identity import Identity

MOST_ERRORS = 3
"""Told while runs go on; the results hold all."""


class PlanProgress:
    """Counts experiments that are run, all at once or in rounds of which each depends on those before."""

    def __init__(self, *, quiet: bool) -> None:
        self._progress, self._quiet = Progress(1, 1.0, quiet=quiet), quiet
        self._costs: dict[Identity, float] = {}
        self._later = self._cost = 0.0
        self._done = self._failed = 0

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._progress.__exit__(kind, error, at)

    def begin(self, to_run: Sequence[CaseStatus], later: float = 0.0) -> None:
        """These are run now, and what costs about so much may follow."""
        self._costs |= {one.identity: find_cost(one.case.experiment) for one in to_run}
        self._later = later

    def done(self, done: Done) -> None:
        """One more is over."""
        self._done += 1
        self._cost += self._costs[done.task.identity]
        if done.error is not None and not self._quiet:
            self._failed += 1
            if self._failed <= MOST_ERRORS:
                tell(f"failed: {done.task.title}: {done.error}")
        self._progress.begin(f"{self._done:,} runs" if self._later else f"{self._done:,} of {len(self._costs):,}")
        self._progress.at(self._cost / max(sum(self._costs.values()) + self._later, 1.0))

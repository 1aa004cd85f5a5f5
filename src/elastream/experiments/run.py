"""One policy of an experiment, and what came of it; and which of several did best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.evaluation.summary import Summary
from elastream.experiments.contender import Contender
from elastream.simulator.run import Outcome

BEHIND_S = 60.0
"""More than a minute's records left at the end: the run has not kept up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A policy and what came of it."""

    contender: Contender
    duration_s: float
    outcome: Outcome

    @property
    def summary(self) -> Summary:
        return self.outcome.summary

    @property
    def kept_up(self) -> bool:
        """Whether it did its work, so that what it cost may be compared."""
        found = self.outcome.exact
        rps = (found.records + found.backlog_left) / self.duration_s
        if found.backlog_left > rps * BEHIND_S:
            return False
        return self.summary.slo_kept is not False


def best_of(runs: Sequence[Run]) -> Run:
    """Of those that kept up, the one that paid for least; if none did, the one with the shortest delays."""
    good = [run for run in runs if run.kept_up]
    if good:
        return min(good, key=lambda run: run.summary.worker_hours_paid or 0.0)
    return min(runs, key=lambda run: (-(run.summary.records_within_slo or 0.0), run.outcome.exact.delay_p95_s or 0.0))

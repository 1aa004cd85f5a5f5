"""One policy of an experiment, and what came of it; and which of several did best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.experiments.contender import Contender
from elastream.simulator.run import Outcome, Summary

BEHIND_S = 60.0
"""More than a minute's records left at the end: the run has not kept up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A policy and what came of it."""

    contender: Contender
    outcome: Outcome

    @property
    def summary(self) -> Summary:
        return self.outcome.summary

    @property
    def kept_up(self) -> bool:
        """Whether it did its work, so that what it cost may be compared."""
        found = self.summary
        rps = (found.records + found.backlog_left) / found.duration_s
        if found.backlog_left > rps * BEHIND_S:
            return False
        return found.slo_kept is not False


def best_of(runs: Sequence[Run]) -> Run:
    """The cheapest of those that kept up; if none did, the one with the shortest delays."""
    good = [run for run in runs if run.kept_up]
    if good:
        return min(good, key=lambda run: run.summary.worker_hours)
    return min(runs, key=lambda run: (-(run.summary.within_slo or 0.0), run.summary.delay_p95_s or 0.0))

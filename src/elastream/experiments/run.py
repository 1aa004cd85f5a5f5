"""An experiment that was run, and what came of it; and which of several did best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from elastream.evaluation.elasticity import Elasticity, measure_elasticity
from elastream.evaluation.series import RunSeries
from elastream.evaluation.settling import Settling, measure_settling
from elastream.evaluation.summary import Summary
from elastream.experiments.experiment import Experiment
from elastream.simulator.run import ExactFigures

BEHIND_S = 60.0
"""More than a minute's records left at the end: the run has not kept up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of an experiment."""

    experiment: Experiment
    series: RunSeries
    summary: Summary
    exact: ExactFigures | None = None
    """What only a simulator knows."""
    form: str | None = None
    """In which form the policy ran, where that was asked."""
    offered_rps: tuple[float, ...] | None = None
    """What a simulated workload brought at each moment of the series."""
    demand: tuple[int, ...] | None = None
    """The fewest workers that could have done it, where a simulated job has one pool."""
    folder: Path | None = None
    """Where its results are; None: they were not kept."""

    @property
    def label(self) -> str:
        """What to call it among others: its policy."""
        return self.experiment.policy.label

    @property
    def elasticity(self) -> Elasticity | None:
        """How well the size followed the demand, where that is known."""
        if self.demand is None:
            return None
        return measure_elasticity(self.series.at, self.demand, self.series.column("ready"))

    @property
    def settling(self) -> Settling | None:
        """How the size settled, where the demand is known."""
        if self.demand is None:
            return None
        return measure_settling(self.series.at, self.demand, self.series.column("wanted"))

    @property
    def kept_up(self) -> bool:
        """Whether it did its work, so that what it cost may be compared."""
        found = self.exact
        if found is not None:
            rps = (found.records + found.backlog_left) / self.experiment.duration_s
            if found.backlog_left > rps * BEHIND_S:
                return False
        return self.summary.slo_kept is not False

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "policy": self.label,
            "settings": self.experiment.policy.settings,
            "form": self.form,
            "summary": self.summary.as_json(),
            "exact": None if self.exact is None else self.exact.as_json(),
            "elasticity": None if self.elasticity is None else asdict(self.elasticity),
            "settling": None if self.settling is None else asdict(self.settling),
            "experiment": self.experiment.as_json(),
        }


def best_of(runs: Sequence[Run]) -> Run:
    """Of those that kept up, the one that paid for least; if none did, the one with the shortest delays."""
    good = [run for run in runs if run.kept_up]
    if good:
        return min(good, key=lambda run: run.summary.worker_hours_paid or 0.0)
    return min(runs, key=lambda run: (-(run.summary.records_within_slo or 0.0), _delay_s(run)))


def _delay_s(run: Run) -> float:
    if run.exact is not None:
        return run.exact.delay_p95_s or 0.0
    return run.summary.max_delay_p95_s or 0.0

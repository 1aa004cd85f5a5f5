"""How far off what was said of a run is, beside what two naive predictors would have said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from elastream.evaluation.measures import Value
from elastream.experiments.experiment import ExecutorBounds
from elastream.experiments.fidelity.figures import LoadFigures
from elastream.experiments.fidelity.predictors import (
    Forecasted,
    by_last_value,
    by_rate,
    by_simulation,
    find_agreement,
    find_error,
)
from elastream.experiments.fidelity.trials import FidelityGroup
from elastream.workloads.series import RateSeries

Name = Literal["simulator", "last value", "linear in the rate"]
Quantity = Literal["worker_hours", "delay_p95_s", "mean_backlog", "changes"]
NAMES: tuple[Name, ...] = ("simulator", "last value", "linear in the rate")
QUANTITIES: tuple[Quantity, ...] = ("worker_hours", "delay_p95_s", "mean_backlog", "changes")
GOALS: Mapping[Quantity, float] = {"worker_hours": 0.10, "delay_p95_s": 0.20}
"""How far off a simulated run may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FidelityVerdict:
    """A judged run: what came of it, and what was said."""

    title: str
    job: str
    slots: str
    known: str
    """The run that was calibrated on."""
    live: LoadFigures
    draws: tuple[LoadFigures, ...]
    """Simulated runs."""
    said: Mapping[Name, Forecasted]

    def error(self, name: Name, quantity: Quantity) -> Value:
        """How far off, as a share of what came."""
        return find_error(getattr(self.said[name], quantity), getattr(self.live, quantity))

    def agreement(self, name: Name) -> Value:
        """Share of the time in which the size that was wanted is the one that was said; of draws the mean."""
        said = [one.wanted for one in self.draws] if name == "simulator" else [self.said[name].wanted]
        known = [share for one in said if (share := find_agreement(one, self.live.wanted)) is not None]
        return fmean(known) if known else None

    def extent(self, quantity: Quantity) -> tuple[float, float] | None:
        """From the least to the most that a draw came to."""
        known = [value for one in self.draws if (value := getattr(one, quantity)) is not None]
        return (min(known), max(known)) if known else None

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "run": self.title,
            "job": self.job,
            "slots": self.slots,
            "calibrated_on": self.known,
            "live": {name: getattr(self.live, name) for name in QUANTITIES},
            **{name.replace(" ", "_"): self._tell(name) for name in NAMES},
            "draws": {quantity: self.extent(quantity) for quantity in QUANTITIES},
        }

    def _tell(self, name: Name) -> dict[str, object]:
        told: dict[str, object] = {quantity: getattr(self.said[name], quantity) for quantity in QUANTITIES}
        errors = {quantity: self.error(name, quantity) for quantity in QUANTITIES}
        return {**told, "errors": errors, "wanted_agrees": self.agreement(name)}


def judge(
    title: str,
    group: FidelityGroup,
    known: tuple[str, LoadFigures],
    live: LoadFigures,
    draws: Sequence[LoadFigures],
    *,
    load: RateSeries,
    bounds: ExecutorBounds,
) -> FidelityVerdict:
    """Put what was said beside what came."""
    said: dict[Name, Forecasted] = {
        "simulator": by_simulation(draws),
        "last value": by_last_value(known[1], load),
        "linear in the rate": by_rate(known[1], load, bounds),
    }
    return FidelityVerdict(
        title=title, job=group.job, slots=group.slots, known=known[0], live=live, draws=tuple(draws), said=said
    )  # fmt: skip


def find_median(verdicts: Sequence[FidelityVerdict], name: Name, quantity: Quantity) -> Value:
    """The median error over runs of which it is known."""
    known = [error for one in verdicts if (error := one.error(name, quantity)) is not None]
    return median(known) if known else None


def count_met(verdicts: Sequence[FidelityVerdict], quantity: Quantity) -> int:
    """Runs of which the simulated number is as near as is aimed at."""
    return sum((error := one.error("simulator", quantity)) is not None and error <= GOALS[quantity] for one in verdicts)

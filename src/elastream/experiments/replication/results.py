"""What the runs of a plan gave, found by the labels that the plan has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.runner import find_status
from elastream.experiments.statistics import Estimate, estimate
from elastream.experiments.store.folder import RunStore, StoredRun

Measure = Callable[[StoredRun], float | None]
"""A number of one run that no table of summaries has; None: it does not have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResults:
    """The finished runs of a plan, each with its labels."""

    name: str
    about: str
    folder: Path
    runs: Sequence[tuple[Mapping[str, str], StoredRun]]
    missing: int
    """Experiments of the plan that are not there, or of older code."""
    lacks: Sequence[str]
    """What the plan does not run, and why: a sentence each."""

    def find(self, **labels: str) -> list[StoredRun]:
        """Repetitions of what has all of these labels."""
        return [run for own, run in self.runs if all(own.get(axis) == label for axis, label in labels.items())]

    def estimate(self, number: str | Measure, **labels: str) -> Estimate | None:
        """What its repetitions say of a number; None if none of them has it, or there are none."""
        known = self.values(number, **labels)
        return estimate(known) if known else None

    def values(self, number: str | Measure, **labels: str) -> list[float]:
        """A number of all repetitions that have it."""
        found = [run.numbers.get(number) if isinstance(number, str) else number(run) for run in self.find(**labels)]
        return [float(value) for value in found if value is not None]


def read_results(plan: Path, folder: Path) -> PlanResults:
    """The runs of a plan in a folder, as far as they were run by the present code."""
    found = check_plan(multiply(read_plan(plan)))
    statuses = find_status(RunStore(folder).require(), found.cases)
    runs = [(one.case.labels, one.run) for one in statuses if one.run is not None and one.state == "finished"]
    if not runs:
        raise BadInput(f"{folder}: none of the experiments of {plan} is finished by the present code")
    document = found.matrix.plan.document
    return PlanResults(
        name=found.matrix.plan.name,
        about=document.about,
        folder=folder,
        runs=runs,
        missing=len(statuses) - len(runs),
        lacks=[
            *(f"{one.what}: {one.why}" for one in found.matrix.left_out),
            *(f"{one.policy} on {one.subject}: {one.reason}" for one in found.unfit),
        ],
    )

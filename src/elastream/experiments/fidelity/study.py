"""A fidelity plan, run: live, calibrated, simulated, and what came of both.

OUT/spark/        the runs on executors, as `elastream experiment run --journals` would leave them
OUT/models/       a model for each job, from the run that calibrates
OUT/simulator/    the same experiments on these models
OUT/fidelity.json, OUT/fidelity.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elastream.core.errors import ElastreamError
from elastream.experiments.calibration import read_calibration, write_calibration
from elastream.experiments.experiment import Experiment
from elastream.experiments.fidelity.figures import LoadFigures, measure_load
from elastream.experiments.fidelity.trials import FidelityGroup, find_groups, find_partitions, find_twin
from elastream.experiments.fidelity.verdict import FidelityVerdict, judge
from elastream.experiments.plan.matrix import Case, Matrix
from elastream.experiments.run_folder import JOURNAL
from elastream.experiments.runner.execution import Done
from elastream.experiments.runner.runner import CaseStatus, Here, find_status, run_cases
from elastream.experiments.store.folder import RunStore, StoredRun
from elastream.experiments.store.identity import identify
from elastream.journal.reader import read
from elastream.simulator.calibration import cut_into
from elastream.workloads import parse_workload
from elastream.workloads.series import RateSeries

DRAWS = 9
"""Simulated runs for each live one: their median hardly moves with more."""
SPARK, SIMULATOR, MODELS = "spark", "simulator", "models"
RESULT, PAGE = "fidelity.json", "fidelity.html"

Tell = Callable[[Done], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FidelityResult:
    """What a fidelity plan came to."""

    name: str
    about: str
    folder: Path
    groups: tuple[FidelityGroup, ...]
    verdicts: tuple[FidelityVerdict, ...]
    own: tuple[FidelityVerdict, ...]
    """Of the runs that were calibrated on: how well a model tells its own run."""
    lacking: tuple[str, ...]
    """Runs that could not be judged, with the reason."""

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "plan": self.name,
            "slots": {group.job: group.slots for group in self.groups},
            "models": {group.job: str(model_file(self.folder, group)) for group in self.groups},
            "runs": [one.as_json() for one in self.verdicts],
            "calibrated_on": [one.as_json() for one in self.own],
            "lacking": list(self.lacking),
        }


class FidelityStudy:
    """A fidelity plan and the folder of its results."""

    def __init__(self, matrix: Matrix, folder: Path) -> None:
        self.matrix = matrix
        self.folder = folder
        self.groups = find_groups(matrix)
        self._spark, self._simulator = RunStore(folder / SPARK), RunStore(folder / SIMULATOR)

    def find_missing(self) -> list[CaseStatus]:
        """Runs on executors that are still to be run by the present code."""
        return [one for one in find_status(self._spark, self.matrix.cases, keep_journal=True) if one.is_to_run]

    def run_live(self, missing: Sequence[CaseStatus], tell: Tell) -> int:
        """Run them, one after the other; how many failed. An interrupt keeps what is finished."""
        self._spark.open()
        try:
            self._spark.keep_plan(self.matrix.plan)
            return run_cases(self._spark, missing, Here(), plan=self.matrix.plan.name, keep_journal=True, tell=tell)[1]
        finally:
            self._spark.close()

    def compare(self, tell: Callable[[str, float], None] = lambda run, done: None) -> FidelityResult:
        """Calibrate, simulate and judge whatever there is; runs of older code count as well.

        `tell` is told which run is next, and the share of all that is done.
        """
        self._simulator.open()
        try:
            self._simulator.keep_plan(self.matrix.plan)
            found = [self._judge_group(group, tell) for group in self.groups]
        finally:
            self._simulator.close()
        result = FidelityResult(
            name=self.matrix.plan.name,
            about=self.matrix.plan.document.about,
            folder=self.folder,
            groups=self.groups,
            verdicts=tuple(one for verdicts, _, _ in found for one in verdicts),
            own=tuple(own for _, own, _ in found if own is not None),
            lacking=tuple(reason for _, _, reasons in found for reason in reasons),
        )
        (self.folder / RESULT).write_text(f"{json.dumps(result.as_json(), indent=2)}\n", encoding="utf-8")
        return result

    def _judge_group(
        self, group: FidelityGroup, tell: Callable[[str, float], None]
    ) -> tuple[list[FidelityVerdict], FidelityVerdict | None, list[str]]:
        known = self._find_live(group.known)
        if isinstance(known, str):
            return (
                [],
                None,
                [f"{self._name(group.known)}: {known}; nothing of job {group.job} can be judged without it"],
            )
        self._calibrate(group, known)
        runs = [(case, self._find_live(case)) for case in group.judged]
        there = [(case, run) for case, run in runs if not isinstance(run, str)]
        lacking = [f"{self._name(case)}: {run}" for case, run in runs if isinstance(run, str)]
        figures = _measure(known, group.known.experiment)
        about = (self._name(group.known), figures)
        verdicts = []
        for case, run in [(group.known, known), *there]:
            tell(self._name(case), self.matrix.cases.index(case) / len(self.matrix.cases))
            experiment = case.experiment
            model = model_file(self.folder, group, find_partitions(experiment))
            live = _measure(run, experiment)
            draws = self._simulate([find_twin(case, model, draw) for draw in range(DRAWS)])
            verdict = judge(
                self._name(case), group, about, live, draws, load=_load(experiment), bounds=experiment.executors
            )
            verdicts.append(verdict)
        return verdicts[1:], verdicts[0], lacking

    def _name(self, case: Case) -> str:
        return case.name_among(self.matrix.cases)

    def _find_live(self, case: Case) -> StoredRun | str:
        """The newest finished run of an experiment, by whatever code; why there is none."""
        wanted = identify(case.experiment).experiment
        runs = [run for run in self._spark.runs() if run.identity.experiment == wanted]
        finished = [run for run in runs if run.state == "finished" and run.has_journal]
        if finished:
            return max(finished, key=lambda run: (run.folder / JOURNAL).stat().st_mtime)
        return next((run.error for run in runs if run.error), "it was not run")

    def _calibrate(self, group: FidelityGroup, known: StoredRun) -> None:
        (self.folder / MODELS).mkdir(parents=True, exist_ok=True)
        model = read_calibration(known.folder, group.job)
        write_calibration(model, model_file(self.folder, group))
        own = find_partitions(group.known.experiment)
        for partitions in {find_partitions(case.experiment) for case in group.judged} - {own}:
            write_calibration(cut_into(model, partitions), model_file(self.folder, group, partitions))

    def _simulate(self, twins: Sequence[Case]) -> list[LoadFigures]:
        failures: list[str] = []
        statuses = find_status(self._simulator, twins, keep_journal=True)
        run_cases(
            self._simulator, statuses, Here(), plan=self.matrix.plan.name, keep_journal=True,
            tell=lambda done: failures.append(done.error) if done.error else None,
        )  # fmt: skip
        runs = [self._simulator.find(one.identity) for one in statuses]
        if failures or None in runs:
            reason = failures[0] if failures else "its results are gone"
            raise ElastreamError(f"{self._name(twins[0])}: it cannot be simulated: {reason}")
        return [_measure(run, twin.experiment) for run, twin in zip(runs, twins, strict=True) if run is not None]


def model_file(folder: Path, group: FidelityGroup, partitions: int | None = None) -> Path:
    """Where the model of a job lies; of one that was cut into another number of partitions, that is in its name."""
    cut = partitions not in (None, find_partitions(group.known.experiment))
    return folder / MODELS / f"{group.job}{f'-{partitions}' if cut else ''}.yaml"


def _measure(run: StoredRun, experiment: Experiment) -> LoadFigures:
    ticks = list(read(run.folder / JOURNAL).ticks)
    return measure_load(ticks, _load(experiment), str(run.folder))


def _load(experiment: Experiment) -> RateSeries:
    return parse_workload(experiment.workload).series(duration_s=experiment.duration_s, seed=experiment.seed)

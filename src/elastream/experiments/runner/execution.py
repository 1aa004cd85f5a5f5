"""One experiment, run and stored; whatever fails is a row with its error."""

from __future__ import annotations

import gc
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elastream.core.errors import ElastreamError, spell_error
from elastream.core.protocols import Journal
from elastream.evaluation.predictions import PredictionLog
from elastream.experiments.demand import find_least_size
from elastream.experiments.experiment import Experiment, SimulatedModel, parse_experiment
from elastream.experiments.optimum.optimum import find_optimum
from elastream.experiments.plan.matrix import Case
from elastream.experiments.run import Run
from elastream.experiments.simulated import set_up_simulation
from elastream.experiments.store.environment import find_environment
from elastream.experiments.store.folder import PARTIAL, StoreError, write_stored
from elastream.experiments.store.foreign_code import find_foreign_code
from elastream.experiments.store.identity import Identity
from elastream.experiments.store.tables import (
    DecisionLog,
    find_numbers,
    make_decisions,
    make_summary,
    make_ticks,
)


@dataclass(frozen=True, slots=True)
class Task:
    """An experiment that is to be run, as plain values that can go to another process."""

    identity: Identity
    plan: str
    labels: dict[str, str]
    experiment: dict[str, Any]
    code_files: list[str]
    """Of others, on which its result depends."""
    place: str
    """The folder that it is to have."""
    keep_journal: bool
    find_least: bool = False
    """Whether the smallest fixed size that keeps the promise is searched for."""
    find_optimum: bool = False
    """Whether it is compared with what could have been paid with the future known."""

    @classmethod
    def of(
        cls,
        case: Case,
        identity: Identity,
        plan: str,
        place: Path,
        *,
        keep_journal: bool,
        find_least: bool = False,
        find_optimum: bool = False,
    ) -> Task:
        """The task that a case is."""
        files = [str(file) for file in find_foreign_code(case.experiment)]
        return cls(
            identity,
            plan,
            dict(case.labels),
            case.experiment.as_json(),
            files,
            str(place),
            keep_journal,
            find_least,
            find_optimum,
        )

    @property
    def title(self) -> str:
        """What tells it apart, for people."""
        return ", ".join([*self.labels.values(), f"seed {self.experiment['seed']}"])


@dataclass(frozen=True, slots=True)
class Done:
    """A task that is over."""

    task: Task
    error: str | None
    took_s: float


COLLECT_EVERY = 50_000
"""Objects more than before, in place of 700: hardly anything of a run is part of a circle, and looking for what is took
some percent of its time."""


def collect_seldom() -> None:
    """Said once by a process that runs experiments and nothing else."""
    gc.set_threshold(COLLECT_EVERY)


def find_cost(experiment: Experiment) -> float:
    """How long it takes, in no unit: to begin with what takes longest."""
    return experiment.duration_s / experiment.tick_s


def execute(
    task: Task, *, run_as: Mapping[str, Any] | None = None, origin: Mapping[str, str | None] | None = None
) -> Done:
    """Run and store one experiment. Raises StoreError where nothing can be written, and nothing else.

    `run_as` is the experiment where its files lie elsewhere, `origin` version and commit of code that was shipped.
    """
    place, began_s = Path(task.place), time.perf_counter()
    log, predicted = DecisionLog(), PredictionLog()
    with tempfile.TemporaryDirectory(prefix=f"{PARTIAL}work-", dir=place.parent) as work:
        try:
            run = _run(task, run_as or task.experiment, Path(work), [log, predicted])
            least = find_least_size(run.experiment) if task.find_least else None
            optimum = find_optimum(run.experiment) if task.find_optimum else None
        except (KeyboardInterrupt, StoreError):
            raise
        except Exception as wrong:
            error = str(wrong) if isinstance(wrong, ElastreamError) else spell_error(wrong)
            took_s = time.perf_counter() - began_s
            _store(task, place, {"error": error, "took_s": took_s}, {}, origin)
            return Done(task, error, took_s)
        took_s = time.perf_counter() - began_s
        tables = {"ticks": make_ticks(run), "decisions": make_decisions(log)}
        kept = Path(work) / "run" if task.keep_journal else None
        _store(task, place, {**find_numbers(run, predicted, least, optimum), "took_s": took_s}, tables, origin, kept)
    return Done(task, None, took_s)


def store_failure(task: Task, error: str) -> Done:
    """Keep that an experiment failed of what it could not tell itself."""
    _store(task, Path(task.place), {"error": error}, {})
    return Done(task, error, 0.0)


def _run(task: Task, what: Mapping[str, Any], work: Path, logs: Sequence[Journal]) -> Run:
    experiment = parse_experiment(what)
    if isinstance(experiment.subject, SimulatedModel):
        folder = work / "run" if task.keep_journal else None
        return set_up_simulation(experiment).run(folder=folder, journals=logs)
    from elastream.experiments.live_run import run_live
    from elastream.experiments.live_setup import set_up_live
    from elastream.experiments.runner.live_log import LiveLog

    folder = work / "run"
    folder.mkdir()
    result = run_live(set_up_live(experiment), folder, LiveLog(logs))
    for verdict in result.verdicts:
        if not verdict.right:
            raise ElastreamError(verdict.sentence)
    for part in folder.iterdir():
        # The output was compared; only numbers and journal are kept.
        if part.is_dir() and part.name != "journal":
            shutil.rmtree(part, ignore_errors=True)
    return result.run


def _store(
    task: Task, place: Path, numbers: Mapping[str, object], tables: Mapping[str, object],
    origin: Mapping[str, str | None] | None = None, work: Path | None = None,
) -> None:  # fmt: skip
    identity = {"experiment": task.identity.experiment, "code": task.identity.code}
    row = {**identity, **task.labels, "seed": task.experiment["seed"], **numbers}
    document = {
        "plan": task.plan, **identity, "labels": task.labels, "what": task.experiment, "code_files": task.code_files,
        "least_size": task.find_least, "optimum": task.find_optimum,
    }  # fmt: skip
    environment = {**find_environment(origin), "seed": task.experiment["seed"]}
    write_stored(place, document, environment, {**tables, "summary": make_summary(row)}, work)

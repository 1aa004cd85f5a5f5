"""An experiment as a row of Spark, and what comes back of it."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from elastream.core.log import log
from elastream.experiments.runner.execution import Done, Task, collect_seldom, execute
from elastream.experiments.store.folder import StoreError
from elastream.experiments.store.identity import Identity
from elastream.experiments.sweep.on_executor import Orders

__all__ = ["DoneRow", "ExperimentRow", "collect_seldom", "run_row"]


class ExperimentRow(NamedTuple):
    """A task as Spark carries it."""

    experiment: str
    code: str
    plan: str
    labels: str
    what: str
    code_files: str
    place: str
    keep_journal: bool
    find_least: bool
    find_optimum: bool

    @classmethod
    def of(cls, task: Task) -> ExperimentRow:
        """The row of a task."""
        return cls(
            experiment=task.identity.experiment,
            code=task.identity.code,
            plan=task.plan,
            labels=json.dumps(task.labels),
            what=json.dumps(task.experiment),
            code_files=json.dumps(task.code_files),
            place=task.place,
            keep_journal=task.keep_journal,
            find_least=task.find_least,
            find_optimum=task.find_optimum,
        )

    @property
    def task(self) -> Task:
        """The task of a row."""
        return Task(
            identity=Identity(self.experiment, self.code),
            plan=self.plan,
            labels=json.loads(self.labels),
            experiment=json.loads(self.what),
            code_files=json.loads(self.code_files),
            place=self.place,
            keep_journal=self.keep_journal,
            find_least=self.find_least,
            find_optimum=self.find_optimum,
        )


class DoneRow(NamedTuple):
    """What came of it."""

    took_s: float
    error: str | None
    not_stored: str | None
    """Why nothing could be written: the fault of the folder, and not of the experiment."""

    def done(self, row: ExperimentRow) -> Done:
        """As every way to run tells it."""
        if self.not_stored is not None:
            raise StoreError(self.not_stored)
        return Done(row.task, self.error, self.took_s)


def run_row(orders: tuple[Any, ...], root: str, row: tuple[Any, ...]) -> DoneRow:
    """Run and store the experiment of a row, on an executor that has what was shipped in `root`."""
    # What policies report while thousands of them run, each run's tables hold.
    log.disabled = True
    given, task = Orders(*orders), ExperimentRow(*row).task
    try:
        done = execute(task, run_as=relocate(task.experiment, given.files, Path(root)), origin=given.origin)
    except (StoreError, OSError) as wrong:
        return DoneRow(0.0, None, f"executor on {socket.gethostname()}: {wrong}")
    return DoneRow(done.took_s, done.error, None)


def relocate(experiment: Mapping[str, Any], files: Mapping[str, str], root: Path) -> dict[str, Any]:
    """The same experiment where its files lie elsewhere."""
    workload, subject = experiment["workload"], experiment["subject"]
    # The longest first: one path may be the beginning of another.
    for path in sorted(files, key=len, reverse=True):
        place = str(root / files[path])
        workload = workload.replace(path, place)
        if subject.get("model") == path:
            subject = {**subject, "model": place}
    return {**experiment, "workload": workload, "subject": subject}

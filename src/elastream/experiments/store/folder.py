"""The folder of an experiment that was run, and the folder that holds many of them.

    OUT/plan.yaml                     the plan, as one document
    OUT/runs/EXPERIMENT-CODE/         one run: a hash of what was run, and one of the code that ran it
        experiment.json               what was run, and its labels in the plan
        environment.json              versions, commit, machine and its load, seeds
        ticks.parquet, decisions.parquet, summary.parquet
        journal/                      where it was asked for

A run is written beside its place and moved there whole, so that what is there is finished.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, ElastreamError, JournalError
from elastream.core.sanitizer import sanitizer
from elastream.experiments.plan.placed import name_absolutely, place_content
from elastream.experiments.plan.reader import Plan
from elastream.experiments.run_folder import JOURNAL
from elastream.experiments.store.identity import Identity, name_code, parse_identity
from elastream.experiments.store.stored_files import UNREADABLE, check_table, read_experiment_file, read_rows
from elastream.experiments.store.tables import SUMMARY
from elastream.journal.folder_lock import FolderLock

RUNS, PLAN = "runs", "plan.yaml"
EXPERIMENT, ENVIRONMENT = "experiment.json", "environment.json"
TABLES = ("ticks", "decisions", "summary")
PARTIAL = ".part-"

State = Literal["finished", "failed", "damaged"]
StateNow = Literal["finished", "failed", "damaged", "stale"]


class StoreError(ElastreamError):
    """Results could not be written."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it lies on disk."""

    identity: Identity
    folder: Path
    state: State
    numbers: Mapping[str, Any]
    """The row of its summary; empty where that cannot be read."""
    document: Mapping[str, Any]
    """What was run, and its labels in the plan; empty where that cannot be read."""
    error: str | None
    """Why it failed, or which file is damaged."""

    @property
    def state_now(self) -> StateNow:
        """Its state, or that it is whole and was run by older code. Nothing is imported to tell it."""
        what = self.document.get("what", {})
        platform = "live" if "job" in what.get("subject", {}) else "simulator"
        files = [Path(file) for file in self.document.get("code_files", [])]
        policy = str(what.get("policy", {}).get("name"))
        is_old = self.state == "finished" and name_code(platform, policy, files) != self.identity.code
        return "stale" if is_old else self.state

    @property
    def has_journal(self) -> bool:
        """Whether its journal was kept."""
        return (self.folder / JOURNAL).is_dir()


class RunStore:
    """All runs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = FolderLock(folder)

    def require(self) -> RunStore:
        """Itself; BadInput if there are no runs in it."""
        if not (self.folder / RUNS).is_dir():
            remedy = f"`elastream experiment run PLAN --out {self.folder}` makes them"
            raise BadInput(f"{self.folder}: there are no runs; {remedy}")
        return self

    def open(self) -> RunStore:
        """Take the folder for a runner; BadInput if another one has it."""
        try:
            (self.folder / RUNS).mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except JournalError as wrong:
            raise BadInput(f"--out {wrong}") from None
        except OSError as wrong:
            raise BadInput(f"--out {self.folder}: {wrong.strerror}") from None
        self._clear()
        return self

    def close(self) -> None:
        """Give the folder back; of runs that did not end nothing stays."""
        self._clear()
        self._lock.release()

    def _clear(self) -> None:
        for partial in (self.folder / RUNS).glob(f"{PARTIAL}*"):
            shutil.rmtree(partial, ignore_errors=True)

    def keep_plan(self, plan: Plan) -> None:
        """Write down what is run, as one document that can be run from where it lies."""
        text = json.dumps(place_content(plan, name_absolutely), indent=2)
        try:
            (self.folder / PLAN).write_text(f"# {plan.name}\n{text}\n", encoding="utf-8")
        except OSError as wrong:
            raise StoreError(f"{self.folder / PLAN}: cannot be written: {wrong.strerror}") from None

    def path(self, identity: Identity) -> Path:
        """Where the run of an experiment lies, or would."""
        return self.folder / RUNS / str(identity)

    def find(self, identity: Identity) -> StoredRun | None:
        """The run of an experiment by the present code, if it is there."""
        folder = self.path(identity)
        return read_stored(folder, identity) if folder.is_dir() else None

    def identities(self) -> list[Identity]:
        """Of all runs that are there, of older code too."""
        if not (self.folder / RUNS).is_dir():
            return []
        found = (parse_identity(path.name) for path in (self.folder / RUNS).iterdir() if path.is_dir())
        return sorted(identity for identity in found if identity is not None)

    def runs(self) -> Iterator[StoredRun]:
        """All runs that are there."""
        for identity in self.identities():
            yield read_stored(self.path(identity), identity)


def read_stored(folder: Path, identity: Identity) -> StoredRun:
    """A run from its folder; one that cannot be read is damaged."""
    document: Mapping[str, Any] = {}
    row: Mapping[str, Any] = {}
    file = folder / EXPERIMENT
    try:
        document = read_experiment_file(file)
        file = folder / "summary.parquet"
        [row] = read_rows(file, SUMMARY)
        for name in TABLES[:2] if row["error"] is None else ():
            file = folder / f"{name}.parquet"
            check_table(file)
    except UNREADABLE:
        return StoredRun(identity, folder, "damaged", {}, document, f"{file} is damaged")
    return StoredRun(identity, folder, "finished" if row["error"] is None else "failed", row, document, row["error"])


def write_stored(
    place: Path, experiment: Mapping[str, object], environment: Mapping[str, object], tables: Mapping[str, pa.Table],
    work: Path | None = None,
) -> Path:  # fmt: skip
    """Write a run and move it to its place; what lay there before goes. `work` is a folder with more of it."""
    partial = place.parent / f"{PARTIAL}{place.name}-{os.getpid()}"
    try:
        if work is not None and work.is_dir():
            work.rename(partial)
        partial.mkdir(parents=True, exist_ok=True)
        for name, document in ((EXPERIMENT, experiment), (ENVIRONMENT, environment)):
            text = json.dumps(sanitizer().texts(document), indent=2, sort_keys=True)
            (partial / name).write_text(f"{text}\n", encoding="utf-8")
        for name, table in tables.items():
            pq.write_table(table, partial / f"{name}.parquet", compression="zstd")
        shutil.rmtree(place, ignore_errors=True)
        partial.rename(place)
    except (OSError, pa.ArrowException) as wrong:
        shutil.rmtree(partial, ignore_errors=True)
        reason = getattr(wrong, "strerror", None) or wrong
        remedy = "make room and start the same again: what is finished stays"
        raise StoreError(f"{place.parent}: a run cannot be written: {reason}; {remedy}") from None
    return place

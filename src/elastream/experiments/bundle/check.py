"""An archive, run again: are its files whole, and do its runs give the same values here?"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict

from elastream.core.callform import CLASS_PATH
from elastream.core.errors import BadInput, ElastreamError
from elastream.core.input_file import read_input
from elastream.core.sanitizer import sanitizer
from elastream.experiments.bundle.archive import digest
from elastream.experiments.bundle.packing import MANIFEST
from elastream.experiments.experiment import parse_experiment
from elastream.experiments.plan.matrix import Case
from elastream.experiments.runner.execution import Done
from elastream.experiments.runner.runner import CaseStatus, RunnerBackend, find_status, run_cases
from elastream.experiments.store.folder import TABLES, RunStore, StoredRun
from elastream.experiments.store.identity import Identity
from elastream.experiments.store.stored_files import UNREADABLE
from elastream.experiments.sweep.row import relocate

APART = ("took_s", "code")
"""How long a run took, and by which code, is no result."""


class _Manifest(BaseModel):
    """What is asked of a manifest; anybody may have written it."""

    model_config = ConfigDict(strict=True)

    archive: Literal["elastream bundle"]
    name: str
    files: dict[str, str]
    inputs: dict[str, str]
    code: list[str]


@dataclass(slots=True)
class BundleCheck:
    """What came of running an archive again."""

    name: str
    runs: int = 0
    same: int = 0
    differing: dict[str, str] = field(default_factory=dict)
    """Run -> where it differs."""
    not_run: dict[str, str] = field(default_factory=dict)
    """Run -> why it cannot be run here."""
    damaged: list[str] = field(default_factory=list)
    """Files that are not what the archive says of them."""
    is_other_code: bool = False
    """Whether the code here is not that of the runs."""

    @property
    def complaint(self) -> str | None:
        """Why it is not right; None: everything that could be run gave the same, and something could."""
        if self.differing or self.damaged:
            return "it does not give the same here"
        return None if self.same else "none of its runs could be run here"


def read_manifest(root: Path) -> dict[str, Any]:
    """What an unpacked archive says of itself."""
    try:
        manifest = json.loads(read_input(root / MANIFEST))
        if isinstance(manifest, dict) and manifest.get("schema", 1) != 1:
            raise BadInput(f"{root.name}: it was packed by a newer version of Elastream; install that")
        _Manifest.model_validate(manifest)
    except UNREADABLE:
        raise BadInput(
            f"{root.name}: this is no archive of `elastream bundle`: its {MANIFEST} cannot be read"
        ) from None
    found: dict[str, Any] = manifest
    return found


def check_bundle(
    root: Path,
    work: Path,
    backend: RunnerBackend,
    *,
    trusts_code: bool,
    begin: Callable[[Sequence[CaseStatus]], None] = lambda statuses: None,
    tell: Callable[[Done], None] = lambda done: None,
) -> BundleCheck:
    """Run everything in an unpacked archive again, in another folder, and compare every value."""
    manifest = read_manifest(root)
    packed = {run.identity: run for run in RunStore(root).require().runs()}
    if trusts_code:
        sys.path.append(str(root))
    elif code := manifest["code"] or sorted(_find_classes([run.document for run in packed.values()])):
        raise BadInput(
            f"{manifest['name']}: it has code of others, which would run here: {', '.join(code)}; read it, and say "
            "--trust"
        )
    found = BundleCheck(manifest["name"], damaged=list(_find_damaged(root, manifest["files"])))
    cases: dict[bool, dict[Identity, Case]] = {False: {}, True: {}}
    for identity, run in packed.items():
        found.runs += 1
        if (why := _find_obstacle(root, run, manifest["inputs"])) is not None:
            found.not_run[str(identity)] = why
            continue
        what = relocate(run.document["what"], {name: name for name in manifest["inputs"]}, root)
        cases[bool(run.document.get("least_size"))][identity] = Case(parse_experiment(what), run.document["labels"])
    store = RunStore(work).open()
    try:
        for find_least, some in cases.items():
            statuses = find_status(store, list(some.values()), find_least=find_least)
            begin([one for one in statuses if one.is_to_run])
            run_cases(store, statuses, backend, plan=found.name, find_least=find_least, tell=tell)
            for identity, status in zip(some, statuses, strict=True):
                _compare(found, packed[identity], status.identity, store.find(status.identity))
    finally:
        store.close()
    return found


def _find_damaged(root: Path, files: Mapping[str, str]) -> list[str]:
    return [name for name, told in files.items() if not (root / name).is_file() or digest(root / name) != told]


def _find_classes(value: object) -> set[str]:
    """Whatever reads like a class in a module: to look for it would run it, and a manifest may be silent about it."""
    if isinstance(value, str):
        return set(re.findall(CLASS_PATH, value, re.ASCII))
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    return {name for part in value for name in _find_classes(part)} if isinstance(value, list) else set()


def _find_obstacle(root: Path, run: StoredRun, inputs: Mapping[str, str]) -> str | None:
    if run.state != "finished":
        return run.error or run.state
    what = run.document["what"]
    if "job" in what["subject"]:
        return "it was run on real executors, which never give the same twice"
    for name, told in inputs.items():
        if name in what["workload"] or name == what["subject"]["model"]:
            if not (root / name).is_file():
                return f"{name} was not packed; put it there"
            if digest(root / name) != told:
                return f"{name} is not the file that was used"
    return None


def _compare(found: BundleCheck, packed: StoredRun, identity: Identity, run: StoredRun | None) -> None:
    name = str(packed.identity)
    found.is_other_code |= identity.code != packed.identity.code
    if identity.experiment != packed.identity.experiment:
        found.differing[name] = f"it is another experiment here, {identity.experiment}"
    elif run is None or run.state != "finished":
        found.differing[name] = f"here it ended with: {run.error if run is not None else 'nothing'}"
    elif (where := find_difference(packed.folder, run.folder)) is not None:
        found.differing[name] = where
    else:
        found.same += 1


def find_difference(first: Path, second: Path) -> str | None:
    """The first table and column in which two runs differ, and by how much; None: they are the same."""
    for table in TABLES:
        try:
            left, right = (pq.read_table(folder / f"{table}.parquet") for folder in (first, second))
        except (OSError, pa.ArrowException) as wrong:
            raise ElastreamError(f"{first if first.exists() else second}: {table}.parquet: {wrong}") from None
        for column in dict.fromkeys([*left.column_names, *right.column_names]):
            if column in APART:
                continue
            told = f"{table}.{column}"
            if column not in left.column_names or column not in right.column_names:
                return f"{told}: only one of them has it"
            if not left[column].equals(right[column]):
                spelt = _spell_difference(left[column].to_pylist(), right[column].to_pylist())
                return sanitizer().line(f"{told}: {spelt}")
    return None


def _spell_difference(left: Sequence[object], right: Sequence[object]) -> str:
    if len(left) != len(right):
        return f"{len(left)} rows there, {len(right)} here"
    row = next(number for number, pair in enumerate(zip(left, right, strict=True)) if pair[0] != pair[1])
    return f"row {row}: {left[row]} there, {right[row]} here"

"""What goes into an archive of runs, under names that are right wherever it is unpacked, and what stays out and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from elastream.core.errors import BadInput
from elastream.experiments.bundle.archive import Content, digest
from elastream.experiments.bundle.citation import write_citation, write_readme
from elastream.experiments.experiment import parse_experiment
from elastream.experiments.plan.placed import place_content
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.report.checklist import spell_count
from elastream.experiments.report.contents import Contents, read_contents
from elastream.experiments.report.report import make_report
from elastream.experiments.report.standing import answer, stand
from elastream.experiments.store.folder import ENVIRONMENT, EXPERIMENT, PLAN, RUNS, TABLES, StoredRun
from elastream.experiments.store.identity import find_inputs
from elastream.experiments.sweep.row import relocate
from elastream.experiments.sweep.shipment import find_code_members
from elastream.workloads.tracefile import SHIPPED

INPUTS, MANIFEST = "inputs", "MANIFEST.json"
MODELS = (".yaml", ".yml")
BESIDE = ("tuning.json",)
"""What other commands leave in a folder of runs, and holds no place of this machine."""


@dataclass(slots=True)
class Packed:
    """An archive before it is written."""

    name: str
    members: dict[str, Content] = field(default_factory=dict)
    left_out: list[dict[str, str]] = field(default_factory=list)
    """What, and why."""
    runs: int = 0

    def leave_out(self, what: str, why: str) -> None:
        """Told in the archive and to whoever makes it."""
        self.left_out.append({"what": what, "why": why})


def pack(folder: Path, *, loads: Sequence[str], authors: Sequence[str], licence: str | None) -> Packed:
    """Everything of a folder of runs; recorded loads only where one of the patterns names them."""
    contents = read_contents(folder)
    if not contents.runs:
        why = f"`elastream experiment list {folder}` says why"
        raise BadInput(f"{folder}: no run is finished by the present code; {why}")
    packed = Packed(contents.name, runs=len(contents.runs))
    experiments = [parse_experiment(run.document["what"]) for run in contents.runs]
    inputs = {text: file for one in experiments for text, file in find_inputs(one) if not file.is_relative_to(SHIPPED)}
    names = _name_inputs(inputs)
    for text, file in inputs.items():
        _pack_input(packed, file, names[text], loads)
    packed.members |= find_code_members(experiments)
    for run in contents.runs:
        _pack_run(packed, run, names)
    _tell_others(packed, contents)
    _pack_plan(packed, folder, {file.resolve(): names[text] for text, file in inputs.items()})
    shown = replace(contents, folder=Path())
    overview = stand(contents.comparison.contests)
    about = str(contents.plan.get("about") or "")
    versions = _read_versions(contents)
    readme = write_readme(packed.name, about, answer(overview), versions, packed.left_out, _list_code(packed))
    packed.members |= {
        "report.html": make_report(shown).encode(),
        "README.md": readme.encode(),
        "CITATION.cff": write_citation(packed.name, about, authors, licence).encode(),
        "requirements.txt": _write_requirements(versions).encode(),
        "environment.json": _write_json(contents.origins),
        **{name: folder / name for name in BESIDE if (folder / name).is_file()},
    }
    packed.members[MANIFEST] = _write_manifest(packed, inputs, names)
    return packed


def _name_inputs(inputs: Mapping[str, Path]) -> dict[str, str]:
    """Their own names, which are part of what an experiment is called; in a folder of their own where two have one."""
    found: dict[str, str] = {}
    for text, file in sorted(inputs.items()):
        name = f"{INPUTS}/{file.name}"
        taken = [other for other, path in found.items() if path == name and inputs[other].resolve() != file.resolve()]
        found[text] = name if not taken else f"{INPUTS}/{digest(file)[:8]}/{file.name}"
    return found


def _pack_input(packed: Packed, file: Path, name: str, loads: Sequence[str]) -> None:
    if file.suffix in MODELS or any(fnmatchcase(file.name, pattern) for pattern in loads):
        packed.members[name] = file
    elif all(one["what"] != name for one in packed.left_out):
        packed.leave_out(
            name, f"a recorded load, and nobody said that it may be given to others (--with '{file.name}' does); "
            f"whoever has it puts it there: SHA-256 {digest(file)}"
        )  # fmt: skip


def _pack_run(packed: Packed, run: StoredRun, names: Mapping[str, str]) -> None:
    place = f"{RUNS}/{run.identity}"
    files = [Path(file) for file in run.document.get("code_files", [])]
    inside = [next((name for name, path in packed.members.items() if path == file), file.name) for file in files]
    document = {**run.document, "what": relocate(run.document["what"], names, Path()), "code_files": inside}
    packed.members[f"{place}/{EXPERIMENT}"] = _write_json(document)
    packed.members[f"{place}/{ENVIRONMENT}"] = run.folder / ENVIRONMENT
    for table in TABLES:
        packed.members[f"{place}/{table}.parquet"] = run.folder / f"{table}.parquet"
    if run.has_journal:
        packed.leave_out(f"{place}/journal", "journals are told from tables, and are large")


def _tell_others(packed: Packed, contents: Contents) -> None:
    for why, number in contents.comparison.left_out.items():
        packed.leave_out(spell_count(number, "run"), why)


def _pack_plan(packed: Packed, folder: Path, names: Mapping[Path, str]) -> None:
    """The plan, with its files where they lie in the archive."""
    plan = read_plan(folder / PLAN)
    content = place_content(plan, lambda file: names.get(file.resolve(), f"{INPUTS}/{file.name}"))
    if any(one["what"].startswith(INPUTS) for one in packed.left_out):
        content["what"]["absent"] = "skip"
    packed.members[PLAN] = f"# {plan.name}\n".encode() + _write_json({"name": plan.name, **content}, sort=False)


def _read_versions(contents: Contents) -> dict[str, str]:
    """Those that most runs were made with."""
    told = contents.origins.get("versions", {})
    most = max(told, key=lambda text: told[text], default="")
    return dict(pair.split(" ", 1) for pair in most.split(", ") if " " in pair)


def _write_requirements(versions: Mapping[str, str]) -> str:
    lines = [f"{package}=={number}" for package, number in versions.items() if package not in ("python", "elastream")]
    return "\n".join([f"elastream[lab]=={versions.get('elastream', '')}", *lines]) + "\n"


def _write_manifest(packed: Packed, inputs: Mapping[str, Path], names: Mapping[str, str]) -> bytes:
    return _write_json({
        "archive": "elastream bundle",
        "schema": 1,
        "name": packed.name,
        "runs": packed.runs,
        "files": {name: digest(content) for name, content in sorted(packed.members.items())},
        "inputs": {names[text]: digest(file) for text, file in sorted(inputs.items())},
        "code": _list_code(packed),
        "left_out": packed.left_out,
    })  # fmt: skip


def _list_code(packed: Packed) -> list[str]:
    return sorted(name for name in packed.members if name.endswith(".py"))


def _write_json(document: Any, *, sort: bool = True) -> bytes:
    return (json.dumps(document, indent=2, sort_keys=sort) + "\n").encode()

"""What goes to executors with a sweep: our own code, what it needs that is pure Python, and the files of the plan."""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from elastream.core.module_search import searched_folders
from elastream.experiments.experiment import Experiment
from elastream.experiments.store.foreign_code import find_foreign_code
from elastream.experiments.store.identity import find_inputs
from elastream.experiments.store.used_parts import ROOT

ALONG = ("yaml",)
"""Packages of Python alone that simulated runs read models with, and executors may lack."""
INPUTS = "inputs"
NOT_NEEDED = ("__pycache__", "tests", "include")


PLAN = "plan"
"""How the archive of what belongs to a plan is called."""


@dataclass(frozen=True, slots=True)
class PlanShipment:
    """What a plan needs of its user, packed."""

    archive: Path
    files: dict[str, str]
    """Path of a file as experiments name it -> where it lies in the archive."""


def pack_code(folder: Path) -> Path:
    """Pack our own code, and what of others goes along, into a folder."""
    members = {f"{ROOT.name}/{name}": path for name, path in _members(ROOT)}
    for package in ALONG:
        members |= {f"{package}/{name}": path for name, path in _members(_package(package)) if path.suffix == ".py"}
    return _write(folder, ROOT.name, members)


def pack_plan(folder: Path, experiments: Sequence[Experiment]) -> PlanShipment:
    """Pack classes from outside and files that experiments name."""
    # Experiments are many, and what they read and are made of is little.
    reading = {(one.workload, getattr(one.subject, "model", "")): one for one in experiments}
    files: dict[str, str] = {}
    members: dict[str, Path] = {}
    for one in reading.values():
        for text, path in find_inputs(one):
            if not path.is_relative_to(ROOT) and text not in files:
                files[text] = f"{INPUTS}/{len(files)}-{path.name}"
                members[files[text]] = path
    return PlanShipment(_write(folder, PLAN, members | find_code_members(experiments)), files)


def pack_package(folder: Path, name: str) -> Path:
    """Pack a package that is installed here as it is; it serves where Python and machine are alike."""
    return _write(folder, name, {f"{name}/{part}": path for part, path in _members(_package(name))})


def _write(folder: Path, name: str, members: dict[str, Path]) -> Path:
    """An archive that is named by its content, for Spark takes no second one of a name."""
    partial = folder / f"{name}.part"
    digest = sha256()
    # Uncompressed: it is read once by each machine, and packing must not keep a sweep waiting.
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for member, path in sorted(members.items()):
            content = path.read_bytes()
            digest.update(member.encode() + b"\0" + content)
            archive.writestr(member, content)
    return partial.rename(folder / f"{name}-{digest.hexdigest()[:12]}.zip")


def _members(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.is_file() and not set(NOT_NEEDED) & set(inside.parts):
            yield inside.as_posix(), path


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    assert found is not None, name
    assert found.origin is not None, name
    return Path(found.origin).parent


def find_code_members(experiments: Sequence[Experiment]) -> dict[str, Path]:
    """Classes from outside that experiments name, and what these import from beside them: by how Python finds them."""
    naming = {
        (one.policy.name, one.workload, one.guards, getattr(one.subject, "faults", ())): one for one in experiments
    }
    found: dict[str, Path] = {}
    for one in naming.values():
        for file in find_foreign_code(one):
            inside = file.relative_to(_search_folder(file))
            found[inside.as_posix()] = file
            for package in list(inside.parents)[:-1]:
                if (init := _search_folder(file) / package / "__init__.py").is_file():
                    found[(package / "__init__.py").as_posix()] = init
    return found


def _search_folder(file: Path) -> Path:
    """The folder in which Python looked when it found a file."""
    searched = (Path(folder or ".").resolve() for folder in (*sys.path, *searched_folders()))
    return max((folder for folder in searched if file.is_relative_to(folder)), key=lambda one: len(one.parts))

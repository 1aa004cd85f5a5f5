"""Rooms whose parts stand side by side: of policies and estimators only those decide a run that it takes part of.

So who mends one policy need not run all others again. It is told from the text of the code: nothing is imported, and
where a policy is not ours, or its name stands nowhere, the whole rooms count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
ROOMS = ("policies", "estimators")
ALWAYS = ("catalogue.py", "fixed.py", "schedule.py")
"""Of the policies: where they are registered, and what runs are held against (the least size, a plan that knew all)."""
REGISTRY = ("policies", "register_policy")
"""What finds policies by their names uses none of them."""


def find_used_parts(policy: str, whole: Iterable[Path]) -> list[Path]:
    """Files of these rooms, in a fixed order, that count for a policy beside files that count as a whole."""
    own = _places_of_policies().get(policy)
    if own is None:
        return sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.py"))
    wanted = [own, *(ROOT / "policies" / name for name in ALWAYS), *(used for file in whole for used in _used(file))]
    places: set[Path] = set()
    while wanted:
        place = wanted.pop()
        if place not in places:
            places.add(place)
            wanted += [used for file in files_of(place) for used in _used(file)]
    return sorted(file for place in places for file in files_of(place))


def files_of(place: Path) -> list[Path]:
    """A file, or all code of a package."""
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


@cache
def _places_of_policies() -> dict[str, Path]:
    """The name of each policy and preset of ours, and the file or package that it stands in."""
    room = ROOT / "policies"
    return {
        name: room / file.relative_to(room).parts[0] for file in room.rglob("*.py") for name in _registered(file)
    }  # fmt: skip


def _registered(file: Path) -> Iterator[str]:
    for node in ast.walk(_parse(file)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        of, name = node.func.value, node.args[0]
        is_policy = isinstance(of, ast.Name) and of.id == "policies" and node.func.attr in ("register", "preset")
        if is_policy and isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value


@cache
def _used(file: Path) -> tuple[Path, ...]:
    """Files and packages of these rooms that a file imports."""
    found: dict[Path, None] = {}
    for node in ast.walk(_parse(file)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, room, part = [*name.split("."), "", "", ""][:3]
            if package != "elastream" or room not in ROOMS:
                continue
            place = next((one for one in (ROOT / room / f"{part}.py", ROOT / room / part) if one.exists()), None)
            if part not in REGISTRY:
                # Something that the room itself hands on may be any of its parts.
                found[place or ROOT / room] = None
    return tuple(found)


@cache
def _parse(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes())

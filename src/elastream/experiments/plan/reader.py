"""A plan from its file: includes are merged, and whatever is wrong is told with file, line and key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from elastream.config.yaml_file import KeyPath, load_located_yaml
from elastream.core.errors import BadInput, suggestion
from elastream.experiments.plan.document import AXES, Draws, PlanDocument
from elastream.experiments.plan.draws import DrawProblem, check_names, draw_values, fill_in, find_holes
from elastream.experiments.plan.fields import label_of

MOST_INCLUDES = 100
"""Of all files together: where each includes two others, twenty levels would be a million."""
ADDED_UP = ("exclude", "cases")
"""Lists to which a plan adds; of everything else the including one's value holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class PlanProblems(BadInput):
    """What is wrong with a plan: a line each, the first of them as the message."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        more = f" (and {len(lines) - 1} more: `elastream plan check` lists them)" if len(lines) > 1 else ""
        super().__init__(f"{lines[0]}{more}")


@dataclass(frozen=True, slots=True)
class Draw:
    """A plan with values for what it leaves open."""

    values: Mapping[str, str]
    document: PlanDocument


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that makes sense as a document; its models, jobs and recordings have not been looked for."""

    document: PlanDocument
    """Of the first draw, where values are drawn."""
    content: Mapping[str, object]
    """The same as it is written, with what it includes."""
    path: Path
    places: Mapping[KeyPath, Place] = field(repr=False)
    drawn: Mapping[str, Draw] = field(default_factory=dict)
    """Number of the draw -> the plan with its values; empty where nothing is open."""

    @property
    def name(self) -> str:
        """As it says itself, or as its file is called."""
        return self.document.name or self.path.stem

    def place(self, *keys: str | int) -> Place:
        """Where a value stands, or what holds it."""
        return find_place(self.places, _written(keys, self.content), self.path)

    def folder(self, *keys: str | int) -> Path:
        """From where relative paths in a value start: the folder of the file that it stands in."""
        return self.place(*keys).file.parent


def read_plan(path: Path) -> Plan:
    """The plan in a file, or BadInput."""
    content, places = _load(path, (), [])
    try:
        drawn = _draw(content)
        document = next(iter(drawn.values())).document if drawn else PlanDocument.model_validate(content)
    except ValidationError as wrong:
        raise PlanProblems([_tell(error, content, places, path) for error in wrong.errors()]) from None
    except DrawProblem as wrong:
        where = find_place(places, wrong.keys, path)
        raise PlanProblems([f"{where}: {'.'.join(map(str, wrong.keys))}: {wrong}"]) from None
    return Plan(document, content, path, places, drawn)


def _draw(content: Mapping[str, object]) -> dict[str, Draw]:
    """The plan in each of its draws."""
    given = Draws.model_validate({key: content[key] for key in Draws.model_fields if key in content})
    if given.draws is None:
        return {}
    check_names(find_holes(content, AXES), given.open)
    found = {}
    for number in range(1, given.draws + 1):
        values = draw_values(number, given.open)
        found[str(number)] = Draw(values, PlanDocument.model_validate(fill_in(content, values)))
    return found


def find_place(places: Mapping[KeyPath, Place], keys: Sequence[str | int], path: Path) -> Place:
    """The place of a value; that of what it stands in, where it has none of its own."""
    for length in range(len(keys), -1, -1):
        if (found := places.get(tuple(keys[:length]))) is not None:
            return found
    return Place(path, 1)


def _load(path: Path, through: tuple[Path, ...], loaded: list[Path]) -> tuple[dict[str, object], dict[KeyPath, Place]]:
    """The content of a file over what it includes, and where each value stands.

    `through` are those that lead to it, `loaded` all that were read so far.
    """
    if path.resolve() in (one.resolve() for one in through):
        raise BadInput(f"{through[-1]}: include: {path} includes itself")
    loaded.append(path)
    if len(loaded) > MOST_INCLUDES:
        raise BadInput(f"{loaded[0]}: include: more than {MOST_INCLUDES} plans, with those that they include")
    found = load_located_yaml(path)
    if not isinstance(found.content, dict):
        raise BadInput(f"{path}: this is no plan; it has `what` and `how` (`elastream plan schema` prints all keys)")
    own = {keys: Place(path, line) for keys, line in found.lines.items()}
    content: dict[str, object] = {}
    places: dict[KeyPath, Place] = {}
    included = found.content.get("include") or []
    for name in included if isinstance(included, list) else [included]:
        if isinstance(name, str):
            if not _is_file(path.parent / name):
                where = find_place(own, ("include",), path)
                raise BadInput(f"{where}: include: there is no file {path.parent / name}")
            base, base_places = _load(path.parent / name, (*through, path), loaded)
            base.pop("name", None)
            _merge(content, places, base, base_places, ())
    _merge(content, places, found.content, own, ())
    content.pop("include", None)
    return content, places


def _merge(
    into: dict[str, object],
    places: dict[KeyPath, Place],
    other: Mapping[str, object],
    others: Mapping[KeyPath, Place],
    at: KeyPath,
) -> None:
    """Put a mapping over another one. Below `what` and `how` values are replaced whole: an axis is one thing."""
    for key, value in other.items():
        keys = (*at, key)
        before = into.get(key)
        if not at and key in ADDED_UP and isinstance(before, list) and isinstance(value, list):
            first = len(before)
            into[key] = [*before, *value]
            for path, place in others.items():
                if len(path) > 1 and path[0] == key:
                    places[*keys, first + int(path[1]), *path[2:]] = place
            continue
        if not at and isinstance(before, dict) and isinstance(value, dict):
            _merge(before, places, value, others, keys)
            continue
        for path in [path for path in places if path[: len(keys)] == keys]:
            del places[path]
        into[key] = value
        places.update({path: place for path, place in others.items() if path[: len(keys)] == keys})


def _tell(error: ErrorDetails, content: object, places: Mapping[KeyPath, Place], path: Path) -> str:
    keys = tuple(error["loc"])
    where = find_place(places, _written(keys, content), path)
    text = error["msg"].removeprefix("Value error, ")
    name = ".".join(str(key) for key in keys)
    if error["type"] == "extra_forbidden":
        part, wrong = ".".join(map(str, keys[:-1])) or "plan", str(keys[-1])
        return f"{where}: {part}: there is no {wrong!r}{suggestion(wrong, _known_keys(keys[:-1]))}"
    if error["type"] == "missing":
        return f"{where}: {name}: this key is missing"
    found = error["input"]
    if error["type"] == "literal_error":
        known = re.findall(r"'([^']*)'", error.get("ctx", {}).get("expected", ""))
        return f"{where}: {name}: there is no {found!r}{suggestion(str(found), known)}"
    told = f"; found {found!r}" if isinstance(found, str | int | float) and error["type"] != "value_error" else ""
    return f"{where}: {name or 'plan'}: {text[:1].lower()}{text[1:]}{told}"


def _written(keys: KeyPath, content: Any) -> KeyPath:
    """The keys as they stand in the file: a value of a list is called by what it says, and stands at its number."""
    written: list[str | int] = []
    for key in keys:
        if isinstance(content, list) and isinstance(key, str):
            numbers = [number for number, item in enumerate(content) if label_of(item) == key]
            if not numbers:
                break
            key = numbers[0]
        written.append(key)
        try:
            content = content[key]
        except (KeyError, IndexError, TypeError):
            break
    return tuple(written)


def _known_keys(keys: KeyPath) -> list[str]:
    """The keys that the part of a plan has."""
    model: Any = PlanDocument
    for key in keys:
        if isinstance(key, int):
            continue
        annotation = model.model_fields[key].annotation if key in getattr(model, "model_fields", {}) else None
        parts = [annotation, *get_args(annotation)]
        model = next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)
        if model is None:
            return []
    return [found.alias or name for name, found in model.model_fields.items()]


def _is_file(path: Path) -> bool:
    """Whether it is there; what no file can be called is not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False

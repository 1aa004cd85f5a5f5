"""The files of a folder of runs, read back. Whoever sent the folder may have written anything into them.

What makes no sense is a ValueError, and the run is damaged; what is text is made fit to be shown.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field

from elastream.core.input_file import open_input, read_input
from elastream.core.sanitizer import sanitizer
from elastream.journal.validation import is_deep

MOST_ROWS = 2_000_000
"""Of a table: half a year of looks, five seconds apart. A file of some kilobytes can stand for billions."""
UNREADABLE = (OSError, ValueError, RecursionError, pa.ArrowException)
"""What a file that is damaged, or was never written by us, ends in."""

Known = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _StoredPart(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Promise(_StoredPart):
    delay_s: Known
    share: Known


class _Policy(_StoredPart):
    name: str
    settings_text: dict[str, Any]


class _What(_StoredPart):
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    subject: dict[str, Any]
    policy: _Policy
    slo: _Promise | None = None


class _Labels(_StoredPart):
    """Axis -> label; all of them are texts."""

    policy: str
    __pydantic_extra__: dict[str, str] = Field(init=False)


class _StoredExperiment(_StoredPart):
    """What is asked of the file of an experiment; there may be more in it."""

    labels: _Labels
    what: _What
    code_files: list[str] = []
    least_size: bool = False


class _Exclusion(_StoredPart):
    where: dict[str, Any]
    why: str


class _StoredPlan(_StoredPart):
    exclude: list[_Exclusion] = []


class _Machine(_StoredPart):
    __pydantic_extra__: dict[str, str | int | float | None] = Field(init=False)


class _Environment(_StoredPart):
    commit: str | None = None
    machine: _Machine = _Machine()
    versions: dict[str, str] = {}


def read_experiment_file(file: Path) -> dict[str, Any]:
    """What was run, and its labels in the plan."""
    return _read(file, read_input(file), _StoredExperiment)


def read_environment_file(file: Path) -> dict[str, Any]:
    """Where a run came from; empty where that cannot be read."""
    try:
        return _read(file, read_input(file), _Environment)
    except UNREADABLE:
        return {}


def read_plan_file(file: Path) -> tuple[str | None, dict[str, Any]]:
    """The name of the plan that was run, and the plan; empty where that cannot be read."""
    try:
        first, _, rest = read_input(file).partition("\n")
        return sanitizer().line(first.removeprefix("# ")), _read(file, rest, _StoredPlan)
    except UNREADABLE:
        return None, {}


def read_rows(file: Path, schema: pa.Schema) -> list[dict[str, Any]]:
    """The rows of a table. What is no number is unknown."""
    with open_input(file) as content:
        _check_rows(file, content)
        content.seek(0)
        table = pq.read_table(content, schema=schema)
    return [{name: _believe(value) for name, value in row.items()} for row in table.to_pylist()]


def check_table(file: Path) -> None:
    """UNREADABLE where a table is not whole."""
    with open_input(file) as content:
        _check_rows(file, content)


def _check_rows(file: Path, content: BinaryIO) -> None:
    if (rows := pq.read_metadata(content).num_rows) > MOST_ROWS:
        raise ValueError(f"{file}: {rows:,} rows")


def _read(file: Path, text: str, form: type[BaseModel]) -> dict[str, Any]:
    document = json.loads(text, parse_float=_read_number, parse_constant=_read_number)
    if is_deep(document):
        raise ValueError(f"{file}: nested deeper than any writer does")
    form.model_validate(document)
    found: dict[str, Any] = sanitizer().texts(document)
    return found


def _read_number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no number")
    return number


def _believe(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return sanitizer().line(value) if isinstance(value, str) else value

"""A published table as it lies on disk: CSV, lines that begin with # are remarks."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from elastream.core.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNumber:
    """A number that a document tells of its runs, and when ours counts as the same."""

    title: str
    tolerance: float = 0.25
    """Relative: repetitions of one run differ by about so much, and documents have one."""
    floor: float = 0.0
    """Absolute: what the document could not have told apart."""
    most: float = math.inf
    """The most that it can be; 1 for a share."""

    def agrees(self, told: float, found: float) -> bool:
        """Whether both say the same."""
        return abs(found - told) <= max(self.tolerance * abs(told), self.floor)


def read_published(file: Path) -> list[dict[str, str]]:
    """Its rows, by heading; BadInput if it is no table."""
    try:
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadInput(f"{file}: cannot be read: {wrong}") from None
    rows = list(csv.DictReader(lines))
    if not rows:
        raise BadInput(f"{file}: there are no rows")
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise BadInput(f"{file}: row {number} has not as many cells as the first line has headings")
    return rows


def read_value(row: dict[str, str], column: str) -> float | None:
    """The number in a cell; None where the document has none."""
    if column not in row:
        raise BadInput(f"there is no column {column!r}; it has {', '.join(row)}")
    text = row[column].strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{column}: {text!r} is no number") from None

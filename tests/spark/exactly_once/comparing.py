"""Record by record: what is missing, and what is there that should not be."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.spark.exactly_once.computed import Rows

# Enough to see what they have in common.
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Rows whose number is another one than expected, and by how many."""

    name: str
    columns: Sequence[str]
    expected: int
    found: int
    missing: Rows
    extra: Rows
    lost: int
    doubled: int

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.found:,} rows for {self.expected:,}: {self.lost:,} missing, {self.doubled:,} too many"
        ]
        for word, rows in (("missing", self.missing), ("too many", self.extra)):
            for row in rows[:SHOWN].tolist():
                values = ", ".join(f"{column}={value}" for column, value in zip(self.columns, row, strict=True))
                lines.append(f"  {word}: {values}")
            if len(rows) > SHOWN:
                lines.append(f"  {word}: and {len(rows) - SHOWN:,} others")
        return "\n".join(lines)


def difference(name: str, columns: Sequence[str], expected: Rows, found: Rows) -> Difference:
    """Both as bags of rows: order does not matter, number does."""
    rows, which = np.unique(np.concatenate([expected, found]), axis=0, return_inverse=True)
    which = which.reshape(-1)
    wanted = np.bincount(which[: len(expected)], minlength=len(rows))
    surplus = np.bincount(which[len(expected) :], minlength=len(rows)) - wanted
    return Difference(
        name=name,
        columns=columns,
        expected=len(expected),
        found=len(found),
        missing=rows[surplus < 0],
        extra=rows[surplus > 0],
        lost=int(-surplus[surplus < 0].sum()),
        doubled=int(surplus[surplus > 0].sum()),
    )

"""Record by record: what is missing, and what is there that should not be."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

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
    table = pd.DataFrame(np.concatenate([expected, found]))
    weights = np.repeat([-1, 1], [len(expected), len(found)])
    surplus = pd.Series(weights).groupby([table[column] for column in table.columns]).sum()
    surplus = surplus[surplus != 0]
    rows = surplus.index.to_frame().to_numpy(dtype=np.int64)
    times = surplus.to_numpy()
    return Difference(
        name=name,
        columns=columns,
        expected=len(expected),
        found=len(found),
        missing=rows[times < 0],
        extra=rows[times > 0],
        lost=int(-times[times < 0].sum()),
        doubled=int(times[times > 0].sum()),
    )

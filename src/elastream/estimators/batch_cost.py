"""What a batch costs: slot-seconds per record, and slot-seconds whatever it reads.

Rows over time is no capacity: a batch that read all there was is as long as its rows need, at every size. The cost of
a row is the slope over batches of different sizes.
"""

from collections.abc import Sequence
from typing import NamedTuple

# With batches more alike than this (standard deviation over mean of rows), the slope is noise.
_MIN_SPREAD = 0.1


class BatchCost(NamedTuple):
    """Slot-seconds of a batch = per_batch + per_record x rows."""

    per_record_s: float
    per_batch_s: float

    def slot_s(self, rows: float) -> float:
        """Slot-seconds of a batch of that many rows."""
        return self.per_batch_s + self.per_record_s * rows


def batch_cost(batches: Sequence[Sequence[float]]) -> BatchCost | None:
    """Fit (rows, slot-seconds) of finished batches; None without any rows.

    Where batches are too alike to tell the two costs apart, all is put on the rows: too high for small batches, and
    right where it matters, at the size that was seen.
    """
    rows = [batch[0] for batch in batches]
    busy = [batch[1] for batch in batches]
    total = sum(rows)
    if total <= 0:
        return None
    ratio = BatchCost(sum(busy) / total, 0.0)
    mean_rows, mean_busy = total / len(rows), sum(busy) / len(busy)
    variance = sum((n - mean_rows) ** 2 for n in rows) / len(rows)
    if variance <= (_MIN_SPREAD * mean_rows) ** 2:
        return ratio
    slope = sum((n - mean_rows) * (b - mean_busy) for n, b in zip(rows, busy, strict=True)) / len(rows) / variance
    fixed = mean_busy - slope * mean_rows
    return BatchCost(slope, fixed) if slope > 0 and fixed >= 0 else ratio

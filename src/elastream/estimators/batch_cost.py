"""What a batch costs: slot-seconds per record, and slot-seconds whatever it reads.

Rows over time is no capacity: a batch that read all there was is as long as its rows need, at every size. The cost of
a row is the slope over batches of different sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# With batches more alike than this (standard deviation over mean of rows), the slope is noise.
_MIN_SPREAD = 0.1
# Fewer batches than this may all have met the same accident: a cold executor, a long collection of garbage, a first
# batch that loads classes. It may cost so many times what others will.
_FEW, _SEVERAL = 3, 4.0
# So many times larger than any that was seen: as far as two costs that were told apart are trusted, and one was not.
_FAR, NEAR = 20.0, 1.5
# A batch that took so many times what the others say met an accident.
_ACCIDENT = 2.0
# Spark tells milliseconds; a thousandth of one is nothing that was measured.
_LEAST_S = 1e-6

Batch = Sequence[float]
"""Rows and slot-seconds."""


class Doubt(NamedTuple):
    """Why a cost says little about a batch, and what part of it is sure all the same."""

    reason: str
    sure: float


class BatchCost(NamedTuple):
    """Slot-seconds of a batch = per_batch + per_record x rows."""

    per_record_s: float
    per_batch_s: float
    batches: int = 1
    """How many it was learned from."""
    most_rows: float = 0.0
    """Rows of the largest of them."""
    told_apart: bool = False
    """Whether they differed enough to tell the two costs apart; else all is put on the rows."""

    def slot_s(self, rows: float) -> float:
        """Slot-seconds of a batch of that many rows."""
        return self.per_batch_s + self.per_record_s * rows

    def likely_slot_s(self, rows: float) -> float:
        """The same, halfway in orders of magnitude where nobody knows: between all of it fixed and all on the rows."""
        if self.told_apart or rows <= self.most_rows:
            return self.slot_s(rows)
        return self.slot_s(self.most_rows) * math.sqrt(rows / self.most_rows)

    def doubt(self, rows: float) -> Doubt | None:
        """Why this says little about a batch of that many rows; None if it may be relied upon."""
        if rows > self.most_rows * (_FAR if self.told_apart else NEAR):
            # Sure is what the largest one has cost: all the rest may be the same whatever it reads.
            return Doubt(f"no batch of more than {self.most_rows:,.0f} rows was seen", self.most_rows / rows)
        if self.batches < _FEW:
            number = f"{self.batches} batch{'es' if self.batches > 1 else ''}"
            return Doubt(f"only {number} of at most {self.most_rows:,.0f} rows", 1 / _SEVERAL)
        return None


def batch_cost(batches: Sequence[Batch]) -> BatchCost | None:
    """Fit (rows, slot-seconds) of finished batches; None without any rows.

    Errors are weighed by what a batch cost, because large ones scatter more. Where batches are too alike to tell the
    two costs apart, all is put on the rows: right at the size that was seen, and doubtful elsewhere.
    """
    if sum(rows for rows, _ in batches) <= 0:
        return None
    fitted = _fit(batches)
    usual = [
        (rows, busy)
        for rows, busy in batches
        if busy < _ACCIDENT * fitted.slot_s(rows) and fitted.slot_s(rows) < _ACCIDENT * busy
    ]
    enough = _FEW <= len(usual) < len(batches) and sum(rows for rows, _ in usual) > 0
    return _fit(usual) if enough else fitted


def _fit(batches: Sequence[Batch]) -> BatchCost:
    number, most = len(batches), max(rows for rows, _ in batches)
    total = sum(rows for rows, _ in batches)
    mean = total / number
    ratio = BatchCost(sum(busy for _, busy in batches) / total, 0.0, number, most)
    if sum((rows - mean) ** 2 for rows, _ in batches) / number <= (_MIN_SPREAD * mean) ** 2:
        return ratio
    # A batch of no cost has no relative error; it weighs as the cheapest that has one.
    floor = max(_LEAST_S, min((busy for _, busy in batches if busy > 0), default=1.0))
    weights = [1.0 / max(busy, floor) ** 2 for _, busy in batches]
    whole = sum(weights)
    mean_rows = sum(w * rows for w, (rows, _) in zip(weights, batches, strict=True)) / whole
    mean_busy = sum(w * busy for w, (_, busy) in zip(weights, batches, strict=True)) / whole
    spread = sum(w * (rows - mean_rows) ** 2 for w, (rows, _) in zip(weights, batches, strict=True))
    both = sum(w * (rows - mean_rows) * (busy - mean_busy) for w, (rows, busy) in zip(weights, batches, strict=True))
    if spread <= 0:
        return ratio
    slope = both / spread
    fixed = mean_busy - slope * mean_rows
    if slope <= 0:
        return ratio
    # Less than nothing for the batch itself: then all of it is for the rows, and that is known.
    return BatchCost(slope, fixed, number, most, told_apart=True) if fixed >= 0 else ratio._replace(told_apart=True)

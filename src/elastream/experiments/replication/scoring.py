"""How far runs agree with a published table: order, relative error, and every cell that agrees or does not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median

from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.statistics import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A cell of a published table, and what was found in its place."""

    row: str
    told: float | None
    """None: the document did not run it, and there is nothing to agree with."""
    found: Estimate | None
    """None: it was not run, or does not have that number."""
    doubt: str = ""
    """Why the cell is not believed, and does not count."""
    reason: str = ""
    """Why it disagrees, where that is known."""

    @property
    def counts(self) -> bool:
        """Whether it can be scored."""
        return self.told is not None and self.found is not None and not self.doubt

    @property
    def error(self) -> float | None:
        """Relative to what was told; None where that is 0 or nothing can be said."""
        if self.told is None or self.found is None or not self.told:
            return None
        return abs(self.found.mean - self.told) / abs(self.told)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScore:
    """One column of one published table against runs."""

    table: str
    quantity: PublishedNumber
    claims: tuple[Claim, ...]

    @property
    def counted(self) -> tuple[Claim, ...]:
        """Cells that are scored."""
        return tuple(claim for claim in self.claims if claim.counts)

    def agrees(self, claim: Claim) -> bool | None:
        """Whether a cell says the same; None where that cannot be said."""
        if claim.told is None or claim.found is None:
            return None
        return self.quantity.agrees(claim.told, claim.found.mean)

    @property
    def is_told(self) -> bool:
        """Whether the document tells anything of it."""
        return any(claim.told is not None for claim in self.claims)

    @property
    def agreeing(self) -> int:
        """Cells that count and say the same."""
        return sum(self.agrees(claim) is True for claim in self.counted)

    @property
    def pairs(self) -> tuple[int, int]:
        """Of the pairs of rows that the document tells apart, those in the same order here; and how many there are."""
        apart = [(a, b) for a, b in combinations(_values(self.counted), 2) if a[0] != b[0]]
        return sum((a[0] < b[0]) == (a[1] < b[1]) and a[1] != b[1] for a, b in apart), len(apart)

    @property
    def spearman(self) -> float | None:
        """Rank correlation; None with fewer than three rows, or where all of a side are alike."""
        return find_spearman(_values(self.counted))

    @property
    def kendall(self) -> float | None:
        """The same by pairs (tau-b)."""
        return find_kendall(_values(self.counted))

    @property
    def median_error(self) -> float | None:
        """Half of the cells are at most so far off, relatively."""
        errors = [claim.error for claim in self.counted if claim.error is not None]
        return median(errors) if errors else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalScore:
    """Several tables together."""

    tables: int
    cells: int
    agreeing: int
    pairs: tuple[int, int]
    """Only within tables: what different tables tell was measured under different loads."""
    median_error: float | None
    spearman: float | None
    """Mean over the tables that have one."""


def add_up(scores: Sequence[TableScore]) -> TotalScore:
    """What they come to."""
    errors = [claim.error for score in scores for claim in score.counted if claim.error is not None]
    ranks = [score.spearman for score in scores if score.spearman is not None]
    pairs = [score.pairs for score in scores]
    return TotalScore(
        tables=len(scores),
        cells=sum(len(score.counted) for score in scores),
        agreeing=sum(score.agreeing for score in scores),
        pairs=(sum(same for same, _ in pairs), sum(apart for _, apart in pairs)),
        median_error=median(errors) if errors else None,
        spearman=fmean(ranks) if ranks else None,
    )


Pair = tuple[float, float]
"""What was told, and what was found."""
LEAST_ROWS = 3
"""Two rows are in order or not: their correlation says no more than that."""


def find_spearman(pairs: Sequence[Pair]) -> float | None:
    """Pearson's correlation of the ranks; those that are alike share the mean of their places."""
    if len(pairs) < LEAST_ROWS:
        return None
    told, found = (_rank([pair[side] for pair in pairs]) for side in (0, 1))
    middle = (len(pairs) + 1) / 2
    both = sum((a - middle) * (b - middle) for a, b in zip(told, found, strict=True))
    spread = math.sqrt(sum((a - middle) ** 2 for a in told) * sum((b - middle) ** 2 for b in found))
    return both / spread if spread else None


def find_kendall(pairs: Sequence[Pair]) -> float | None:
    """Pairs in the same order less those in the other, over what ties leave of both sides (tau-b)."""
    if len(pairs) < LEAST_ROWS:
        return None
    signs = [(_sign(a[0] - b[0]), _sign(a[1] - b[1])) for a, b in combinations(pairs, 2)]
    sides = [sum(sign[side] != 0 for sign in signs) for side in (0, 1)]
    spread = math.sqrt(sides[0] * sides[1])
    return sum(told * found for told, found in signs) / spread if spread else None


def _values(claims: Sequence[Claim]) -> list[Pair]:
    return [(claim.told, claim.found.mean) for claim in claims if claim.told is not None and claim.found is not None]


def _rank(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)

"""What the owner of a query promises, and how many records have kept it.

One definition everywhere: a bound on delay (arrival to commit) and the share of records committed within it, over the
run. `Query.is_within_slo` is the second, named figure: whether the 95th percentile of the last window is within it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

SHARE = 0.99
"""What is promised where only a bound was named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """A share of all records is committed within so many seconds of their arrival."""

    delay_s: float
    share: float = SHARE

    def sentence(self) -> str:
        """`99 % of records within 30 s`."""
        return f"{self.share * 100:g} % of records within {self.delay_s:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTime:
    """Running totals over the run. A record is judged when it is committed, or has waited for longer than the bound."""

    records: float
    """Those that were judged; it is not known of every record when it arrived."""
    within: float
    """Those that were committed within the bound."""

    @property
    def share(self) -> float | None:
        """None before any record was judged."""
        return self.within / self.records if self.records > 0 else None

    def keeps(self, slo: Slo) -> bool | None:
        """Whether the promise holds so far; None before any record was judged."""
        share = self.share
        # A share of 0.99 of 100 records is 99 of them, whatever floats make of it.
        return None if share is None else share >= slo.share - 1e-9

    def sentence(self, slo: Slo) -> str:
        """`98.71 % of 12,400 records within 30 s, 99 % promised`."""
        share = self.share
        if share is None:
            return f"no record was judged yet; promised: {slo.sentence()}"
        # Rounded down: 98.997 % of 99 % is not kept and must not read as if it were.
        shown = int(share * 10_000) / 100
        return f"{shown:g} % of {self.records:,.0f} records within {slo.delay_s:g} s, {slo.share * 100:g} % promised"


Judged = tuple[Slo, OnTime]
"""A promise, and how it was kept so far."""


def worst_of(promises: Iterable[Judged]) -> Judged | None:
    """Of several promises the one that was kept least; None before any record was judged."""
    judged = [one for one in promises if one[1].share is not None]
    return min(judged, key=lambda one: (one[1].share or 0.0) / one[0].share, default=None)

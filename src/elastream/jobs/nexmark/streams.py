"""The streams of Nexmark's queries, and settings that several of them have."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from elastream.core.errors import BadInput
from elastream.jobs.job import Stream
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import Column

_NO_HOT_ONES = MappingProxyType({"hotAuctionRatio": "1", "hotSellersRatio": "1", "hotBiddersRatio": "1"})
# In cents, ten billion dollars: whatever a query makes of so much fits into its numbers, and a day's sum of them too.
_MOST = 10**12
_SOUND = {
    "persons": "id >= 0 AND name IS NOT NULL AND city IS NOT NULL AND state IS NOT NULL",
    "auctions": "id >= 0 AND seller >= 0 AND category IS NOT NULL"
    f" AND coalesce(initial_bid, 0) BETWEEN 0 AND {_MOST} AND coalesce(reserve, 0) BETWEEN 0 AND {_MOST}"
    " AND expires BETWEEN event_time AND event_time + INTERVAL '366 days'",
    "bids": f"auction >= 0 AND bidder >= 0 AND price BETWEEN 0 AND {_MOST}",
}
"""No number of these is negative, and no auction lasts longer than a year."""


@dataclass(frozen=True, kw_only=True)
class Skewed:
    """What every query has to choose."""

    hot: bool = setting(True, doc="some auctions, sellers and bidders have more than their share, as published")
    bid_proportion: int | None = setting(
        None, doc="bids that come with a person and three auctions; none: what the option bidProportion says, or 46"
    )

    def stream(self, name: str) -> Stream:
        """One that this query reads. Those that it does not read are no part of its load."""
        options = {"stream": name}
        if not self.hot:
            options |= _NO_HOT_ONES
        if self.bid_proportion is not None:
            options["bidProportion"] = str(self.bid_proportion)
        return Stream(
            name=name, generator="nexmark", options=MappingProxyType(options), share=None, sound=_SOUND[name]
        )  # fmt: skip


def best_first() -> Column:
    """An order of bids: by price and, of equal prices, the earliest and the one made first before the others."""
    from pyspark.sql import functions as sf

    # The least number has no opposite, but it has a complement.
    return sf.struct("price", -sf.unix_micros("event_time"), sf.bitwise_not("offset"))


def microseconds(seconds: float) -> int:
    """What both engines count in."""
    return round(seconds * 1e6)


def interval(seconds: float) -> str:
    """A duration as Spark reads it."""
    return f"{microseconds(seconds)} microseconds"


def check_positive(name: str, **durations_s: float | None) -> None:
    """Refuse a duration that is none."""
    for key, value in durations_s.items():
        if value is not None and value <= 0:
            raise BadInput(f"job {name}: {key}: found {value:g}; it must be more than 0")


def check_watermark(name: str, watermark_s: float) -> None:
    """Refuse a watermark ahead of the events."""
    if watermark_s < 0:
        raise BadInput(f"job {name}: watermark_s: found {watermark_s:g}; it must be 0 or more")

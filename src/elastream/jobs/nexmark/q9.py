"""Nexmark's query 9: winning bids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elastream.jobs.job import jobs
from elastream.jobs.nexmark.winning import Winning

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ASKED = ("item_name", "description", "initial_bid", "reserve", "seller", "category", "extra")


@jobs.register("nexmark-q9")
@dataclass(frozen=True, kw_only=True)
class WinningBids(Winning):
    """Every auction with its highest bid, of equal ones the earliest: when the auction is over.

    The published query tells of an auction whenever a bid is higher than those before it.
    """

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """A join in which both sides are forgotten, and one row of each auction."""
        from pyspark.sql import functions as sf

        def time(microseconds: str, name: str) -> Column:
            return sf.timestamp_micros(microseconds).alias(name)

        return self.winners(streams, *_ASKED).select(
            "id", "item_name", "description", "initial_bid", "reserve", time("opened_us", "event_time"), "expires",
            "seller", "category", "extra", sf.col("id").alias("auction"), "bid.bidder", "bid.price",
            time("bid.placed_us", "bid_event_time"), "bid.bid_extra",
        )  # fmt: skip

    @property
    def answer(self) -> str:
        return f"""
            SELECT id, item_name, description, initial_bid, reserve, event_time, expires, seller, category, extra,
                id AS auction, bidder, price, bid_event_time, bid_extra, first_time, last_time
            FROM {self.winners_answer(*_ASKED)}
        """

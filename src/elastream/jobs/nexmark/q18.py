"""Nexmark's query 18: the last bid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q18")
@dataclass(frozen=True, kw_only=True)
class LastBids(Skewed):
    """The newest bid of each bidder for each auction, told again whenever there is a newer one.

    As published, bidders and their auctions are remembered for good. Of bids of one time, of which the published query
    takes any, the one made last counts.
    """

    result: ClassVar[Result] = Result(mode="update", key=("bidder", "auction"))
    answer: ClassVar[str] = """
        SELECT auction, bidder, price, channel, url, event_time, extra,
            min(event_time) OVER (PARTITION BY bidder, auction) AS first_time, event_time AS last_time
        FROM bids
        QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY event_time DESC, "offset" DESC) = 1
    """

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """One bid is kept for each pair of bidder and auction."""
        from pyspark.sql import functions as sf

        bid = sf.struct("price", "channel", "url", "event_time", "extra")
        newest = sf.max_by(bid, sf.struct("event_time", "offset"))
        told = streams["bids"].groupBy("auction", "bidder").agg(newest.alias("bid"))
        return told.select("auction", "bidder", "bid.*")

"""Nexmark's query 20: bids with what is sold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed, check_positive, check_watermark, interval, microseconds
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q20")
@dataclass(frozen=True, kw_only=True)
class ExpandedBids(Skewed):
    """Every bid for an auction of one category, joined with that auction.

    As published, both sides are remembered for good. With a time to live, a bid and its auction are joined if no more
    than that lies between them.
    """

    category: int = setting(10, doc="of the auctions")
    ttl_s: float | None = setting(None, doc="how long an auction or a bid is remembered, in event time")
    watermark_s: float = setting(4.0, doc="how late an event may be; only with a time to live")

    result: ClassVar[Result] = Result()

    def __post_init__(self) -> None:
        check_positive("nexmark-q20", ttl_s=self.ttl_s)
        check_watermark("nexmark-q20", self.watermark_s)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("auctions"), self.stream("bids"))

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """A bid may come before its auction, so bids are remembered too."""
        from pyspark.sql import functions as sf

        bids = streams["bids"].select(
            "auction", "bidder", "price", "channel", "url",
            sf.col("event_time").alias("bid_event_time"), sf.col("extra").alias("bid_extra"),
        )  # fmt: skip
        wanted = streams["auctions"].where(sf.col("category") == self.category)
        auctions = wanted.select(
            "id", "item_name", "description", "initial_bid", "reserve",
            sf.col("event_time").alias("auction_event_time"), "expires", "seller", "category",
            sf.col("extra").alias("auction_extra"),
        )  # fmt: skip
        matching = sf.col("auction") == sf.col("id")
        if self.ttl_s is not None:
            ttl = sf.expr(f"INTERVAL {interval(self.ttl_s)}")
            bids = bids.withWatermark("bid_event_time", interval(self.watermark_s))
            auctions = auctions.withWatermark("auction_event_time", interval(self.watermark_s))
            matching &= sf.col("bid_event_time").between(
                sf.col("auction_event_time") - ttl, sf.col("auction_event_time") + ttl
            )
        return bids.join(auctions, matching).drop("id")

    @property
    def answer(self) -> str:
        ttl = ""
        if self.ttl_s is not None:
            apart = "abs(epoch_us(auctions.event_time) - epoch_us(bids.event_time))"
            ttl = f"AND {apart} <= {microseconds(self.ttl_s)}"
        return f"""
            SELECT auction, bidder, price, channel, url, bids.event_time AS bid_event_time, bids.extra AS bid_extra,
                item_name, description, initial_bid, reserve, auctions.event_time AS auction_event_time, expires,
                seller, category, auctions.extra AS auction_extra,
                least(bids.event_time, auctions.event_time) AS first_time,
                greatest(bids.event_time, auctions.event_time) AS last_time
            FROM bids, auctions
            WHERE auction = auctions.id AND category = {self.category} {ttl}
        """

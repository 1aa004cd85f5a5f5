"""Winning bids, which Nexmark's queries 4, 6 and 9 share: the highest for each auction while it was open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elastream.jobs.job import Result, Stream
from elastream.jobs.nexmark.streams import Skewed, check_positive, check_watermark, interval, microseconds
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, kw_only=True)
class Winning(Skewed):
    """What they have to choose.

    Auctions are told apart by all that a query asks of them, and an auction is over when the watermark has passed its
    end by as much as the longest one lasts: by then no bid for it is still to come.
    """

    longest_s: float = setting(20.0, doc="auctions that are to last longer are left out; bids are remembered so long")
    watermark_s: float = setting(4.0, doc="how late an event may be")

    def __post_init__(self) -> None:
        check_positive("nexmark: winning bids", longest_s=self.longest_s)
        check_watermark("nexmark: winning bids", self.watermark_s)

    @property
    def result(self) -> Result:
        """Every row comes out once, with the end of its auction."""
        return Result(is_final=True, closes_at=f"expires + to_microseconds({microseconds(self.longest_s)})")

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("auctions"), self.stream("bids"))

    def winners(self, streams: Mapping[str, DataFrame], *asked: str) -> DataFrame:
        """What is asked of each auction beside `id` and `expires`, and its best `bid`, in the order of their ends.

        Auctions bear their ends as event times, so that aggregations after the join go by those. They are ahead of
        what was read by as much as an auction lasts, and the watermark waits for so much longer.
        """
        from pyspark.sql import functions as sf

        longest = f"INTERVAL {interval(self.longest_s)}"
        auctions = streams["auctions"].where(f"expires <= event_time + {longest}")
        auctions = auctions.withWatermark("expires", interval(self.longest_s + self.watermark_s)).select(
            "id", "expires", sf.unix_micros("event_time").alias("opened_us"), *asked
        )
        bids = streams["bids"].withWatermark("event_time", interval(self.watermark_s)).select(
            "auction", "bidder", "price", sf.col("event_time").alias("placed"), sf.col("extra").alias("bid_extra"),
            sf.col("offset").alias("number"),
        )  # fmt: skip
        offers = auctions.join(
            bids,
            sf.expr(
                f"id = auction AND placed <= expires AND placed >= expires - {longest}"
                " AND unix_micros(placed) >= opened_us"
            ),
        )
        placed = sf.unix_micros("placed")
        best = sf.struct("price", -placed, sf.bitwise_not("number"), "bidder", "bid_extra")
        # Two event times in a row would be one too many for what comes after.
        bid = sf.struct("bidder", "price", placed.alias("placed_us"), "bid_extra")
        return offers.groupBy("expires", "id", "opened_us", *asked).agg(sf.max_by(bid, best).alias("bid"))

    def winners_answer(self, *asked: str) -> str:
        """In DuckDB: the same rows."""
        of_auction = ", ".join(f"auctions.{name}" for name in ("id", "expires", "event_time", *asked))
        return f"""(
            SELECT {of_auction}, bidder, price, bids.event_time AS bid_event_time, bids.extra AS bid_extra,
                auctions.event_time AS first_time, max(bids.event_time) OVER (PARTITION BY {of_auction}) AS last_time
            FROM auctions JOIN bids ON auction = id AND bids.event_time BETWEEN auctions.event_time AND expires
            WHERE epoch_us(expires) - epoch_us(auctions.event_time) <= {microseconds(self.longest_s)}
            QUALIFY row_number() OVER (
                PARTITION BY {of_auction}
                ORDER BY price DESC, bids.event_time, bids."offset", bidder DESC, bids.extra DESC NULLS LAST
            ) = 1
        )"""

"""Nexmark's query 7: the highest bid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed, check_positive, check_watermark, interval, microseconds
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q7")
@dataclass(frozen=True, kw_only=True)
class HighestBids(Skewed):
    """The bids with the highest price of their window, several if they bid equally much.

    Published as a join of all bids with the highest prices of windows, which counts a bid at the very end of a window
    to that one too. Here a bid belongs to one window, and bids are read once.
    """

    window_s: float = setting(10.0, doc="size of the window")
    watermark_s: float = setting(4.0, doc="how late a bid may be")

    def __post_init__(self) -> None:
        check_positive("nexmark-q7", window_s=self.window_s)
        check_watermark("nexmark-q7", self.watermark_s)

    @property
    def result(self) -> Result:
        size = microseconds(self.window_s)
        return Result(is_final=True, closes_at=f"make_timestamptz((epoch_us(event_time) // {size} + 1) * {size})")

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Bids wait by their price, spread over all partitions; of prices that come out together the highest stays."""
        from pyspark.sql import functions as sf

        bids = streams["bids"].withWatermark("event_time", interval(self.watermark_s))
        window = sf.window("event_time", interval(self.window_s))
        alike = sf.collect_list(sf.struct("auction", "bidder", "price", "event_time", "extra"))
        offered = bids.groupBy(window, "price").agg(alike.alias("bids"))
        highest = offered.groupBy("window").agg(sf.max_by("bids", "price").alias("bids"))
        return highest.select(sf.inline("bids"))

    @property
    def answer(self) -> str:
        """A maximum is made of all bids of its window."""
        return f"""
            SELECT auction, bidder, price, event_time, extra,
                min(event_time) OVER turn AS first_time, max(event_time) OVER turn AS last_time
            FROM bids
            WINDOW turn AS (PARTITION BY epoch_us(event_time) // {microseconds(self.window_s)})
            QUALIFY price = max(price) OVER turn
        """

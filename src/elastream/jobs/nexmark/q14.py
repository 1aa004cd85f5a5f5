"""Nexmark's query 14: some arithmetic, a label and a count of letters for the bids of a middle range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q14")
@dataclass(frozen=True, kw_only=True)
class Calculation(Skewed):
    """Converted bids of a range of prices, with the time of day and how often a letter stands in their filler."""

    above: int = setting(1_000_000, doc="the converted price must be more than this")
    below: int = setting(50_000_000, doc="and less than this")

    result: ClassVar[Result] = Result()

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """The published function for letters is one of the user's own; here it is a difference of lengths."""
        from pyspark.sql import functions as sf

        price = sf.expr("CAST(price AS DECIMAL(18, 0)) * CAST('0.908' AS DECIMAL(4, 3))")
        return (
            streams["bids"]
            .withColumn("price", price)
            .where(f"price > {self.above} AND price < {self.below}")
            .selectExpr(
                "auction",
                "bidder",
                "price",
                "CASE WHEN hour(event_time) BETWEEN 8 AND 18 THEN 'dayTime'"
                " WHEN hour(event_time) <= 6 OR hour(event_time) >= 20 THEN 'nightTime'"
                " ELSE 'otherTime' END AS bid_time_type",
                "event_time",
                "extra",
                "CAST(length(extra) - length(replace(extra, 'c')) AS BIGINT) AS c_counts",
            )
        )

    @property
    def answer(self) -> str:
        return f"""
            SELECT auction, bidder, price * 0.908::DECIMAL(4, 3) AS price,
                ['nightTime', 'otherTime', 'dayTime', 'otherTime', 'nightTime'][list_position(
                    [hour(event_time) <= 6, hour(event_time) = 7, hour(event_time) <= 18, hour(event_time) = 19, true],
                    true
                )] AS bid_time_type,
                event_time, extra, len(string_split(extra, 'c')) - 1 AS c_counts,
                event_time AS first_time, event_time AS last_time
            FROM bids
            WHERE price * 908 > {self.above * 1_000} AND price * 908 < {self.below * 1_000}
        """

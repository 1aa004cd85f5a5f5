"""Nexmark's query 17: what is bid for an auction in a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.ranks import RANKED, counts, date, day, of_ranks
from elastream.jobs.nexmark.streams import Skewed, check_watermark, interval
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q17")
@dataclass(frozen=True, kw_only=True)
class AuctionStatistics(Skewed):
    """Bids for each auction and day, by the rank of their price, and their prices: told again whenever they change.

    The average is in whole cents, the rest cut off, as published. A day is forgotten when it is over, where the
    published query remembers every day.
    """

    watermark_s: float = setting(4.0, doc="how late a bid of a day that is over may be")

    result: ClassVar[Result] = Result(mode="update", key=("auction", "day"))

    def __post_init__(self) -> None:
        check_watermark("nexmark-q17", self.watermark_s)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Running totals, a few numbers for each auction and day."""
        from pyspark.sql import functions as sf

        bids = streams["bids"].withWatermark("event_time", interval(self.watermark_s))
        totals = bids.groupBy("auction", day()).agg(
            sf.count(sf.lit(1)).alias("total_bids"),
            *of_ranks("_bids"),
            sf.min("price").alias("min_price"),
            sf.max("price").alias("max_price"),
            sf.expr("sum(price) DIV count(1)").alias("avg_price"),
            sf.sum("price").alias("sum_price"),
        )
        return totals.withColumn("day", date())

    @property
    def answer(self) -> str:
        return f"""
            SELECT auction, day, {counts("*", "bids")}, min(price) AS min_price, max(price) AS max_price,
                (sum(price) // count(*))::BIGINT AS avg_price, sum(price)::BIGINT AS sum_price,
                min(event_time) AS first_time, max(event_time) AS last_time
            FROM {RANKED} GROUP BY auction, day
        """

"""Nexmark's query 16: who bids how much in a day by which channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.ranks import DAY_IS_OVER, RANKED, distinct_answer, distinct_counts
from elastream.jobs.nexmark.streams import Skewed, check_watermark, interval
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q16")
@dataclass(frozen=True, kw_only=True)
class ChannelStatistics(Skewed):
    """The statistics of query 15 for each channel, with the minute of its last bid: when the day is over.

    The published query tells of a day whenever a bid comes.
    """

    watermark_s: float = setting(4.0, doc="how late a bid may be")

    result: ClassVar[Result] = Result(is_final=True, closes_at=DAY_IS_OVER)
    answer: ClassVar[str] = f"""
        SELECT channel, day, max(strftime(event_time, '%H:%M')) AS minute, {distinct_answer()},
            min(event_time) AS first_time, max(event_time) AS last_time
        FROM {RANKED} GROUP BY channel, day
    """

    def __post_init__(self) -> None:
        check_watermark("nexmark-q16", self.watermark_s)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Two aggregations: the first keeps every bidder and auction of a channel and day."""
        from pyspark.sql import functions as sf

        bids = streams["bids"].withWatermark("event_time", interval(self.watermark_s))
        counted = distinct_counts(bids, "channel")
        return counted.withColumn("minute", sf.date_format("newest", "HH:mm")).drop("newest")

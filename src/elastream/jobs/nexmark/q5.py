"""Nexmark's query 5: hot items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.core.errors import BadInput
from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed, check_positive, check_watermark, interval, microseconds
from elastream.jobs.windows import bounds
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q5")
@dataclass(frozen=True, kw_only=True)
class HotItems(Skewed):
    """The auctions with the most bids of a sliding window, several if they have equally many."""

    window_s: float = setting(10.0, doc="size of the window")
    slide_s: float = setting(2.0, doc="from one window to the next")
    most: bool = setting(True, doc="only the auctions with the most bids; otherwise the bids of every auction")
    watermark_s: float = setting(4.0, doc="how late a bid may be")

    result: ClassVar[Result] = Result(is_final=True)

    def __post_init__(self) -> None:
        check_positive("nexmark-q5", window_s=self.window_s, slide_s=self.slide_s)
        check_watermark("nexmark-q5", self.watermark_s)
        if self.slide_s > self.window_s:
            raise BadInput(
                f"job nexmark-q5: slide_s: found {self.slide_s:g}; it may be up to window_s, which is {self.window_s:g}"
            )

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Counts of a window come out together, so its list is there for one batch: a pair for each auction in it."""
        from pyspark.sql import functions as sf

        bids = streams["bids"].withWatermark("event_time", interval(self.watermark_s))
        window = sf.window("event_time", interval(self.window_s), interval(self.slide_s))
        counted = bids.groupBy(window, "auction").agg(sf.count(sf.lit(1)).alias("bids"))
        if self.most:
            pairs = sf.collect_list(sf.struct("auction", "bids"))
            listed = counted.groupBy("window").agg(sf.max("bids").alias("most"), pairs.alias("pairs"))
            hot = sf.filter("pairs", lambda pair: pair["bids"] == sf.col("most"))
            counted = listed.select("window", sf.inline(hot))
        return counted.select("auction", "bids", *bounds())

    @property
    def answer(self) -> str:
        window_us, slide_us = microseconds(self.window_s), microseconds(self.slide_s)
        return f"""
            WITH placed AS (
                SELECT auction, event_time, epoch_us(event_time) AS us,
                    unnest(range(us - us % {slide_us}, us - {window_us}, -{slide_us})) AS opens
                FROM bids
            ), counted AS (
                SELECT auction, opens, count(*) AS bids, min(event_time) AS first_time, max(event_time) AS last_time
                FROM placed GROUP BY auction, opens
            )
            SELECT auction, bids, make_timestamptz(opens) AS window_start,
                make_timestamptz(opens + {window_us}) AS window_end, {self._times}
            FROM counted
            {"QUALIFY bids = max(bids) OVER (PARTITION BY opens)" if self.most else ""}
        """

    @property
    def _times(self) -> str:
        """A maximum is made of all bids of its window."""
        if not self.most:
            return "first_time, last_time"
        return """min(first_time) OVER (PARTITION BY opens) AS first_time,
                max(last_time) OVER (PARTITION BY opens) AS last_time"""


jobs.preset(
    "nexmark-q5-kanis",
    of="nexmark-q5",
    doc="query 5 as Kanis' thesis ran it: the bids of every auction over 5 minutes, every minute, ten bids per person,"
    " no hot keys",
    window_s=300.0,
    slide_s=60.0,
    most=False,
    hot=False,
    bid_proportion=10,
)

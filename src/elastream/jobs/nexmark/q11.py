"""Nexmark's query 11: how much a bidder bids in one go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed, check_positive, check_watermark, interval, microseconds
from elastream.jobs.windows import bounds
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q11")
@dataclass(frozen=True, kw_only=True)
class UserSessions(Skewed):
    """Bids of a bidder in a session, which ends when nothing is heard for a while."""

    gap_s: float = setting(10.0, doc="silence that ends a session; it goes on if the next bid comes exactly then")
    watermark_s: float = setting(4.0, doc="how late a bid may be")

    result: ClassVar[Result] = Result(is_final=True)

    def __post_init__(self) -> None:
        check_positive("nexmark-q11", gap_s=self.gap_s)
        check_watermark("nexmark-q11", self.watermark_s)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """A session comes out once, when the watermark has passed it; a bid that touches it later begins another."""
        from pyspark.sql import functions as sf

        bids = streams["bids"].withWatermark("event_time", interval(self.watermark_s))
        session = sf.session_window("event_time", interval(self.gap_s)).alias("session")
        counted = bids.groupBy("bidder", session).agg(sf.count(sf.lit(1)).alias("bids"))
        return counted.select("bidder", "bids", *bounds("session"))

    @property
    def answer(self) -> str:
        gap = f"to_microseconds({microseconds(self.gap_s)})"
        return f"""
            WITH begun AS (
                SELECT bidder, event_time, coalesce(event_time - lag(event_time) OVER turn > {gap}, true) AS begins
                FROM bids WINDOW turn AS (PARTITION BY bidder ORDER BY event_time)
            ), numbered AS (
                SELECT bidder, event_time, count(*) FILTER (begins) OVER (
                    PARTITION BY bidder ORDER BY event_time RANGE UNBOUNDED PRECEDING
                ) AS session
                FROM begun
            )
            SELECT bidder, count(*) AS bids, min(event_time) AS window_start, max(event_time) + {gap} AS window_end,
                min(event_time) AS first_time, max(event_time) AS last_time
            FROM numbered GROUP BY bidder, session
        """


jobs.preset(
    "nexmark-q11-kanis",
    of="nexmark-q11",
    doc="query 11 as in Kanis' thesis: ten bids per person, no hot keys",
    hot=False,
    bid_proportion=10,
)

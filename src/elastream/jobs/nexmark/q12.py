"""Nexmark's query 12: bids of a bidder in a window of processing time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed, check_positive, interval, microseconds
from elastream.jobs.windows import bounds
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q12")
@dataclass(frozen=True, kw_only=True)
class ProcessingTime(Skewed):
    """Bids of a bidder in windows of the time at which they are read, told again whenever they change.

    Bids of a batch are read at one time: when the batch begins, also if it has to be done again. In which window a bid
    falls is decided by when it was read, so no two runs have the same rows. What is compared is what must hold
    for every run: the windows are windows, there is one row of each bidder in each, and every bid is counted in exactly
    one of them.
    """

    window_s: float = setting(10.0, doc="size of the window")

    answer: ClassVar[str] = """
        SELECT bidder, count(*) AS bids, true AS in_windows,
            min(event_time) AS first_time, max(event_time) AS last_time
        FROM bids GROUP BY bidder
    """

    @property
    def result(self) -> Result:
        size = microseconds(self.window_s)
        return Result(
            mode="update",
            key=("bidder", "window_start"),
            compared=f"""
                SELECT bidder, sum(bids)::BIGINT AS bids, bool_and(
                    epoch_us(window_start) % {size} = 0 AND epoch_us(window_end) - epoch_us(window_start) = {size}
                ) AS in_windows
                FROM found GROUP BY bidder
            """,
        )

    def __post_init__(self) -> None:
        check_positive("nexmark-q12", window_s=self.window_s)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """A window is forgotten one window after its end, so that a clock may be set back by as much."""
        from pyspark.sql import functions as sf

        size = interval(self.window_s)
        bids = streams["bids"].select("bidder", sf.current_timestamp().alias("read_at")).withWatermark("read_at", size)
        counted = bids.groupBy("bidder", sf.window("read_at", size)).agg(sf.count(sf.lit(1)).alias("bids"))
        return counted.select("bidder", "bids", *bounds())

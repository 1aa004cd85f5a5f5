"""Nexmark's query 10: bids in files by the minute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q10")
@dataclass(frozen=True, kw_only=True)
class FilesByTheMinute(Skewed):
    """Every bid with its day and minute; in files, a folder for each of them.

    Published with files of lines that are closed a minute after their time. Here a batch writes the files of its own
    bids in Parquet, and a reader takes those that are committed.
    """

    result: ClassVar[Result] = Result(folders=("dt", "hm"))
    answer: ClassVar[str] = """
        SELECT auction, bidder, price, event_time, extra,
            strftime(event_time, '%Y-%m-%d') AS dt, strftime(event_time, '%H:%M') AS hm,
            event_time AS first_time, event_time AS last_time
        FROM bids
    """

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Two columns more, from which the folders are made."""
        from pyspark.sql import functions as sf

        bids = streams["bids"].select("auction", "bidder", "price", "event_time", "extra")
        times = {"dt": sf.date_format("event_time", "yyyy-MM-dd"), "hm": sf.date_format("event_time", "HH:mm")}
        return bids.withColumns(times)

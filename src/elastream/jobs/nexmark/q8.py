"""Nexmark's query 8: new persons who sell at once."""

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


@jobs.register("nexmark-q8")
@dataclass(frozen=True, kw_only=True)
class NewSellers(Skewed):
    """Persons with an auction in the window in which they are new: two streams, joined window by window."""

    window_s: float = setting(10.0, doc="size of the window, in which both must be")
    watermark_s: float = setting(4.0, doc="how late an event may be")

    result: ClassVar[Result] = Result()

    def __post_init__(self) -> None:
        check_positive("nexmark-q8", window_s=self.window_s)
        check_watermark("nexmark-q8", self.watermark_s)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("persons"), self.stream("auctions"))

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Persons and sellers count once in a window, with their first event: a row comes out when both are there."""
        from pyspark.sql import functions as sf

        window = sf.window("event_time", interval(self.window_s)).alias("window")
        persons = streams["persons"].withWatermark("event_time", interval(self.watermark_s))
        auctions = streams["auctions"].withWatermark("event_time", interval(self.watermark_s))
        new = persons.select("id", "name", window).dropDuplicates(["id", "name", "window"])
        sellers = auctions.select(sf.col("seller").alias("id"), window).dropDuplicates(["id", "window"])
        found = new.join(sellers, ["id", "window"])
        return found.select("id", "name", *bounds())

    @property
    def answer(self) -> str:
        window_us = microseconds(self.window_s)
        return f"""
            WITH new AS (
                SELECT id, name, epoch_us(event_time) // {window_us} AS turn, min(event_time) AS event_time
                FROM persons GROUP BY ALL
            ), selling AS (
                SELECT seller, epoch_us(event_time) // {window_us} AS turn, min(event_time) AS event_time
                FROM auctions GROUP BY ALL
            )
            SELECT id, name, make_timestamptz(new.turn * {window_us}) AS window_start,
                make_timestamptz((new.turn + 1) * {window_us}) AS window_end,
                least(new.event_time, selling.event_time) AS first_time,
                greatest(new.event_time, selling.event_time) AS last_time
            FROM new JOIN selling ON new.id = selling.seller AND new.turn = selling.turn
        """


jobs.preset(
    "nexmark-q8-kanis",
    of="nexmark-q8",
    doc="query 8 as in Kanis' thesis: no hot keys",
    hot=False,
    bid_proportion=10,
)

"""Nexmark's query 13: bids with what a table says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.core.errors import BadInput
from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q13")
@dataclass(frozen=True, kw_only=True)
class SideInput(Skewed):
    """Every bid joined with a table that does not change: one stage, no state.

    The published table is a file of keys and texts. Here a text is the MD5 sum of its key, and the table is made for
    every batch, as a file would be read for every batch.
    """

    keys: int = setting(10_000, doc="rows of the table; a bid takes that of its auction's number modulo this")

    result: ClassVar[Result] = Result()

    def __post_init__(self) -> None:
        if self.keys < 1:
            raise BadInput(f"job nexmark-q13: keys: found {self.keys}; it must be 1 or more")

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """A copy of the table for every executor, so that bids stay where they are."""
        from pyspark.sql import functions as sf

        bids = streams["bids"]
        table = bids.sparkSession.range(self.keys).select(
            sf.col("id").alias("key"), sf.md5(sf.col("id").cast("string").cast("binary")).alias("value")
        )
        found = bids.join(sf.broadcast(table), sf.col("auction") % self.keys == sf.col("key"))
        return found.select("auction", "bidder", "price", "event_time", "value")

    @property
    def answer(self) -> str:
        return f"""
            SELECT auction, bidder, price, event_time, md5((auction % {self.keys})::VARCHAR) AS value,
                event_time AS first_time, event_time AS last_time
            FROM bids
        """

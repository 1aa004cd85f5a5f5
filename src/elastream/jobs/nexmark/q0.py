"""Nexmark's query 0: bids as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q0")
@dataclass(frozen=True, kw_only=True)
class PassThrough(Skewed):
    """Every bid as it is, without its channel and address: what everything around a query costs."""

    result: ClassVar[Result] = Result()
    answer: ClassVar[str] = """
        SELECT auction, bidder, price, event_time, extra, event_time AS first_time, event_time AS last_time FROM bids
    """

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        return streams["bids"].select("auction", "bidder", "price", "event_time", "extra")

"""Nexmark's query 2: the bids for a few auctions."""

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


@jobs.register("nexmark-q2")
@dataclass(frozen=True, kw_only=True)
class Selection(Skewed):
    """Auction and price of the bids whose auction is a multiple of a number: one stage, no state, few results."""

    multiples: tuple[int, ...] = setting((123,), doc="of one of these an auction's number must be a multiple")

    result: ClassVar[Result] = Result()

    def __post_init__(self) -> None:
        if not self.multiples or min(self.multiples) < 1:
            raise BadInput(f"job nexmark-q2: multiples: found {self.multiples}; there must be one, and all from 1")

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """A filter."""
        wanted = " OR ".join(f"auction % {number} = 0" for number in self.multiples)
        return streams["bids"].where(wanted).select("auction", "price")

    @property
    def answer(self) -> str:
        numbers = ", ".join(map(str, self.multiples))
        return f"""
            SELECT auction, price, event_time AS first_time, event_time AS last_time
            FROM bids
            WHERE EXISTS (SELECT 1 FROM unnest([{numbers}]) AS one(number) WHERE auction // number * number = auction)
        """


jobs.preset(
    "nexmark-q2-kanis",
    of="nexmark-q2",
    doc="query 2 as Kanis' thesis ran it: other auctions, ten bids per person, no hot keys",
    multiples=(1007, 1020, 2001, 2019, 2087),
    hot=False,
    bid_proportion=10,
)

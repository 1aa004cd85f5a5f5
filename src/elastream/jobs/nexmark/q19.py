"""Nexmark's query 19: the highest bids of an auction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.core.errors import BadInput
from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed, best_first
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q19")
@dataclass(frozen=True, kw_only=True)
class TopPrices(Skewed):
    """The ten highest bids of each auction with their ranks, told again whenever they have changed.

    As published, auctions are remembered for good. Of equal prices, which the published query ranks as they come, the
    earliest ranks highest.
    """

    top: int = setting(10, doc="how many bids of an auction")

    result: ClassVar[Result] = Result(mode="update", key=("auction", "rank_number"))

    def __post_init__(self) -> None:
        if self.top < 1:
            raise BadInput(f"job nexmark-q19: top: found {self.top}; it must be 1 or more")

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """An auction keeps so many bids and no more; all of them come out when one of them is new."""
        from pyspark.sql import functions as sf

        bid = sf.struct("bidder", "price", "channel", "url", "event_time", "extra")
        best = sf.max_by(bid, best_first(), self.top)
        kept = streams["bids"].groupBy("auction").agg(best.alias("best"))
        ranked = kept.select("auction", sf.posexplode("best").alias("place", "bid"))
        return ranked.select("auction", "bid.*", (sf.col("place") + 1).cast("bigint").alias("rank_number"))

    @property
    def answer(self) -> str:
        """A rank is made of all bids of its auction."""
        return f"""
            SELECT auction, bidder, price, channel, url, event_time, extra,
                row_number() OVER (PARTITION BY auction ORDER BY price DESC, event_time, "offset") AS rank_number,
                min(event_time) OVER (PARTITION BY auction) AS first_time,
                max(event_time) OVER (PARTITION BY auction) AS last_time
            FROM bids QUALIFY rank_number <= {self.top}
        """

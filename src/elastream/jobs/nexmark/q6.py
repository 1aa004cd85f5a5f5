"""Nexmark's query 6: what the last auctions of a seller have brought on average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elastream.core.errors import BadInput
from elastream.jobs.job import jobs
from elastream.jobs.nexmark.winning import Winning
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q6")
@dataclass(frozen=True, kw_only=True)
class SellerAverages(Winning):
    """The average winning price of a seller's last ten auctions: told whenever one of them is over.

    In whole cents, the rest cut off. Ten as the published text says; its SQL, which Flink refuses, takes eleven.
    Auctions count in the order of their ends, and each comes out with the average that it makes.
    """

    last: int = setting(10, doc="how many auctions of a seller")

    def __post_init__(self) -> None:
        Winning.__post_init__(self)
        if self.last < 1:
            raise BadInput(f"job nexmark-q6: last: found {self.last}; it must be 1 or more")

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """A join, one row of each auction, and a few prices of each seller, which need a processor of their own."""
        from elastream.jobs.nexmark.averages import average

        return average(self.winners(streams, "seller"), "seller", last=self.last)

    @property
    def answer(self) -> str:
        return f"""
            SELECT seller, (sum(price) OVER turn // count(*) OVER turn)::BIGINT AS average, id AS auction, expires,
                first_time, last_time
            FROM {self.winners_answer("seller")}
            WINDOW turn AS (
                PARTITION BY seller ORDER BY expires, id, event_time ROWS {self.last - 1} PRECEDING
            )
        """

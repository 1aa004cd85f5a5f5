"""Nexmark's query 4: what the auctions of a category bring on average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elastream.jobs.job import jobs
from elastream.jobs.nexmark.winning import Winning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q4")
@dataclass(frozen=True, kw_only=True)
class CategoryAverages(Winning):
    """The average winning price of a category, over all of its auctions so far: told whenever one of them is over.

    In whole cents, the rest cut off, as published. Auctions count in the order of their ends, and each comes out with
    the average that it makes.
    """

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """A join, one row of each auction, and two numbers of each category, which need a processor of their own.

        An aggregation would have to tell of a category again, which nothing behind a join can.
        """
        from elastream.jobs.nexmark.averages import average

        return average(self.winners(streams, "category"), "category", last=None)

    @property
    def answer(self) -> str:
        return f"""
            SELECT category, (sum(price) OVER turn // count(*) OVER turn)::BIGINT AS average, id AS auction, expires,
                first_time, last_time
            FROM {self.winners_answer("category")}
            WINDOW turn AS (
                PARTITION BY category ORDER BY expires, id, event_time ROWS UNBOUNDED PRECEDING
            )
        """

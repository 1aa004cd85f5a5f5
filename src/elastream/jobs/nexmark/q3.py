"""Nexmark's query 3: who sells in some states, and what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed, check_positive, check_watermark, interval, microseconds
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q3")
@dataclass(frozen=True, kw_only=True)
class LocalItems(Skewed):
    """Auctions of one category joined with sellers from some states.

    As published, both sides are remembered for good. With a time to live, an auction and its seller are joined if no
    more than that lies between them, and both are forgotten afterwards.
    """

    category: int | None = setting(10, doc="of the auctions; none: all")
    states: tuple[str, ...] = setting(("OR", "ID", "CA"), doc="of the sellers")
    ttl_s: float | None = setting(None, doc="how long a person or an auction is remembered, in event time")
    watermark_s: float = setting(4.0, doc="how late an event may be; only with a time to live")

    result: ClassVar[Result] = Result()

    def __post_init__(self) -> None:
        check_positive("nexmark-q3", ttl_s=self.ttl_s)
        check_watermark("nexmark-q3", self.watermark_s)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("persons"), self.stream("auctions"))

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Filters before the join: what is not wanted is never remembered."""
        from pyspark.sql import functions as sf

        persons = streams["persons"].where(sf.col("state").isin(*self.states))
        auctions = streams["auctions"]
        if self.category is not None:
            auctions = auctions.where(sf.col("category") == self.category)
        # Nothing else is remembered.
        persons = persons.select(
            sf.col("event_time").alias("seen"), sf.col("id").alias("person"), "name", "city", "state"
        )
        auctions = auctions.select(sf.col("event_time").alias("opened"), "seller", sf.col("id").alias("auction"))
        matching = sf.col("person") == sf.col("seller")
        if self.ttl_s is not None:
            ttl = sf.expr(f"INTERVAL {interval(self.ttl_s)}")
            persons = persons.withWatermark("seen", interval(self.watermark_s))
            auctions = auctions.withWatermark("opened", interval(self.watermark_s))
            matching &= sf.col("opened").between(sf.col("seen") - ttl, sf.col("seen") + ttl)
        return auctions.join(persons, matching).select("name", "city", "state", "auction")

    @property
    def answer(self) -> str:
        states = ", ".join("'" + state.replace("'", "''") + "'" for state in self.states)
        category = "" if self.category is None else f"AND auctions.category = {self.category}"
        ttl = ""
        if self.ttl_s is not None:
            apart = "abs(epoch_us(auctions.event_time) - epoch_us(persons.event_time))"
            ttl = f"AND {apart} <= {microseconds(self.ttl_s)}"
        return f"""
            SELECT persons.name, persons.city, persons.state, auctions.id AS auction,
                least(persons.event_time, auctions.event_time) AS first_time,
                greatest(persons.event_time, auctions.event_time) AS last_time
            FROM persons, auctions
            WHERE auctions.seller = persons.id AND persons.state IN ({states}) {category} {ttl}
        """


jobs.preset(
    "nexmark-q3-kanis",
    of="nexmark-q3",
    doc="query 3 as Kanis' thesis ran it: auctions of every category, remembered for 300 s, no hot keys",
    category=None,
    ttl_s=300.0,
    hot=False,
    bid_proportion=10,
)

"""Nexmark's query 23: bids of those who sell too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("nexmark-q23")
@dataclass(frozen=True, kw_only=True)
class BidsOfSellers(Skewed):
    """Every bid of a person who has put something up for auction, with that person and each of those auctions.

    As published, all three sides are remembered for good.
    """

    result: ClassVar[Result] = Result()
    answer: ClassVar[str] = """
        SELECT bidder, price, channel, url, bids.extra AS bid_extra,
            persons.id AS person_id, name, email, credit_card, city, state, persons.extra AS person_extra,
            item_name, description, initial_bid, reserve, auctions.event_time AS auction_event_time, expires, seller,
            category, auctions.extra AS auction_extra,
            least(bids.event_time, persons.event_time, auctions.event_time) AS first_time,
            greatest(bids.event_time, persons.event_time, auctions.event_time) AS last_time
        FROM bids, persons, auctions
        WHERE persons.id = bidder AND seller = bidder
    """

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("persons"), self.stream("auctions"), self.stream("bids"))

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Two joins by the same key, so that what the first gives out stays where it is."""
        from pyspark.sql import functions as sf

        bids = streams["bids"].select("bidder", "price", "channel", "url", sf.col("extra").alias("bid_extra"))
        persons = streams["persons"].select(
            sf.col("id").alias("person_id"), "name", "email", "credit_card", "city", "state",
            sf.col("extra").alias("person_extra"),
        )  # fmt: skip
        auctions = streams["auctions"].select(
            "item_name", "description", "initial_bid", "reserve", sf.col("event_time").alias("auction_event_time"),
            "expires", "seller", "category", sf.col("extra").alias("auction_extra"),
        )  # fmt: skip
        own = bids.join(persons, sf.col("person_id") == sf.col("bidder"))
        return own.join(auctions, sf.col("seller") == sf.col("bidder"))

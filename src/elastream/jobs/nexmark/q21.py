"""Nexmark's query 21: the number of the channel that a bid came by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A channel's number is its place here, or stands in the address.
_KNOWN = ("apple", "google", "facebook", "baidu")


@jobs.register("nexmark-q21")
@dataclass(frozen=True, kw_only=True)
class ChannelNumbers(Skewed):
    """Bids with the number of their channel, which is known or stands in the address; others are left out."""

    result: ClassVar[Result] = Result()

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Regular expressions are tried only where the channel is not known."""
        from pyspark.sql import functions as sf

        written = sf.regexp_extract("url", "[&?]channel_id=([^&]*)", 1)
        number = sf.when(written != "", written)
        for place, name in reversed(list(enumerate(_KNOWN))):
            number = sf.when(sf.lower("channel") == name, sf.lit(str(place))).otherwise(number)
        told = streams["bids"].select("auction", "bidder", "price", "channel", number.alias("channel_id"))
        return told.where("channel_id IS NOT NULL")

    @property
    def answer(self) -> str:
        written = "nullif(regexp_extract(url, '(?:^[^&]*[?]|&)channel_id=([^&]*)', 1), '')"
        known = ", ".join(f"'{name}': '{place}'" for place, name in enumerate(_KNOWN))
        return f"""
            SELECT auction, bidder, price, channel,
                coalesce(MAP {{{known}}}[lower(channel)], {written}) AS channel_id,
                event_time AS first_time, event_time AS last_time
            FROM bids WHERE channel_id IS NOT NULL
        """

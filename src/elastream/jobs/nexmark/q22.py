"""Nexmark's query 22: the folders in a bid's address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _folder(number: int) -> str:
    """In DuckDB: what stands between two slashes, or behind the last; there need not be so many."""
    before = f"(?:[^/]*/){{{number + 2}}}"
    found = f"regexp_extract(url, '^{before}([^/]*)', 1)"
    return f"CASE WHEN regexp_matches(url, '^{before}') THEN {found} END"


@jobs.register("nexmark-q22")
@dataclass(frozen=True, kw_only=True)
class Folders(Skewed):
    """Every bid with the first three folders of its address."""

    result: ClassVar[Result] = Result()
    answer: ClassVar[str] = f"""
        SELECT auction, bidder, price, channel,
            {_folder(1)} AS folder1, {_folder(2)} AS folder2, {_folder(3)} AS folder3,
            event_time AS first_time, event_time AS last_time
        FROM bids
    """

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """The address is split once; before the folders come the protocol, nothing, and the host."""
        from pyspark.sql import functions as sf

        parts = streams["bids"].withColumn("parts", sf.split("url", "/"))
        # An address that is too short has no such folder, which is null and no error.
        folders = [sf.get("parts", sf.lit(place)).alias(f"folder{place - 2}") for place in (3, 4, 5)]
        return parts.select("auction", "bidder", "price", "channel", *folders)

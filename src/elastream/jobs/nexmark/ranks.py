"""Days, and bids ranked by what they offer: what Nexmark's daily statistics share."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RANKS = MappingProxyType(
    {
        "rank1": "price < 10000",
        "rank2": "price >= 10000 AND price < 1000000",
        "rank3": "price >= 1000000",
    }
)
"""In Spark: the prices of each rank."""
RANKED = """(
    SELECT *, strftime(event_time, '%Y-%m-%d') AS day, 1 + (price >= 10000)::INT + (price >= 1000000)::INT AS rank
    FROM bids
)"""
"""In DuckDB: bids with their day and rank."""
DAY_IS_OVER = "CAST(day AS TIMESTAMPTZ) + INTERVAL 1 DAY"
"""In DuckDB: until when a row of a day waits."""
_TOTALS = MappingProxyType({"total": " + ".join(RANKS), **{rank: rank for rank in RANKS}})
_COUNTED = ("bidder", "auction")


def day() -> Column:
    """The day of a bid, as a window: it is over when the watermark has passed its end."""
    from pyspark.sql import functions as sf

    return sf.window("event_time", "1 day").alias("day")


def date() -> Column:
    """Of such a day."""
    from pyspark.sql import functions as sf

    return sf.date_format("day.start", "yyyy-MM-dd")


def of_ranks(end: str = "") -> list[Column]:
    """How many bids there are of each rank, in columns named for it."""
    from pyspark.sql import functions as sf

    return [sf.count_if(sf.expr(prices)).alias(f"{rank}{end}") for rank, prices in RANKS.items()]


def distinct_counts(bids: DataFrame, *keys: str) -> DataFrame:
    """Of each day, and of the keys in it: bids, bidders and auctions, all and of each rank, and the newest time.

    Spark has no exact count of distinct values over a stream, but can be told what it makes of one in a batch: first
    all bids of a bidder or of an auction become one row, then rows are counted. Aggregations follow each other in
    append mode alone, so a day comes out once, when it is over.
    """
    from pyspark.sql import functions as sf

    named = sf.array(*(sf.struct(sf.lit(name).alias("name"), sf.col(name).alias("id")) for name in _COUNTED))
    each = bids.select(day(), *keys, "price", "event_time", sf.inline(named))
    by_id = each.groupBy("day", *keys, "name", "id").agg(*of_ranks(), sf.max("event_time").alias("newest"))
    counted = by_id.groupBy("day", *keys).agg(
        # Every bid is there twice, once for its bidder.
        *(sf.expr(f"sum({own}) FILTER (WHERE name = 'bidder')").alias(f"{rank}_bids") for rank, own in _TOTALS.items()),
        *(
            sf.expr(f"count_if(name = '{name}' AND {own} > 0)").alias(f"{rank}_{name}s")
            for name in _COUNTED
            for rank, own in _TOTALS.items()
        ),
        sf.max("newest").alias("newest"),
    )
    return counted.withColumn("day", date())


def distinct_answer() -> str:
    """In DuckDB: the same counts of rows that are ranked."""
    return f"{counts('*', 'bids')}, {counts('DISTINCT bidder', 'bidders')}, {counts('DISTINCT auction', 'auctions')}"


def counts(counted: str, name: str) -> str:
    """In DuckDB: how many there are, all and of each rank."""
    ranks = ", ".join(
        f"count({counted}) FILTER (WHERE rank = {rank}) AS rank{rank}_{name}" for rank in range(1, len(RANKS) + 1)
    )
    return f"count({counted}) AS total_{name}, {ranks}"

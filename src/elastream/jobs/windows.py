"""Windows of event time, told once for Spark and once for DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

# Spark's windows count from here; DuckDB's own buckets do not.
_ORIGIN = "TIMESTAMPTZ '1970-01-01 00:00:00+00'"


def bounds(window: str = "window") -> list[Column]:
    """The two ends of a window as columns of their own."""
    from pyspark.sql import functions as sf

    return [sf.col(f"{window}.start").alias("window_start"), sf.col(f"{window}.end").alias("window_end")]


def bucket(length: str, time: str = "event_time") -> str:
    """In DuckDB: where the tumbling window of a time begins."""
    return f"time_bucket(INTERVAL '{length}', {time}, {_ORIGIN})"


def sliding_starts(table: str, length: str, slide: str) -> str:
    """In DuckDB: a query for `window_start` of every window that may hold an event of the table."""
    first = f"{bucket(slide)} - INTERVAL '{length}'"
    starts = f"unnest(generate_series({first}, event_time, INTERVAL '{slide}'))"
    # Of each event: between the oldest and the newest may lie years.
    return f"SELECT DISTINCT {starts} AS window_start FROM {table}"

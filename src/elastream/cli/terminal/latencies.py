"""A distribution of times in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elastream.jobs.latency import Latency


def format_latency(latency: Latency | None) -> str:
    """What so many of a hundred do not exceed."""
    if latency is None:
        return "unknown"
    named = {"p50": latency.p50_s, "p95": latency.p95_s, "p99": latency.p99_s, "max": latency.max_s}
    return "  ".join(f"{name} {value:.2f} s" for name, value in named.items())


def late_rows(count: int) -> str:
    """What is said of rows that were too late, if there are some."""
    return f"{count:,} rows or more came behind the watermark and were dropped: Spark counts those of a key as one"

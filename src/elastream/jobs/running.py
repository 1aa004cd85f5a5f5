"""A query that runs until its input has been read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from elastream.core.errors import ElastreamError
from elastream.events.options import parse_options
from elastream.jobs.batches import BatchLog
from elastream.jobs.inputs import stream_options
from elastream.jobs.job import Job

LOOK_EVERY_S = 0.25
"""Little for the driver, and often enough that no batch is missed."""


def events_to_come(job: Job, options: Mapping[str, str]) -> int:
    """How many events all streams of a job give, those that flush among them."""
    totals = [parse_options(given).total for given in stream_options(job, options).values()]
    return sum(total or 0 for total in totals)


def run_to_the_end(
    query: Any, total: int, *, patience_s: float, show: Callable[[int], None] = lambda read: None
) -> BatchLog:
    """Wait until so many events are committed, and the results that they let out; then stop the query.

    `show` is told how many are. A query that fails, or is not done in time, raises ElastreamError.
    """
    log = BatchLog()
    until_s = time.monotonic() + patience_s
    try:
        while query.isActive and log.read < total and time.monotonic() < until_s:
            time.sleep(LOOK_EVERY_S)
            log.take(query)
            show(log.read)
        _check(query, log, total)
        if query.isActive:
            # The batches without data that let the last results out.
            query.processAllAvailable()
        log.take(query)
    finally:
        # All is committed, so it stops between batches and leaves no stack traces.
        query.stop()
    return log


def run_until_it_ends(
    query: Any, total: int, *, patience_s: float, show: Callable[[int], None] = lambda read: None
) -> BatchLog:
    """The same of a query that takes what was there when it began, and ends by itself."""
    log = BatchLog()
    until_s = time.monotonic() + patience_s
    try:
        while query.isActive and time.monotonic() < until_s:
            time.sleep(LOOK_EVERY_S)
            log.take(query)
            show(log.read)
        _check(query, log, total)
    finally:
        query.stop()
    return log


def run_for(query: Any, seconds: float, find_total: Callable[[], int], *, patience_s: float) -> BatchLog:
    """Let a query run for so long, then until what had arrived by then is committed; then stop it."""
    log, total = BatchLog(), None
    began_s = time.monotonic()
    try:
        while query.isActive and time.monotonic() < began_s + patience_s and (total is None or log.read < total):
            time.sleep(LOOK_EVERY_S)
            log.take(query)
            if total is None and time.monotonic() >= began_s + seconds:
                total = find_total()
        _check(query, log, total or 0)
    finally:
        query.stop()
    return log


def _check(query: Any, log: BatchLog, total: int) -> None:
    if (failed := query.exception()) is not None:
        raise ElastreamError(f"{query.name}: the query failed: {str(failed).strip().splitlines()[0]}")
    log.take(query)
    if log.read < total:
        raise ElastreamError(f"{query.name}: {total - log.read:,} of {total:,} events are still not committed")

"""Which rows Spark must drop because they come too late, told from the batches alone.

All events have arrived before a query starts and a read limit is set, so that batch b of a stream holds the rows from
b times the limit on, every time. From that follows the watermark of each batch, and from the watermark what is dropped.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.jobs.inputs import embedded, sound, stream_options
from elastream.jobs.job import Job
from elastream.jobs.output import writer

Times = NDArray[np.int64]
NEVER = np.iinfo(np.int64).min


def window_end(size_s: int) -> Callable[[Times], Times]:
    """A row counts until its tumbling window is over."""
    return lambda times_us: (times_us // (size_s * 1_000_000) + 1) * size_s * 1_000_000


def silence(gap_s: int) -> Callable[[Times], Times]:
    """A row counts until the session that it alone would be is over."""
    return lambda times_us: times_us + gap_s * 1_000_000


def itself(times_us: Times) -> Times:
    """A row counts until the watermark has reached it."""
    return times_us


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """When a row of a job is too late."""

    watermark_s: int
    counts_until: Callable[[Times], Times]
    """The last moment for rows of these times, without that moment."""
    seen: Callable[[str, pa.Table], NDArray[np.bool_]] = lambda _, table: np.ones(table.num_rows, dtype=bool)
    """The rows that get as far as the watermark: a filter before it may take some away."""

    def in_time(self, limits: Mapping[str, int], tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """The rows that must be kept, of every stream."""
        watermarks = self.watermarks(limits, tables)
        kept = {}
        for name, table in tables.items():
            batches = table.column("offset").to_numpy() // limits[name]
            # What a batch drops is late by the watermark of the batch before it, which is what that one gave out by.
            in_force = np.concatenate([[NEVER], watermarks])[batches]
            kept[name] = table.filter(pa.array(self.counts_until(times_of(table)) > in_force))
        return kept

    def watermarks(self, limits: Mapping[str, int], tables: Mapping[str, pa.Table]) -> Times:
        """Of every batch: how far the slowest stream was in the batches before it, less what it may be late."""
        count = max(-(-table.num_rows // limits[name]) for name, table in tables.items())
        newest = np.array([self._newest(name, table, limits[name], count) for name, table in tables.items()]).min(
            axis=0
        )
        # Spark's watermark is in whole milliseconds.
        reached = newest // 1_000 * 1_000 - self.watermark_s * 1_000_000
        return np.concatenate([[NEVER], np.where(newest == NEVER, NEVER, reached)[:-1]])

    def _newest(self, name: str, table: pa.Table, limit: int, count: int) -> Times:
        """The newest time that a stream has had up to each batch."""
        times = np.where(self.seen(name, table), times_of(table), NEVER)
        newest = [times[first : first + limit].max(initial=NEVER) for first in range(0, count * limit, limit)]
        return np.maximum.accumulate(np.array(newest))


def sessions_given_out(table: pa.Table, limit: int, watermarks: Times, gap_s: int) -> pa.Table:
    """Sessions of bidders, batch by batch: one that was given out is not taken up again by a row that is in time."""
    gap_us = gap_s * 1_000_000
    bidders, times = table.column("bidder").to_pylist(), times_of(table).tolist()
    going: list[tuple[int, int, int, int]] = []
    given_out: list[tuple[int, int, int, int]] = []
    for batch, (late, over) in enumerate(zip([NEVER, *watermarks], watermarks, strict=False)):
        for row in range(batch * limit, min((batch + 1) * limit, len(times))):
            if times[row] + gap_us > late:
                going = _with(going, bidders[row], times[row], times[row] + gap_us)
        given_out += [session for session in going if session[3] <= over]
        going = [session for session in going if session[3] > over]
    names = ("bidder", "bids", "window_start", "window_end")
    columns = dict(zip(names, map(pa.array, zip(*given_out, *going, strict=True)), strict=True))
    return pa.table(
        {name: one.cast(pa.timestamp("us", "UTC")) if "_" in name else one for name, one in columns.items()}
    )


def _with(going: list[tuple[int, int, int, int]], bidder: int, start: int, end: int) -> list[tuple[int, int, int, int]]:
    """Sessions as bidder, bids, start and end, with one more bid: those that it touches become one."""
    touched = [one for one in going if one[0] == bidder and one[2] <= end and start <= one[3]]
    bids = 1 + sum(one[1] for one in touched)
    joined = (bidder, bids, min([start, *(one[2] for one in touched)]), max([end, *(one[3] for one in touched)]))
    return [one for one in going if one not in touched] + [joined]


def times_of(table: pa.Table) -> Times:
    """Event times in microseconds."""
    return np.asarray(table.column("event_time").cast("int64").to_numpy())


def limits_of(job: Job, options: Mapping[str, str]) -> dict[str, int]:
    """Rows of a batch, of every stream."""
    return {name: int(given["rowsPerBatch"]) for name, given in stream_options(job, options).items()}


def run_and_watch(spark: Any, job: Job, options: Mapping[str, str], folder: Path) -> list[Any]:
    """The job over all of its input; the progress of every batch."""
    streams = sound(embedded(spark, job, {**options, "start": "0"}))
    writing = writer(job.query(streams), job.result, "parquet", name="job", folder=folder)
    query = writing.trigger(availableNow=True).start()
    query.awaitTermination()
    return list(query.recentProgress)


def dropped(progress: list[Any]) -> int:
    """Rows that operators with state have dropped: after a first aggregation, so fewer than have come too late."""
    return sum(state["numRowsDroppedByWatermark"] for batch in progress for state in batch["stateOperators"])

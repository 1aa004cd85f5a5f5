"""How long records and results take, computed from what is written down anyway: a query is not disturbed by it.

    delay            of a record, from its arrival to the commit of its batch: what an SLO speaks about
    result latency   of a result, from the creation of the first input that it is made of to the commit of the batch in
                     which it came out: windows and watermarks are part of it
    last to result   the same from the last input that it is made of, as van Dongen and Van den Poel (2021) measure it

Delays are exact: a batch is a stretch of the arrival curve, and both ends of it stand in the batch's offsets. Of a
result, DuckDB tells what it is made of, and the file that it stands in tells its batch. In update mode a result is told
again and again: its first input belongs to the first row that tells of it, its last input to the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.estimators.delay import Stretch, quantiles
from elastream.events.options import SourceOptions, parse_options
from elastream.jobs.batches import Batch, Span
from elastream.jobs.inputs import stream_options
from elastream.jobs.job import Job, Result
from elastream.jobs.judging import TIMES
from elastream.jobs.output import CAME_OUT_IN

SHARES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """A distribution: times that so many of a hundred do not exceed."""

    count: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLatency:
    """Of the results of a run."""

    first: Latency | None
    """From the first input that a result is made of."""
    last: Latency | None
    """From the last one."""
    flushed: int
    """Results left out: they came out because the end of the input pushed the watermark on, and not in their time."""


def sources_of(job: Job, options: Mapping[str, str]) -> dict[str, SourceOptions]:
    """The embedded sources of a job by what their offsets say that events are made from."""
    given = stream_options(job, options)
    sources = [
        parse_options({**given[stream.name], "payload": "json" if stream.is_json else "columns"})
        for stream in job.streams
    ]
    return {source.fingerprint: source for source in sources}


def delay(sources: Mapping[str, SourceOptions], batches: Iterable[Batch]) -> Latency | None:
    """Of all records in these batches; None: no arrival is known."""
    parts: list[Stretch] = []
    for batch in batches:
        for span in batch.spans:
            parts += _stretches(sources.get(span.events or ""), span, batch.committed_s)
    if not parts:
        return None
    p50_s, p95_s, p99_s = quantiles(parts, SHARES).tolist()
    return Latency(
        count=sum(part.records for part in parts),
        p50_s=p50_s,
        p95_s=p95_s,
        p99_s=p99_s,
        max_s=max(part.longest_s for part in parts),
    )


def result_latency(
    job: Job, sources: Mapping[str, SourceOptions], batches: Sequence[Batch], answer: pa.Table, told: pa.Table | None
) -> ResultLatency | None:
    """Of all right rows that came out in these batches; None: there are none, no arrival is known, or the answer tells
    no single rows.

    `answer` is what DuckDB makes of all events, `told` are the rows that came out, each with its batch.
    """
    starts_s = [span.start_s for batch in batches for span in batch.spans if span.start_s is not None]
    if told is None or not told.num_rows or not starts_s or job.result.compared is not None:
        return None
    found = _joined(job.result, answer, told)
    source = next(iter(sources.values()))
    epoch_s, factor = source.timing.epoch_s, source.timing.time_factor

    def created_s(name: str) -> NDArray[np.float64]:
        return np.asarray(min(starts_s) + (found[name] / 1e6 - epoch_s) / factor)

    numbers = np.array([batch.number for batch in batches])
    commits_s = np.array([batch.committed_s for batch in batches])
    until = _flushing(sources, batches) if job.result.is_final else None
    in_time = np.isin(found["first_out"], numbers) & np.isin(found["last_out"], numbers)
    flushed = 0
    if until is not None:
        flushed = int(np.sum(found["last_out"] > until))
        in_time &= found["last_out"] <= until

    def latencies(created: str, out: str) -> Latency | None:
        places = np.searchsorted(numbers, found[out][in_time])
        return latency_of(commits_s[places] - created_s(created)[in_time])

    return ResultLatency(
        first=latencies("first_time", "first_out"), last=latencies("last_time", "last_out"), flushed=flushed
    )


def _stretches(source: SourceOptions | None, span: Span, committed_s: float) -> list[Stretch]:
    if source is None or span.start_s is None:
        return []
    # Events that only flush have no arrival of their own.
    end = span.end if source.rows_to_come is None else min(span.end, source.rows_to_come)
    since_s = committed_s - span.start_s
    pieces = source.series.pieces(float(span.first), float(end)) if end > span.first else []
    return [Stretch(committed_s, since_s - to_s, since_s - from_s, records) for from_s, to_s, records in pieces]


def _flushing(sources: Mapping[str, SourceOptions], batches: Sequence[Batch]) -> int | None:
    """The batch that read the first event that only flushes: what it lets out comes out in the next one."""
    for batch in batches:
        for span in batch.spans:
            source = sources.get(span.events or "")
            if source is not None and source.rows_to_come is not None and span.end > source.rows_to_come:
                return batch.number
    return None


def _joined(result: Result, answer: pa.Table, told: pa.Table) -> dict[str, NDArray[np.int64]]:
    """For every result: event times of its first and last input, and the batches of its first and last row."""
    columns = [name for name in answer.column_names if name not in TIMES]
    if result.mode == "update":
        sql = f"""
            SELECT epoch_us(any_value(first_time)) AS first_time, epoch_us(any_value(last_time)) AS last_time,
                   min({CAME_OUT_IN}) AS first_out, max({CAME_OUT_IN}) AS last_out
            FROM answer JOIN told ON {_same(result.key)} GROUP BY {_of("answer", result.key)}
        """
    else:
        # Rows that are alike are told apart by their turn.
        def numbered(table: str, order: str) -> str:
            turn = f"row_number() OVER (PARTITION BY {_of(table, columns)} ORDER BY {order})"
            return f"SELECT *, {turn} AS turn FROM {table}"

        sql = f"""
            WITH answers AS ({numbered("answer", "last_time")}), rows AS ({numbered("told", CAME_OUT_IN)})
            SELECT epoch_us(first_time) AS first_time, epoch_us(last_time) AS last_time,
                   {CAME_OUT_IN} AS first_out, {CAME_OUT_IN} AS last_out
            FROM answers JOIN rows ON {_same(columns, "answers", "rows")} AND answers.turn = rows.turn
        """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("answer", answer)
        connection.register("told", told)
        found: dict[str, NDArray[np.int64]] = connection.sql(sql).fetchnumpy()
        return found


def _same(columns: Sequence[str], one: str = "answer", other: str = "told") -> str:
    return " AND ".join(f'{one}."{name}" IS NOT DISTINCT FROM {other}."{name}"' for name in columns) or "true"


def _of(table: str, columns: Sequence[str]) -> str:
    return ", ".join(f'{table}."{name}"' for name in columns) or "1"


def latency_of(seconds: NDArray[np.float64]) -> Latency | None:
    """Of so many single times; None: there are none."""
    if not seconds.size:
        return None
    p50_s, p95_s, p99_s, max_s = np.quantile(seconds, (*SHARES, 1.0)).tolist()
    return Latency(count=float(seconds.size), p50_s=p50_s, p95_s=p95_s, p99_s=p99_s, max_s=max_s)

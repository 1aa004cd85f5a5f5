"""Whether the output of a job is right: compared, row by row, with what DuckDB makes of the same events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import duckdb
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.events.options import events, parse_options
from elastream.jobs.inputs import stream_options
from elastream.jobs.job import Job, Result

TIMES = ("first_time", "last_time")
"""Columns of an answer that say what a row is made of, and are no part of it."""


class Verdict(NamedTuple):
    """Whether the output is what the input asks for, and a sentence about it."""

    right: bool | None
    """None: it cannot be told."""
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What else must be known of a run to say which rows had to come out of it."""

    events: str = "events"
    """What was read, in words."""
    answer: str = "an independent computation"
    goes_on: bool = False
    """The input has no end that lets all out: what waits for the watermark may still be waiting."""
    watermark: datetime | None = None
    """How far it came, in an input that goes on."""
    dropped: int = 0
    """Rows that Spark dropped because they came behind the watermark, as it must."""
    may_repeat: bool = False
    """The sink is at-least-once, and a task has run again."""


_PLAIN = Circumstances()


def inputs_of(job: Job, options: Mapping[str, str]) -> dict[str, pa.Table]:
    """All events of every stream, made again without Spark; those that only flush are left out."""
    tables = {}
    for name, given in stream_options(job, options).items():
        tables[name] = events(given, 0, parse_options(given).rows_to_come or 0)
    return tables


def answered(job: Job, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The right result rows over these inputs, with the times of what each is made of."""
    with _tables(**tables) as connection:
        return connection.sql(job.answer).to_arrow_table()


def judge(job: Job, tables: Mapping[str, pa.Table], found: pa.Table | None, run: Circumstances = _PLAIN) -> Verdict:
    """Compare all rows; the order says nothing."""
    return judge_rows(job.result, answered(job, tables), count_events(tables), found, run)


def count_events(tables: Mapping[str, pa.Table]) -> int:
    """Of all streams."""
    return sum(table.num_rows for table in tables.values())


def judge_rows(
    result: Result, answer: pa.Table, events: int, found: pa.Table | None, run: Circumstances = _PLAIN
) -> Verdict:
    """The same with an answer that is known, to so many events."""
    expected, waiting = _due(result, answer, run)
    read = f"{events:,} {run.events}"
    if found is None:
        right = expected.num_rows == 0
        return Verdict(right, f"nothing was written, {expected.num_rows:,} rows were expected of {read}")
    found = _compared(result, found)
    missing, surplus = differences(expected, found)
    copies = surplus if run.may_repeat and surplus and not _has_strangers(expected, found) else 0
    more = f"; {waiting:,} more wait for the watermark" if waiting else ""
    if copies:
        more += f"; {copies:,} are there again, as Kafka's sink may write them when a task runs again"
    if not missing and surplus == copies:
        said = f"all {expected.num_rows:,} result rows of {read} are right, compared one by one with {run.answer}"
        return Verdict(True, said + more)
    counts = (
        f"{read} read, {expected.num_rows:,} result rows expected,"
        f" {found.num_rows:,} written, {missing:,} missing, {surplus:,} that should not be there"
    )
    if run.dropped:
        why = f"{run.dropped:,} rows came behind the watermark and were dropped, as they must be"
        return Verdict(None, f"the output cannot be compared with {run.answer}: {why}; {counts}")
    if waiting is None and not surplus:
        why = "the job does not say until when (Result.closes_at)"
        return Verdict(None, f"what is missing may wait for the watermark, and {why}: {counts}")
    return Verdict(False, f"the output is wrong: {counts}{more}")


def _due(result: Result, answer: pa.Table, run: Circumstances) -> tuple[pa.Table, int | None]:
    """The rows that must have come out, and how many have to wait; None: that cannot be told."""
    rows = answer.drop_columns(list(TIMES))
    if not (run.goes_on and result.is_final):
        return rows, 0
    # Unlike any time of an event, so that nothing is due where there was no watermark.
    until = "-infinity" if run.watermark is None else run.watermark.isoformat()
    try:
        with _tables(rows=rows) as connection:
            due = f"SELECT * FROM rows WHERE {result.closes_at} <= TIMESTAMPTZ '{until}'"
            found: pa.Table = connection.sql(due).to_arrow_table()
    except duckdb.BinderException:
        # A job of others that does not say it, and has no such column.
        return rows, None
    return found, rows.num_rows - found.num_rows


def _compared(result: Result, found: pa.Table) -> pa.Table:
    """What of the rows an answer can tell."""
    if result.compared is None:
        return found
    with _tables(found=found) as connection:
        return connection.sql(result.compared).to_arrow_table()


def differences(expected: pa.Table, found: pa.Table) -> tuple[int, int]:
    """How many rows are missing, and how many should not be there; rows that are there twice count twice."""
    columns = _columns(expected)
    with _tables(expected=expected, found=found) as connection:

        def less(one: str, other: str) -> int:
            rest = f"SELECT {columns} FROM {one} EXCEPT ALL SELECT {columns} FROM {other}"
            return _count(connection, rest)

        return less("expected", "found"), less("found", "expected")


def _has_strangers(expected: pa.Table, found: pa.Table) -> bool:
    """Whether a row is no copy of one that should be there."""
    columns = _columns(expected)
    with _tables(expected=expected, found=found) as connection:
        return _count(connection, f"SELECT {columns} FROM found EXCEPT SELECT {columns} FROM expected") > 0


def _columns(table: pa.Table) -> str:
    return ", ".join(f'"{name}"' for name in table.column_names)


def _count(connection: duckdb.DuckDBPyConnection, rows: str) -> int:
    counted = connection.execute(f"SELECT count(*) FROM ({rows})").fetchone()
    return int(counted[0]) if counted else 0


@contextmanager
def _tables(**tables: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    """Arrow tables in DuckDB, by their names."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        yield connection

"""Whether the output of a job is right: compared, row by row, with what DuckDB makes of the same events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import duckdb
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.events.options import events, parse_options
from elastream.jobs.inputs import stream_options
from elastream.jobs.job import Job

TIMES = ("first_time", "last_time")
"""Columns of an answer that say what a row is made of, and are no part of it."""


class Verdict(NamedTuple):
    """Whether the output is what the input asks for, and a sentence about it."""

    right: bool
    sentence: str


def inputs_of(job: Job, options: Mapping[str, str]) -> dict[str, pa.Table]:
    """All events of every stream, made again without Spark; those that only flush are left out."""
    tables = {}
    for name, given in stream_options(job, options).items():
        tables[name] = events(given, 0, parse_options(given).rows_to_come or 0)
    return tables


def answered(job: Job, tables: Mapping[str, pa.Table]) -> pa.Table:
    """The right result rows over these inputs, with the times of what each is made of."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(job.answer).to_arrow_table()


def judge(job: Job, tables: Mapping[str, pa.Table], found: pa.Table | None) -> Verdict:
    """Compare all rows; the order says nothing."""
    expected = answered(job, tables).drop_columns(list(TIMES))
    read = sum(table.num_rows for table in tables.values())
    if found is None:
        right = expected.num_rows == 0
        return Verdict(right, f"nothing was written, {expected.num_rows:,} rows were expected of {read:,} events")
    found = _compared(job, found)
    missing, surplus = differences(expected, found)
    if not missing and not surplus:
        said = f"all {expected.num_rows:,} result rows of {read:,} events are right"
        return Verdict(True, f"{said}, compared one by one with an independent computation")
    return Verdict(
        False,
        f"the output is wrong: {read:,} events read, {expected.num_rows:,} result rows expected,"
        f" {found.num_rows:,} written, {missing:,} missing, {surplus:,} that should not be there",
    )


def _compared(job: Job, found: pa.Table) -> pa.Table:
    """What of the rows an answer can tell."""
    if job.result.compared is None:
        return found
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("found", found)
        return connection.sql(job.result.compared).to_arrow_table()


def differences(expected: pa.Table, found: pa.Table) -> tuple[int, int]:
    """How many rows are missing, and how many should not be there; rows that are there twice count twice."""
    columns = ", ".join(f'"{name}"' for name in expected.column_names)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("expected", expected)
        connection.register("found", found)

        def less(one: str, other: str) -> int:
            rest = f"SELECT {columns} FROM {one} EXCEPT ALL SELECT {columns} FROM {other}"
            counted = connection.execute(f"SELECT count(*) FROM ({rest})").fetchone()
            return int(counted[0]) if counted else 0

        return less("expected", "found"), less("found", "expected")

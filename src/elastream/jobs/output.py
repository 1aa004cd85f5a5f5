"""Where the rows of a job go, and how they are read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, UnknownName
from elastream.jobs.checkpoint import last_commit
from elastream.jobs.filesink import committed_files
from elastream.jobs.job import Result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

SINKS = ("noop", "memory", "parquet", "kafka")
CAME_OUT_IN = "came_out_in"
"""The column that says in which batch a row came out."""
_BATCH = "batch="


def check_sink(sink: str, kafka: Mapping[str, str]) -> None:
    """Refuse a sink that does not exist, or lacks options, before anything is started."""
    if sink not in SINKS:
        raise UnknownName("unknown sink", sink, SINKS)
    if sink == "kafka" and not {"topic", "kafka.bootstrap.servers"} <= kafka.keys():
        raise BadInput("sink kafka: it needs the options kafka.bootstrap.servers and topic")
    if sink != "kafka" and kafka:
        raise BadInput(f"sink {sink}: it has no option {next(iter(kafka))!r}; only kafka has options")


def writer(
    rows: DataFrame,
    result: Result,
    sink: str,
    *,
    name: str,
    folder: Path,
    kafka: Mapping[str, str] = MappingProxyType({}),
) -> DataStreamWriter:
    """A query that is ready to be started. The checkpoint, and the output to files, are in the folder.

    `parquet` is exactly-once, in update mode too; `kafka`, with the options of Spark's Kafka sink, at least once.
    """
    check_sink(sink, kafka)
    if sink == "kafka":
        rows = as_messages(rows, result)
    writing = rows.writeStream.outputMode(result.mode).queryName(name)
    writing = writing.option("checkpointLocation", str(folder / "checkpoint"))
    if sink != "parquet":
        return writing.format(sink).options(**kafka)
    out = str(folder / "out")
    if result.mode == "append":
        return writing.format("parquet").partitionBy(*result.folders).option("path", out)
    return writing.foreachBatch(
        # A batch that is done again writes the same folder again.
        lambda batch, number: batch.write.mode("overwrite").parquet(f"{out}/{_BATCH}{number}")
    )


def as_messages(rows: DataFrame, result: Result) -> DataFrame:
    """JSON from which the same rows can be read again: every field, times to the microsecond.

    Rows that are told again bear their key, so that all of one result lie in one partition, the newest behind.
    """
    from pyspark.sql import functions as sf

    exact = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}
    value = sf.to_json(sf.struct("*"), exact).alias("value")
    if not result.key:
        return rows.select(value)
    return rows.select(sf.to_json(sf.struct(*result.key), exact).alias("key"), value)


def arrow_schema(rows: DataFrame) -> pa.Schema:
    """The columns of rows outside of Spark."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return pa.schema([field.with_nullable(True) for field in to_arrow_schema(rows.schema, timezone="UTC")])


def newest(rows: pa.Table, result: Result) -> pa.Table:
    """Of rows from the oldest to the newest those that count: in update mode the last one of each key."""
    if result.mode == "append":
        return rows
    keys = zip(*(rows[name].to_pylist() for name in result.key), strict=True)
    places = {key: row for row, key in enumerate(keys)}
    return rows.take(pa.array(sorted(places.values()), pa.int64()))


def written(result: Result, folder: Path) -> pa.Table | None:
    """All result rows that are committed in the folder, in update mode the newest of each key; None: there are none."""
    every = told(result, folder)
    if every is None:
        return None
    return newest(every.drop_columns([CAME_OUT_IN]), result)


def told(result: Result, folder: Path) -> pa.Table | None:
    """All rows that came out and are committed, oldest first, with the number of their batch behind them."""
    out = folder / "out"
    files = committed_files(out) if result.mode == "append" else _files_of_batches(out)
    last = last_commit(folder)
    tables = []
    for file, batch in files.items():
        # A batch may have written all, and was not committed when the query was stopped.
        if last is None or batch > last:
            continue
        table = pq.read_table(file, partitioning=None)
        for name, text in zip(result.folders, _folders(file, len(result.folders)), strict=True):
            table = table.append_column(name, pa.array([text] * table.num_rows, pa.string()))
        tables.append(table.append_column(CAME_OUT_IN, pa.array([batch] * table.num_rows, pa.int64())))
    return pa.concat_tables(tables) if tables else None


def _folders(file: Path, count: int) -> list[str]:
    """What stands in the names of the folders that a file is in, the outermost first."""
    names = file.parts[-1 - count : -1]
    return [unquote(name.partition("=")[2]) for name in names]


def _files_of_batches(out: Path) -> dict[Path, int]:
    numbers = sorted(int(path.name.removeprefix(_BATCH)) for path in out.glob(f"{_BATCH}*"))
    return {file: number for number in numbers for file in sorted((out / f"{_BATCH}{number}").glob("*.parquet"))}

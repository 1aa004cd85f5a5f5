"""Where the rows of a job go, and how they are read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, UnknownName
from elastream.jobs.filesink import committed
from elastream.jobs.job import Result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

SINKS = ("noop", "memory", "parquet", "kafka")
SinkName = Literal["noop", "memory", "parquet", "kafka"]
_BATCH = "batch="


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
    if sink not in SINKS:
        raise UnknownName("unknown sink", sink, SINKS)
    if sink == "kafka":
        if "topic" not in kafka or "kafka.bootstrap.servers" not in kafka:
            raise BadInput("sink kafka: it needs the options kafka.bootstrap.servers and topic")
        rows = rows.selectExpr("to_json(struct(*)) AS value")
    writing = rows.writeStream.outputMode(result.mode).queryName(name)
    writing = writing.option("checkpointLocation", str(folder / "checkpoint"))
    if sink != "parquet":
        return writing.format(sink).options(**kafka)
    out = str(folder / "out")
    if result.mode == "append":
        return writing.format("parquet").option("path", out)
    return writing.foreachBatch(
        # A batch that is done again writes the same folder again.
        lambda batch, number: batch.write.mode("overwrite").parquet(f"{out}/{_BATCH}{number}")
    )


def written(result: Result, folder: Path) -> pa.Table | None:
    """All result rows that are committed in the folder, in update mode the newest of each key; None: there are none."""
    out = folder / "out"
    if result.mode == "append":
        return committed(out)
    tables = [table for number in _batches(folder) if (table := _batch(out, number)) is not None]
    if not tables:
        return None
    every = pa.concat_tables(tables)
    newest = {key: row for row, key in enumerate(zip(*(every[name].to_pylist() for name in result.key), strict=True))}
    return every.take(sorted(newest.values()))


def _batches(folder: Path) -> list[int]:
    """Those that are committed: the last one written may not be."""
    commits = folder / "checkpoint" / "commits"
    done = {int(file.name) for file in commits.iterdir() if file.name.isdecimal()} if commits.is_dir() else set()
    # Old commits are removed after a while; what came before a commit is committed.
    found = sorted(int(path.name.removeprefix(_BATCH)) for path in (folder / "out").glob(f"{_BATCH}*"))
    return [number for number in found if done and number <= max(done)]


def _batch(out: Path, number: int) -> pa.Table | None:
    tables = [pq.read_table(file) for file in sorted((out / f"{_BATCH}{number}").glob("*.parquet"))]
    return pa.concat_tables(tables) if tables else None

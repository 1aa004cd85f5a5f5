"""`format("elastream")`: a streaming source inside Spark, driven by a workload.

An event is made from its offset alone, so it is the same after a restart and whoever makes it. How many have arrived
follows from the time since the start, which is kept in every offset and so in the checkpoint: a restarted query finds
the backlog that grew while it was away.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from elastream.core.errors import BadInput, CannotRun
from elastream.development.shipping import ship_by_value
from elastream.events.generators import batches
from elastream.events.options import SourceOptions, events, newest
from elastream.events.timing import ArrivalStretch
from elastream.events.wire import message_batch

__all__ = ["NAME", "ElastreamSource", "Reader", "events", "newest", "register", "stream"]

NAME = "elastream"


def register(spark: SparkSession) -> None:
    """Make `format("elastream")` known to a session. Executors need not have Elastream; the driver's Python must."""
    _check_python(spark.sparkContext.pythonExec)
    # Spark looks in the active session for what the session given lacks, and would say that it is there already.
    sessions: Any = spark._jvm.org.apache.spark.sql.classic.SparkSession  # type: ignore[union-attr]
    sessions.setActiveSession(spark._jsparkSession)
    spark.dataSource.register(ElastreamSource)


def stream(spark: SparkSession, **options: object) -> DataFrame:
    """`readStream` from the source; wrong options are told in one line, where Spark would wrap them in forty."""
    texts = {key: str(value) for key, value in options.items() if value is not None}
    _parsed(texts)
    register(spark)
    return spark.readStream.format(NAME).options(**texts).load()


def _check_python(worker: str) -> None:
    """The Python that Spark starts beside the driver is `python3` unless told otherwise, and not this one."""
    if shutil.which(worker) == sys.executable:
        return
    tried = subprocess.run([worker, "-c", "import elastream.events.options"], capture_output=True, text=True)
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["it does not start"])[-1]
        raise CannotRun(f"source: Spark's Python workers are {worker!r}: {said}; set PYSPARK_PYTHON={sys.executable}")


def _parsed(options: Mapping[str, str]) -> "SourceOptions":
    # Imported here once more: what a shipped function mentions is shipped with it, and the parser needs pydantic.
    from elastream.events.options import parse_options

    return parse_options(options)


class ElastreamSource(DataSource):
    """What Spark knows the source as."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return _parsed(self.options).schema

    def streamReader(self, schema: StructType) -> "Reader":
        ship_by_value()
        return Reader(dict(self.options))


class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches in a process beside the driver, and makes their events in tasks."""

    def __init__(self, options: Mapping[str, str]) -> None:
        parsed = _parsed(options)
        # All that a task needs. The curve stays out of it: a batch gets the stretch it needs with its partitions.
        self._generator, self._timing = parsed.generator, parsed.times
        self._json_partitions = parsed.partitions if parsed.is_json else None
        self._options = dict(options)
        self._stopped_at_s: float | None = None
        self._latest: dict[str, object] | None = None

    def initialOffset(self) -> dict[str, object]:
        parsed = _parsed(self._options)
        start_s = time.time() if parsed.start_s is None else parsed.start_s
        return {"offset": 0, "start_ms": round(start_s * 1_000), "events": parsed.fingerprint}

    def getDefaultReadLimit(self) -> ReadLimit:
        rows = _parsed(self._options).rows_per_batch
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, object]:
        parsed = _parsed(self._options)
        self._check_same(start)
        now_s = time.time() if self._stopped_at_s is None else self._stopped_at_s
        # A clock that was set back must not take events back.
        arrived = max(parsed.newest(now_s - start["start_ms"] / 1_000), start["offset"])
        self._latest = {**start, "offset": arrived}
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else arrived
        return {**start, "offset": min(arrived, start["offset"] + most)}

    def reportLatestOffset(self) -> dict[str, object] | None:
        return self._latest

    def prepareForTriggerAvailableNow(self) -> None:
        self._stopped_at_s = time.time()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        parsed = _parsed(self._options)
        first, last, step = start["offset"], end["offset"], parsed.partitions
        # Plain arrays: an object of ours would take its class along in every partition.
        stretch = tuple(parsed.part(first, last))
        # The partition of an event is its offset modulo their number, so every task begins at another event.
        return [InputPartition((stretch, range(begin, last, step))) for begin in range(first, min(first + step, last))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        stretch, offsets = partition.value
        made = batches(self._generator, self._timing, ArrivalStretch(*stretch), offsets)
        return made if self._json_partitions is None else self._as_messages(made, offsets)

    def _as_messages(self, made: Iterator[pa.RecordBatch], offsets: range) -> Iterator[pa.RecordBatch]:
        for batch in made:
            some, offsets = offsets[: batch.num_rows], offsets[batch.num_rows :]
            yield message_batch(batch, self._generator.key_column, some, self._json_partitions or 1)

    def _check_same(self, start: Mapping[str, Any]) -> None:
        parsed = _parsed(self._options)
        if start.get("events") != parsed.fingerprint:
            raise BadInput(
                "source: the checkpoint is of other events (workload, seed, duration, partitions, event times,"
                " payload or generator differ); give the options it began with, or another checkpoint"
            )
        if parsed.start_s is not None and round(parsed.start_s * 1_000) != start["start_ms"]:
            began = start["start_ms"] / 1_000
            raise BadInput(
                f"source: start: found {parsed.start_s:.3f}, but the checkpoint began at {began:.3f}; leave it out"
            )

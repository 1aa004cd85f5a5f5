"""`format("elastream")`: a streaming source inside Spark, driven by a workload.

An event is made from its offset alone, so it is the same after a restart and whoever makes it. How many have arrived
follows from the time since the start, which is kept in every offset and so in the checkpoint: a restarted query finds
the backlog that grew while it was away.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from elastream.core.errors import BadInput
from elastream.spark.events import batches
from elastream.spark.shipping import ship_by_value

NAME = "elastream"


def register(spark: SparkSession) -> None:
    """Make `format("elastream")` known to a session. Executors need not have Elastream."""
    spark.dataSource.register(ElastreamSource)


def stream(spark: SparkSession, **options: object) -> DataFrame:
    """`readStream` from the source; wrong options are told in one line, where Spark would wrap them in forty."""
    from elastream.spark.source_options import parse_options

    texts = {key: str(value) for key, value in options.items() if value is not None}
    parse_options(texts)
    register(spark)
    return spark.readStream.format(NAME).options(**texts).load()


def newest(options: Mapping[str, str], now_utc_s: float, offset: Mapping[str, Any] | None = None) -> int:
    """How many events have arrived by now, which is the newest offset; no Spark is asked.

    Without the option `start` it takes any offset of the query (of its progress, or live) to know the start.
    """
    from elastream.spark.source_options import parse_options

    parsed = parse_options(options)
    start_s = offset["start_ms"] / 1_000 if offset is not None else parsed.start_s
    if start_s is None:
        raise BadInput("source: the start is not known; give the option start, or an offset of the query")
    return parsed.newest(now_utc_s - start_s)


def events(options: Mapping[str, str], first: int, end: int) -> pa.Table:
    """The events from offset `first` up to, without, `end`: what a query must have read, without Spark."""
    from elastream.spark.source_options import parse_options

    parsed = parse_options(options)
    made = batches(
        parsed.generator,
        parsed.stretch.of(first, end),
        range(first, end),
        epoch_s=parsed.epoch_s,
        time_factor=parsed.time_factor,
    )
    return pa.Table.from_batches(list(made))


class ElastreamSource(DataSource):
    """What Spark knows the source as."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        # Imported here and below, not on top: executors have this class, but neither pydantic nor a need to parse.
        from elastream.spark.source_options import parse_options

        return parse_options(dict(self.options)).generator.schema

    def streamReader(self, schema: StructType) -> "Reader":
        ship_by_value()
        return Reader(dict(self.options))


class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches in a process beside the driver, and makes their events in tasks."""

    def __init__(self, options: Mapping[str, str]) -> None:
        from elastream.spark.source_options import parse_options

        parsed = parse_options(options)
        # All that a task needs. The curve stays out of it: a batch gets the stretch it needs with its partitions.
        self._generator, self._epoch_s, self._factor = parsed.generator, parsed.epoch_s, parsed.time_factor
        self._options = dict(options)
        self._stopped_at_s: float | None = None
        self._latest: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:
        parsed = self._parsed()
        start_s = time.time() if parsed.start_s is None else parsed.start_s
        return {"offset": 0, "start_ms": round(start_s * 1_000), "events": parsed.fingerprint}

    def getDefaultReadLimit(self) -> ReadLimit:
        rows = self._parsed().rows_per_batch
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        parsed = self._parsed()
        self._check_same(start)
        now_s = time.time() if self._stopped_at_s is None else self._stopped_at_s
        # A clock that was set back must not take events back.
        arrived = max(parsed.newest(now_s - start["start_ms"] / 1_000), start["offset"])
        self._latest = {**start, "offset": arrived}
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else arrived
        return {**start, "offset": min(arrived, start["offset"] + most)}

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return self._latest

    def prepareForTriggerAvailableNow(self) -> None:
        self._stopped_at_s = time.time()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first, last, step = start["offset"], end["offset"], self._parsed().partitions
        if first >= last:
            return []
        stretch = self._parsed().stretch.of(first, last)
        # The partition of an event is its offset modulo their number, so every task begins at another event.
        return [InputPartition((stretch, range(begin, last, step))) for begin in range(first, min(first + step, last))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        stretch, offsets = partition.value
        return batches(self._generator, stretch, offsets, epoch_s=self._epoch_s, time_factor=self._factor)

    def _parsed(self) -> Any:
        from elastream.spark.source_options import parse_options

        return parse_options(self._options)

    def _check_same(self, start: Mapping[str, Any]) -> None:
        parsed = self._parsed()
        if start.get("events") != parsed.fingerprint:
            raise BadInput(
                "source: the checkpoint is of other events (workload, seed, duration, partitions, timeFactor, epoch or"
                " generator differ); give the options it began with, or another checkpoint"
            )
        if parsed.start_s is not None and round(parsed.start_s * 1_000) != start["start_ms"]:
            began = start["start_ms"] / 1_000
            raise BadInput(
                f"source: start: found {parsed.start_s:.3f}, but the checkpoint began at {began:.3f}; leave it out"
            )

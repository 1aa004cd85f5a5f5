"""The queries as Spark runs them. Imported by the driver only; `computed.py` says what they must give."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, expr, session_window, udf, unix_micros, window
from pyspark.sql.functions import sum as total
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from elastream.development.embedded_source import stream
from tests.spark.exactly_once.inputs import DELAY_S, GAP_US, INPUTS, NEAR_US, SHUFFLED_US, WINDOW_S

TIME = f"timestamp_micros(unix_micros(event_time) - value * {SHUFFLED_US})"


def read(spark: SparkSession, name: str, number: int, rows: int | None) -> DataFrame:
    options = INPUTS[name].options(INPUTS[name].seeds[number], rows)
    events = stream(spark, **options).withColumn("time", expr(TIME))
    return events.withWatermark("time", f"{DELAY_S} seconds")


def stateless(spark: SparkSession, rows: int | None) -> DataFrame:
    events = read(spark, "stateless", 0, rows).filter("value % 3 != 0")
    return events.selectExpr("offset", "key * 7 + value AS mixed", "unix_micros(time) AS time")


def windowed(spark: SparkSession, rows: int | None) -> DataFrame:
    groups = read(spark, "windowed", 0, rows).groupBy(window("time", f"{WINDOW_S} seconds"), "key")
    totals = groups.agg(count("*").alias("events"), total("value").alias("value"))
    return totals.select(unix_micros(col("window.start")).alias("start"), "key", "events", "value")


def joined(spark: SparkSession, rows: int | None) -> DataFrame:
    left, right = read(spark, "joined", 0, rows).alias("left"), read(spark, "joined", 1, rows).alias("right")
    near = f"INTERVAL {NEAR_US} MICROSECOND"
    rule = f"left.key = right.key AND right.time BETWEEN left.time - {near} AND left.time + {near}"
    return left.join(right, expr(rule)).selectExpr(
        "left.offset AS left", "right.offset AS right", "left.key AS key", "left.value + right.value AS value"
    )


def sessions(spark: SparkSession, rows: int | None) -> DataFrame:
    groups = read(spark, "sessions", 0, rows).groupBy(session_window("time", f"{GAP_US} microseconds"), "key")
    totals = groups.agg(count("*").alias("events"), total("value").alias("value"))
    start, end = unix_micros(col("session_window.start")), unix_micros(col("session_window.end"))
    return totals.select(start.alias("start"), end.alias("end"), "key", "events", "value")


class RunningTotals(StatefulProcessor):
    """Counts and adds up, for ever, per key."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._totals = handle.getValueState("totals", "events BIGINT, value BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timer_values: Any) -> Iterator[pd.DataFrame]:
        before = self._totals.get()
        events, value = (int(before[0]), int(before[1])) if before is not None else (0, 0)
        for some in rows:
            events, value = events + len(some), value + int(some["value"].sum())
        self._totals.update((events, value))
        yield pd.DataFrame({"key": [int(key[0])], "events": [events], "value": [value]})

    def close(self) -> None:
        pass


def processor(spark: SparkSession, rows: int | None) -> DataFrame:
    groups = read(spark, "processor", 0, rows).select("key", "value").groupBy("key")
    return groups.transformWithStateInPandas(
        RunningTotals(), "key BIGINT, events BIGINT, value BIGINT", "Update", "None"
    )


def each_batch(spark: SparkSession, rows: int | None) -> DataFrame:
    plus_one = udf(lambda value: value + 1, "bigint", useArrow=True)
    return read(spark, "each_batch", 0, rows).select("offset", "key", plus_one("value").alias("value"))


def large(spark: SparkSession, rows: int | None) -> DataFrame:
    groups = read(spark, "large", 0, rows).groupBy("key")
    return groups.agg(count("*").alias("events"), total("value").alias("value"))


def long(spark: SparkSession, rows: int | None) -> DataFrame:
    def slowly(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # Six tasks of a batch on two or three slots: half a minute.
            time.sleep(10)
            yield batch

    events = read(spark, "long", 0, rows).select("offset", "key", "value")
    return events.mapInArrow(slowly, events.schema)


FILES = {"stateless": stateless, "joined": joined, "sessions": sessions, "long": long}
"""Into Spark's file sink, which appends."""
BATCHES = {"windowed": windowed, "processor": processor, "each_batch": each_batch, "large": large}
"""Into one folder per batch, which a repeated batch overwrites."""


def start(spark: SparkSession, name: str, folder: Path, rows: int | None) -> StreamingQuery:
    """Start or resume a query under its folder."""
    made = (FILES.get(name) or BATCHES[name])(spark, rows)
    writer = made.writeStream.queryName(name).trigger(processingTime="2 seconds")
    writer = writer.option("checkpointLocation", (folder / name / "checkpoint").as_uri())
    output = (folder / name / "output").as_uri()
    if name in FILES:
        return writer.format("parquet").start(output)

    def write(batch: DataFrame, number: int) -> None:
        if name == "each_batch":
            # Two actions in a batch: each reads the source.
            for half in (0, 1):
                part = batch.filter(f"offset % 2 = {half}")
                part.write.mode("overwrite").parquet(f"{output}/batch={number}/half={half}")
        else:
            batch.write.mode("overwrite").parquet(f"{output}/batch={number}/all")

    return writer.outputMode("append" if name == "each_batch" else "update").foreachBatch(write).start()

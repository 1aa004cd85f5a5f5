"""Records the raw looks that the tests beside it read: `python -m tests.unit.spark.looks.record [NAME ...]`.

A line is one look as the JVM gave it (`look`) and the truth where the recorder knows
it. Hosts and paths are replaced. A new recording has other ids and times, and the same shape.
"""

import json
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, expr, udf, window
from pyspark.sql.streaming.query import StreamingQuery

from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from elastream.development.embedded_source import stream
from elastream.spark.jvm.listener import JvmListener
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from tests.spark.driving import driver

HERE = Path(__file__).parent
Steps = Iterator[dict[str, Any]]
"""What a recording does between its looks; what is yielded is written down as the truth of that look."""


def rate(spark: SparkSession, rows: int) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", rows).option("numPartitions", 2).load()


def start(stream: DataFrame, folder: Path, name: str, every: str | None = None, mode: str = "append") -> StreamingQuery:
    writer = stream.writeStream.format("noop").queryName(name).outputMode(mode)
    writer = writer.option("checkpointLocation", str(folder / name))
    return (writer.trigger(processingTime=every) if every else writer).start()


def looks(times: int, **truth: Any) -> Steps:
    for _ in range(times):
        time.sleep(0.5)
        yield truth


def until(query: StreamingQuery, batch: int, **truth: Any) -> Steps:
    """By batches and not by time, so that a busy machine records the same."""
    deadline = time.monotonic() + 120
    while (query.lastProgress or {"batchId": -1})["batchId"] < batch and time.monotonic() < deadline:
        # Not a whole second: triggers start on whole seconds, and looks should fall on every part of a batch.
        time.sleep(0.93)
        yield truth


def counted(spark: SparkSession, rows: int) -> DataFrame:
    marked = rate(spark, rows).withWatermark("timestamp", "2 seconds")
    return marked.groupBy(window("timestamp", "4 seconds"), (col("value") % 50).alias("key")).count()


def windowed(spark: SparkSession, folder: Path) -> Steps:
    """A windowed count every 3 s with RocksDB; stopped, and started again from its checkpoint."""
    for last in (3, 6):
        query = start(counted(spark, 200), folder, "windowed", "3 seconds", "update")
        yield from until(query, last)
        query.stop()
        yield from looks(2)


def foreach_batch(spark: SparkSession, folder: Path) -> Steps:
    """Two actions per batch on what every second batch caches, one of them with a shuffle."""

    def write(batch: DataFrame, number: int) -> None:
        if number % 2 == 0:
            batch.persist()
        batch.write.mode("append").parquet(str(folder / "out"))
        batch.groupBy((col("value") % 7).alias("key")).count().write.format("noop").mode("append").save()
        batch.unpersist()

    writer = rate(spark, 100).writeStream.queryName("foreach-batch").foreachBatch(write)
    query = writer.option("checkpointLocation", str(folder / "foreach")).trigger(processingTime="2 seconds").start()
    yield from until(query, 4)
    query.stop()
    yield from looks(1)


def two_queries(spark: SparkSession, folder: Path) -> Steps:
    """A query of another session beside the first, and a job of no query."""
    first = start(rate(spark, 100).repartition(2, "value"), folder, "first", "2 seconds")
    second = start(rate(spark.newSession(), 50), folder, "second", "2 seconds")
    yield from until(second, 1)
    yield from until(first, 2)

    def slow(numbers: Iterable[int]) -> Iterable[int]:
        time.sleep(3)
        return numbers

    job = threading.Thread(target=lambda: spark.sparkContext.parallelize([1, 2], 2).mapPartitions(slow).count())
    job.start()
    while job.is_alive():
        yield from looks(1)
    yield from until(second, (second.lastProgress or {"batchId": 0})["batchId"] + 1)
    yield from looks(6)
    first.stop()
    second.stop()
    yield from looks(1)


def long_batch(spark: SparkSession, folder: Path) -> Steps:
    """As fast as possible without a read limit, from the embedded source, with batches of many seconds."""

    @udf("long")
    def slow(number: int) -> int:
        time.sleep(0.004)
        return number

    start_s = round(time.time(), 3)
    events = stream(spark, workload="constant(300)", start=start_s, partitions=4)
    query = start(events.select(slow("offset")), folder, "long-batch")
    yield from until(query, 2, start_s=start_s, rate=300)
    query.stop()
    yield from looks(1)


def joined(spark: SparkSession, folder: Path) -> Steps:
    """A join and then a union of two sources, one of which runs dry; adaptive execution is left on."""

    def right() -> DataFrame:
        return stream(spark, workload="constant(100)", rows=300, partitions=2).selectExpr("offset as b")

    left = rate(spark, 100).selectExpr("value as a")
    join = start(left.join(right(), expr("a = b")), folder, "join", "2 seconds")
    yield from until(join, 4)
    join.stop()
    together = left.union(right()).repartition(2, "a").selectExpr("a + 1 as n")
    union = start(together, folder, "union", "2 seconds")
    yield from until(union, 5)
    union.stop()
    yield from looks(1)


def no_data(spark: SparkSession, folder: Path) -> Steps:
    """As fast as possible with a read limit that binds, until all has been read and nothing comes any more."""
    events = stream(spark, workload="constant(400)", rows=1200, rowsPerBatch=200, partitions=2)
    query = start(events, folder, "no-data")
    yield from until(query, 5)
    yield from looks(8)
    query.stop()
    yield from looks(1)


def files(spark: SparkSession, folder: Path) -> Steps:
    """Twelve files wait, two are read per batch, four more come meanwhile; then all has been read."""
    (folder / "in").mkdir()
    waiting = list(range(16))

    def put() -> None:
        number = waiting.pop(0)
        text = "".join(f"file {number} row {row}\n" for row in range(500))
        (folder / ".new").write_text(text)
        (folder / ".new").rename(folder / "in" / f"{number:02}.txt")

    for _ in range(12):
        put()
    lines = spark.readStream.option("maxFilesPerTrigger", 2).text(str(folder / "in"))
    query = start(lines, folder, "files", "2 seconds")
    while (query.lastProgress or {"batchId": -1})["batchId"] < 7 or waiting:
        if query.lastProgress and waiting:
            put()
        yield from looks(1, written=500 * (16 - len(waiting)))
        time.sleep(0.5)
    yield from looks(3, written=8000)
    query.stop()
    yield from looks(1, written=8000)


RECORDINGS: dict[str, Callable[[SparkSession, Path], Steps]] = {
    "windowed": windowed,
    "foreach-batch": foreach_batch,
    "two-queries": two_queries,
    "long-batch": long_batch,
    "joined": joined,
    "no-data": no_data,
    "files": files,
}
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def scrubbed(line: str) -> str:
    line = re.sub(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?", "host", line)
    return re.sub(r"(?:file:)?/(?:home|root|tmp|work|var|usr)/[^\s\"',:;)\]\\]*", "/path", line)


def record(cluster: LocalCluster, name: str) -> None:
    settings = {"spark.sql.shuffle.partitions": "2", "spark.locality.wait": "0s"}
    settings["spark.sql.streaming.stateStore.providerClass"] = ROCKSDB
    with tempfile.TemporaryDirectory() as folder, driver(cluster, executors=2, settings=settings, name=name) as spark:
        # The first job starts Python in both executors.
        spark.sparkContext.parallelize(range(4), 4).count()
        watch = JvmListener.install(spark)
        with (HERE / f"{name}.jsonl").open("w") as file:
            for truth in RECORDINGS[name](spark, Path(folder)):
                text = watch.raw()
                seen = parse_snapshot(text)
                watch.have_read(seen.note)
                watch.ask_logs(seen)
                line = {"look": json.loads(text), "truth": truth}
                file.write(scrubbed(json.dumps(line)) + "\n")
        watch.remove()


def main(names: list[str]) -> None:
    with LocalCluster(ClusterSettings(workers=1, cores=2, memory="2g")) as cluster:
        for name in names or RECORDINGS:
            record(cluster, name)


if __name__ == "__main__":
    main(sys.argv[1:])

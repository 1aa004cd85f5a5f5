"""The queries to record: each is awkward for an observer in its own way."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.functions import col, expr, udf, window
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows
from pyspark.sql.streaming.query import StreamingQuery

Truth = dict[str, float]
When = Callable[["Stage"], bool]
Act = Callable[["Stage"], str]
"""Something done to the application; returns the sentence that is written down."""


@dataclass(kw_only=True)
class Stage:
    """Where a workload plays: the session, its folder, and what it has asked the cluster for."""

    spark: SparkSession
    folder: Path
    started_utc_s: float
    requested: int
    query: StreamingQuery | None = None

    def elapsed_s(self) -> float:
        """Seconds since the recording began."""
        return time.time() - self.started_utc_s

    def batches(self) -> int:
        """Batches that have ended."""
        assert self.query is not None
        return (self.query.lastProgress or {"batchId": -1})["batchId"] + 1

    def executors(self) -> int:
        """Those that are registered."""
        return int(self.spark.sparkContext._jsc.sc().schedulerBackend().getExecutorIds().size())


def after(batches: int) -> When:
    """By batches and not by time, so that a busy machine records the same."""
    return lambda stage: stage.batches() >= batches


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One query and what happens while it is watched."""

    name: str
    sentence: str
    trigger: str
    read_limit: str | None
    start: Callable[[Stage], StreamingQuery]
    until: When
    look_every_s: float = 0.93
    """Not a whole second: triggers start on whole seconds, and looks should fall on every part of a batch."""
    warm: bool = True
    """Whether the executors have run something before."""
    executors: int = 2
    most_executors: int = 2
    settings: dict[str, str] = field(default_factory=dict)
    acts: tuple[tuple[When, Act], ...] = ()
    """One after the other, each when its time has come."""
    truth: Callable[[Stage], Truth] | None = None


def arrived_by(steps: Sequence[tuple[float, float]], elapsed_s: float) -> int:
    """Records that arrived after some seconds, for steps of (lasts seconds, records per second)."""
    total, left_s = 0.0, max(0.0, elapsed_s)
    for lasts_s, per_second in steps:
        total += min(left_s, lasts_s) * per_second
        left_s = max(0.0, left_s - lasts_s)
    return int(total)


class Slice(InputPartition):
    """The records from one number up to another."""

    def __init__(self, first: int, end: int) -> None:
        self.first = first
        self.end = end


class ArrivalReader(DataSourceStreamReader):
    """Counts arrivals by the clock, so that anyone with the same options knows what has arrived."""

    def __init__(self, options: dict[str, str]) -> None:
        self.steps: list[tuple[float, float]] = json.loads(options["steps"])
        self.started_utc_s = float(options["started_utc_s"])
        self.limit = int(options["limit"]) if "limit" in options else None
        self.task_s = float(options.get("task_s", "0"))

    def initialOffset(self) -> dict[str, int]:
        return {"records": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.limit is None else ReadMaxRows(self.limit)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        arrived = self._arrived()
        if isinstance(limit, ReadMaxRows):
            arrived = min(arrived, start["records"] + limit.max_rows)
        return {"records": max(arrived, start["records"])}

    def reportLatestOffset(self) -> dict[str, int]:
        return {"records": self._arrived()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        first, last = start["records"], end["records"]
        cuts = [first + (last - first) * part // 4 for part in range(5)]
        return [Slice(low, high) for low, high in pairwise(cuts)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int]]:
        assert isinstance(partition, Slice)
        time.sleep(self.task_s)
        now = int(time.time())
        for number in range(partition.first, partition.end):
            yield number, now

    def _arrived(self) -> int:
        return arrived_by(self.steps, time.time() - self.started_utc_s)


class Arrivals(DataSource):
    """Numbered records that arrive in steps, with admission control and a newest offset that is reported."""

    @classmethod
    def name(cls) -> str:
        return "arrivals"

    def schema(self) -> str:
        return "number long, second long"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ArrivalReader(dict(self.options))


def arrivals(stage: Stage, steps: Sequence[tuple[float, float]], **options: float) -> DataFrame:
    """A stream of numbered records that arrive in steps."""
    stage.spark.dataSource.register(Arrivals)
    reader = stage.spark.readStream.format("arrivals").option("steps", json.dumps(list(steps)))
    reader = reader.option("started_utc_s", str(stage.started_utc_s))
    for key, value in options.items():
        reader = reader.option(key, str(value))
    return reader.load()


def micro_batches(stage: Stage, *, rows: int, partitions: int, advance_ms: int = 1000) -> DataFrame:
    """Spark's own source of a fixed number of rows per batch."""
    reader = stage.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
    return reader.option("numPartitions", partitions).option("advanceMillisPerBatch", advance_ms).load()


def into_nothing(stream: DataFrame, stage: Stage, name: str, every: str | None, mode: str = "append") -> StreamingQuery:
    """Starts a query whose results are computed and dropped."""
    writer = stream.writeStream.format("noop").queryName(name).outputMode(mode)
    writer = writer.option("checkpointLocation", f"file:{stage.folder / 'checkpoint'}")
    return (writer.trigger(processingTime=every) if every else writer).start()


def start_foreach_batch(stage: Stage) -> StreamingQuery:
    out = f"file:{stage.folder}"

    def write_twice(batch: DataFrame, batch_id: int) -> None:
        if (stage.folder / "refuse").exists():
            raise RuntimeError("the sink refused the batch")
        # Every second batch does without the cache, to see how often its rows are counted then.
        if batch_id % 2 == 0:
            batch.persist()
        batch.filter("value % 2 = 0").write.mode("append").parquet(f"{out}/even")
        batch.filter("value % 2 = 1").write.mode("append").parquet(f"{out}/odd")
        batch.unpersist()

    writer = micro_batches(stage, rows=2000, partitions=4).writeStream.queryName("foreach-batch")
    writer = writer.option("checkpointLocation", f"{out}/checkpoint").trigger(processingTime="3 seconds")
    return writer.foreachBatch(write_twice).start()


def run_a_job_of_no_query(stage: Stage) -> str:
    # In a thread of its own: a look must not wait for it.
    threading.Thread(target=lambda: stage.spark.range(0, 3_000_000, 1, 3).selectExpr("sum(id)").collect()).start()
    return "ran a batch job that belongs to no query"


def refuse_from_now_on(stage: Stage) -> str:
    (stage.folder / "refuse").touch()
    return "made the sink raise an error"


FAST_STEPS = ((20.0, 20.0), (8.0, 0.0), (90.0, 1500.0))
"""Easily kept up with, then nothing at all, then more than the read limit lets through."""
FAST_LIMIT = 300


def start_as_fast_as_possible(stage: Stage) -> StreamingQuery:
    stream = arrivals(stage, FAST_STEPS, limit=FAST_LIMIT, task_s=0.15)
    return into_nothing(stream.repartition(3, "number"), stage, "as-fast-as-possible", None)


def fast_truth(stage: Stage) -> Truth:
    return {"arrived": arrived_by(FAST_STEPS, stage.elapsed_s()), "started_utc_s": stage.started_utc_s}


def has_been_flooded(stage: Stage) -> bool:
    """Whether three full batches have been read of what came last."""
    lasts_s = sum(lasts_s for lasts_s, _ in FAST_STEPS[:2])
    assert stage.query is not None
    full = [one for one in stage.query.recentProgress if one["numInputRows"] == FAST_LIMIT]
    return stage.elapsed_s() > lasts_s + 5 and len(full) > 2


def start_stateful_window(stage: Stage) -> StreamingQuery:
    stream = micro_batches(stage, rows=3000, partitions=3, advance_ms=2000).withWatermark("timestamp", "4 seconds")
    counts = stream.groupBy(window("timestamp", "6 seconds"), (col("value") % 50).alias("key")).count()
    return into_nothing(counts, stage, "stateful-window", "2 seconds", "update")


PAYMENT_STEPS = ((12.0, 40.0),)
ROWS_PER_FILE = 50
FILES_AT_ONCE = 6


def start_stream_join(stage: Stage) -> StreamingQuery:
    inbox = stage.folder / "in"
    inbox.mkdir(exist_ok=True)
    reader = stage.spark.readStream.schema("order_id long, order_time timestamp").format("json")
    orders = reader.option("maxFilesPerTrigger", 4).load(f"file:{inbox}").withWatermark("order_time", "3 seconds")
    paid = arrivals(stage, PAYMENT_STEPS).selectExpr("number as paid_id", "timestamp_seconds(second) as paid_time")
    paid = paid.withWatermark("paid_time", "3 seconds")
    in_time = "paid_time between order_time - interval 5 second and order_time + interval 20 second"
    return into_nothing(orders.join(paid, expr(f"order_id = paid_id and {in_time}")), stage, "stream-join", "2 seconds")


def write_order_files(stage: Stage) -> str:
    """Writes some files, each moved into place complete so that none is read half."""
    inbox = stage.folder / "in"
    for _ in range(FILES_AT_ONCE):
        number = len(list(inbox.iterdir()))
        first = number * ROWS_PER_FILE
        # Each is later than the one before, so that after the last there is still state to clean up.
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(stage.started_utc_s + 5 * number))
        lines = [json.dumps({"order_id": first + row, "order_time": at}) for row in range(ROWS_PER_FILE)]
        unfinished = stage.folder / "unfinished"
        unfinished.write_text("\n".join(lines))
        unfinished.rename(inbox / f"orders-{first:06}.json")
    return f"wrote {FILES_AT_ONCE} files of {ROWS_PER_FILE} orders"


def join_truth(stage: Stage) -> Truth:
    files = len(list((stage.folder / "in").iterdir()))
    payments = arrived_by(PAYMENT_STEPS, stage.elapsed_s())
    return {"files": files, "orders": files * ROWS_PER_FILE, "payments": payments}


def has_run_dry(stage: Stage) -> bool:
    """Whether all has been read and joined, and there was a trigger without data."""
    assert stage.query is not None
    status, last = stage.query.status, stage.query.lastProgress
    is_idle = not status["isDataAvailable"] and not status["isTriggerActive"]
    return stage.batches() > 5 and is_idle and last is not None and last["numInputRows"] == 0


def warm_up(spark: SparkSession) -> None:
    """Starts Python workers and loads classes, or the first batch would take most of a short recording."""
    same = udf(lambda value: value, "long", useArrow=False)
    for _ in range(2):
        rows = spark.range(0, 100, 1, 4).repartition(4, "id").select(same("id"))
        rows.write.format("noop").mode("overwrite").save()


def start_python_udf(stage: Stage) -> StreamingQuery:
    def slowly(value: int) -> int:
        time.sleep(0.011)
        return value + 1

    plus_one = udf(slowly, "long", useArrow=False)
    stream = micro_batches(stage, rows=300, partitions=6).select(plus_one("value").alias("value"))
    return into_nothing(stream, stage, "python-udf", "2 seconds")


def grow_to_three(stage: Stage) -> str:
    request_total(stage, 3)
    return "requestTotalExecutors(3)"


def request_total(stage: Stage, executors: int) -> None:
    """Asks for a total; asking for fewer than there are ends none."""
    context = stage.spark.sparkContext
    nothing_local = context._jvm.scala.collection.immutable.Map.newBuilder().result()  # type: ignore[union-attr]
    context._jsc.sc().requestTotalExecutors(executors, 0, nothing_local)
    stage.requested = executors


def let_one_leave(stage: Stage) -> str:
    """Decommissions the executor of the lowest id, in the middle of whatever it runs."""
    context = stage.spark.sparkContext
    backend = context._jsc.sc().schedulerBackend()
    ids = sorted(backend.getExecutorIds().mkString(",").split(","), key=int)
    jvm: Any = context._jvm
    why = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("recording", jvm.scala.Option.empty())
    # The total first: whoever ends while fewer would be left is replaced.
    request_total(stage, stage.requested - 1)
    backend.decommissionExecutor(ids[0], why, False, False)
    return f"decommissionExecutor({ids[0]})"


WORKLOADS = (
    Workload(
        name="foreach-batch",
        sentence="foreachBatch with two filtered parquet writes, the batch cached in even batches only; "
        "a job of no query runs beside it; ends because the sink raises an error",
        trigger="processing time 3 s",
        read_limit="none, but the source makes exactly 2,000 rows per batch",
        start=start_foreach_batch,
        acts=((after(2), run_a_job_of_no_query), (after(5), refuse_from_now_on)),
        until=lambda stage: stage.query is not None and not stage.query.isActive,
    ),
    Workload(
        name="as-fast-as-possible",
        sentence="a Python source with admission control, repartitioned by key and dropped; 20 records/s for 20 s, "
        "none for 8 s, then 1,500/s",
        trigger="as fast as possible",
        read_limit="300 records per batch",
        start=start_as_fast_as_possible,
        truth=fast_truth,
        until=has_been_flooded,
    ),
    Workload(
        name="stateful-window",
        sentence="count per key in windows of 6 s behind a watermark of 4 s, update mode, state in RocksDB",
        trigger="processing time 2 s",
        read_limit="none, but the source makes exactly 3,000 rows per batch",
        start=start_stateful_window,
        until=after(8),
        settings={
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state"
            ".RocksDBStateStoreProvider",
        },
    ),
    Workload(
        name="stream-join",
        sentence="inner join of orders (json files) and payments (a Python source) within a time range, both with "
        "watermarks, default state store; both inputs dry up",
        trigger="processing time 2 s",
        read_limit="4 files per batch for orders, none for payments",
        start=start_stream_join,
        settings={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.multipleWatermarkPolicy": "max",
        },
        acts=tuple((after(batches), write_order_files) for batches in range(3)),
        truth=join_truth,
        until=has_run_dry,
    ),
    Workload(
        name="python-udf",
        sentence="a plain Python udf that takes 11 ms per row; executors grow from 2 to 3, then one leaves",
        trigger="processing time 2 s",
        read_limit="none, but the source makes exactly 300 rows per batch",
        start=start_python_udf,
        warm=False,
        most_executors=3,
        acts=(
            (after(2), grow_to_three),
            (lambda stage: stage.executors() == 3 and stage.batches() > 5, let_one_leave),
        ),
        until=lambda stage: stage.requested == 2 and stage.executors() == 2 and stage.batches() > 6,
        look_every_s=0.73,
        # An executor told to leave while it runs a task is gone only with the next block migration, or 30 s later.
        settings={
            "spark.decommission.enabled": "true",
            "spark.storage.decommission.enabled": "true",
            "spark.storage.decommission.replicationReattemptInterval": "5s",
        },
    ),
)

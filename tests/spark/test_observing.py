"""What the listener inside a real driver sees of real queries."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, window
from pyspark.sql.streaming.query import StreamingQuery

from elastream.core.credible import credible
from elastream.core.observation import Observation, Query
from elastream.development.cluster.local_cluster import LocalCluster
from elastream.development.embedded_source import newest, stream
from elastream.loop.clock import SystemClock
from elastream.spark.jvm.listener import JvmListener
from elastream.spark.observe.observer import Observer
from elastream.spark.scale.roster import Registered
from tests.spark.driving import driver
from tests.unit.spark.reading import FixedSizes

pytestmark = pytest.mark.needs("spark")

# Generous: the machine may be busy with other things.
PATIENCE_S = 120.0
SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.locality.wait": "0s"}


class Watcher:
    """Looks and folds, as the platform does once per tick."""

    def __init__(self, spark: SparkSession) -> None:
        self.watch = JvmListener.install(spark)
        self.clock = SystemClock()
        self.observing = Observer(application=spark.sparkContext.applicationId, bounds=(1, 4), slots_per_worker=1)
        self.seen: list[Observation] = []

    def observe(self) -> Observation:
        look = self.watch.look()
        assert (look.failures, look.malformed) == (0, 0), look.failure
        here = tuple(name for name, one in look.executors.items() if one.removed_s is None)
        at_s, utc_s = self.clock.now_s(), self.clock.utc_s()
        now = self.observing.fold(look, Registered(here, ()), FixedSizes(), at_s=at_s, utc_s=utc_s)
        self.seen.append(credible(now, max_age_s=60.0))
        return self.seen[-1]

    def until(self, wanted: Callable[[Observation], bool], what: str) -> Observation:
        deadline = time.monotonic() + PATIENCE_S
        while not wanted(now := self.observe()):
            assert time.monotonic() < deadline, f"{what}: not seen; last: {now.queries}"
            time.sleep(0.2)
        return now


@pytest.fixture(scope="module")
def spark(cluster: LocalCluster) -> Iterator[SparkSession]:
    with driver(cluster, executors=2, settings=SETTINGS) as spark:
        yield spark


@contextmanager
def observed(spark: SparkSession) -> Iterator[Watcher]:
    observer = Watcher(spark)
    try:
        yield observer
    finally:
        for query in spark.streams.active:
            query.stop()
        observer.watch.remove()


def start(df: DataFrame, folder: Path, name: str, every: str | None = None, mode: str = "append") -> StreamingQuery:
    writer = df.writeStream.format("noop").queryName(name).outputMode(mode)
    writer = writer.option("checkpointLocation", str(folder / name))
    return (writer.trigger(processingTime=every) if every else writer).start()


def named(now: Observation, name: str) -> Query | None:
    return next((query for query in now.queries if query.name == name), None)


def finished(now: Observation, name: str) -> int:
    query = named(now, name)
    return query.finished.id if query and query.finished else -1


def test_backlog_is_right_in_a_long_batch_without_a_read_limit_and_between_triggers(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = {"workload": "constant(200)", "start": f"{time.time():.3f}", "partitions": "2"}
    with observed(spark) as observer:
        slow = stream(spark, **options).selectExpr("reflect('java.lang.Thread', 'sleep', 10L) as slept", "offset")
        query = start(slow, tmp_path, "long", "1 second")

        def is_long(now: Observation) -> bool:
            seen = named(now, "long")
            return bool(seen and seen.running and seen.running.rows and now.at_s - seen.running.started_s > 3)

        now = observer.until(is_long, "a batch that runs for 3 s")
        seen = named(now, "long")
        assert seen is not None
        assert seen.running is not None
        source = seen.sources[0]
        assert source.read_limit is None
        assert source.arrived_from == "probe"
        assert source.committed is not None
        # Of the same moment, but for the time between the look and the clock.
        assert source.backlog == pytest.approx(newest(options, now.utc_s) - source.committed.value, abs=100)
        assert source.backlog is not None
        assert source.backlog > (seen.running.rows or 0) + 300
        assert source.backlog_age_s is not None
        assert source.backlog_age_s.value > 3
        query.stop()

        quick = start(stream(spark, **options), tmp_path, "quick", "6 seconds")
        now = observer.until(
            lambda now: (seen := named(now, "quick")) is not None and seen.phase == "between-triggers",
            "the time between two triggers",
        )
        seen = named(now, "quick")
        assert seen is not None
        committed = seen.sources[0].committed
        assert committed is not None
        assert seen.sources[0].backlog == pytest.approx(newest(options, now.utc_s) - committed.value, abs=100)
        quick.stop()


def counted(spark: SparkSession) -> DataFrame:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 200).load().withWatermark("timestamp", "2 seconds")
    return rows.groupBy(window("timestamp", "4 seconds"), (col("value") % 20).alias("key")).count()


def test_operators_have_true_rates_and_keep_their_names_after_a_restart_and_in_foreach_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    def write(batch: DataFrame, number: int) -> None:
        batch.persist()
        batch.groupBy("count").count().write.format("noop").mode("append").save()
        batch.write.format("noop").mode("append").save()
        batch.unpersist()

    with observed(spark) as observer:
        query = start(counted(spark), tmp_path, "counted", mode="update")
        before = named(observer.until(lambda now: finished(now, "counted") >= 2, "three batches"), "counted")
        query.stop()
        query = start(counted(spark), tmp_path, "counted", mode="update")
        last = finished(observer.seen[-1], "counted")
        after = named(observer.until(lambda now: finished(now, "counted") >= last + 2, "two more"), "counted")
        query.stop()
        assert before is not None
        assert after is not None
        assert before.id == after.id
        names = {
            tuple(sorted(work.name for work in one.operators))
            for now in observer.seen
            if (one := named(now, "counted")) and one.operators
        }
        assert names == {("aggregate-0", "read-0")}
        for work in after.operators:
            assert work.busy_s is not None
            assert work.records_in is not None
            assert work.records_in.value > 0 < work.busy_s.value

        writer = counted(spark).writeStream.foreachBatch(write).outputMode("update").queryName("each")
        each = writer.option("checkpointLocation", str(tmp_path / "each")).start()
        seen = named(observer.until(lambda now: finished(now, "each") >= 2, "three batches"), "each")
        each.stop()
        assert seen is not None
        assert {"aggregate-0", "read-0"} <= {work.name for work in seen.operators}
        assert seen.other_s is not None
        assert seen.other_s.value <= 0.2 * sum(work.busy_s.value for work in seen.operators if work.busy_s)


def test_two_queries_and_a_job_of_none_are_attributed(spark: SparkSession, tmp_path: Path) -> None:
    def slow(numbers: Iterable[int]) -> Iterable[int]:
        time.sleep(5)
        return numbers

    with observed(spark) as observer:
        rates = spark.readStream.format("rate").option("rowsPerSecond", 100)
        first = start(rates.option("numPartitions", 10).load(), tmp_path, "first")
        other = spark.newSession().readStream.format("rate").option("rowsPerSecond", 50)
        second = start(other.option("numPartitions", 2).load(), tmp_path, "second")
        both = ("first", "second")
        observer.until(lambda now: all(finished(now, name) >= 1 for name in both), "two batches of each")
        job = threading.Thread(target=lambda: spark.sparkContext.parallelize([1, 2], 2).mapPartitions(slow).count())
        job.start()
        busy = observer.until(lambda now: bool(now.other_busy_slots and now.other_busy_slots.value), "the job")
        job.join()
        assert {query.name for query in busy.queries} == set(both)
        assert busy.pools[0].workers
        assert all(worker.cpu_from in (None, "proc") for worker in busy.pools[0].workers)
        assert any(worker.memory_bytes for worker in busy.pools[0].workers)
        first.stop()
        second.stop()


def test_a_watch_can_be_taken_away_and_put_back_in_the_same_jvm(spark: SparkSession) -> None:
    for _ in range(2):
        watch = JvmListener.install(spark)
        spark.range(10).count()
        assert watch.look().failures == 0
        watch.remove()

"""What being watched costs a live application, and what changing its executors does to its batches.

Everything is measured side by side in one run, in pairs that alternate, because the machine may be shared: ratios with
their quartiles, and "inconclusive" where they lie on both sides of the goal.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from benchmarks.machine import machine
from elastream.core.decision import Decision
from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from elastream.development.emulated_capacity import EmulatedCapacity
from elastream.loop.clock import SystemClock
from elastream.spark.jvm.listener import JvmListener
from elastream.spark.observe.host_usage import HostUsage
from elastream.spark.platform import SparkPlatform
from elastream.spark.session import configure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS = 200
ROUNDS = 6
BATCHES = 5
CHANGES = 4
CAPACITY = EmulatedCapacity(rows_per_s=1_000)


def main() -> None:
    """Print one line per question."""
    print(machine())
    with LocalCluster(ClusterSettings(workers=2, cores=6, memory="6g")) as cluster, TemporaryDirectory() as folder:
        spark = session(cluster, executors=12)
        try:
            query = wide_query(spark, Path(folder) / "wide")
            wait_batches(query, 3)
            cost_of_being_watched(spark, query)
            time_of_a_look(spark, query)
            query.stop()
            changes(spark, Path(folder) / "changes")
        finally:
            spark.stop()


def session(cluster: LocalCluster, executors: int) -> SparkSession:
    """An application with that many executors of one core."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("watching").config(map=dict(cluster.settings_for_driver()))
    builder = builder.config("spark.executor.memory", "512m").config("spark.log.level", "OFF")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
    builder = builder.config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
    builder = builder.config("spark.sql.shuffle.partitions", "12")
    spark: SparkSession = configure(builder, (1, executors)).getOrCreate()
    return spark


def wide_query(spark: SparkSession, folder: Path) -> Any:
    """Two hundred tasks a batch that do next to nothing: what is left is the driver's work."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20_000).option("numPartitions", TASKS)
    counted = rows.load().groupBy("value").count()
    writer = counted.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(folder))
    return writer.trigger(processingTime="1 second").start()


def wait_batches(query: Any, number: int) -> list[float]:
    """Durations of the next so many batches, in seconds."""
    first = query.lastProgress["batchId"] if query.lastProgress else -1
    while query.lastProgress is None or query.lastProgress["batchId"] < first + number:
        time.sleep(0.05)
    recent = [p for p in query.recentProgress if first < p["batchId"] <= first + number]
    return [p["durationMs"]["triggerExecution"] / 1000 for p in recent]


def driver_cpu_s() -> float:
    """Processor time of this process and the driver's JVM."""
    own = os.times()
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            ticks += int(fields[11]) + int(fields[12])
    return own.user + own.system + ticks / os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """CPU seconds per batch."""

    driver: float
    application: float


def cost_of_being_watched(spark: SparkSession, query: Any) -> None:
    """Driver CPU per batch with and without a look per second, in pairs, and the time that events waited for us."""
    usage = HostUsage(str(spark.sparkContext.applicationId))
    shares, waits = [], []
    for _ in range(ROUNDS):
        without = cpu_per_batch(query, usage, lambda: None)
        watch = JvmListener.install(spark)
        before, first = listening_ms(spark), query.lastProgress["batchId"]
        watched = cpu_per_batch(query, usage, watch.look)
        waits.append((listening_ms(spark) - before) / int(query.lastProgress["batchId"] - first))
        watch.remove()
        shares.append((watched.driver - without.driver) / without.application * 100)
    low, middle, high = statistics.quantiles(shares, n=4)
    verdict = "met" if high <= 2 else "MISSED" if low > 2 else "inconclusive"
    print(
        f"being watched, {TASKS} tasks a batch and a look per second: driver CPU more by {middle:.1f} % of the "
        f"application's (quartiles {low:.1f}..{high:.1f})   goal 2: {verdict}"
    )
    low, middle, high = statistics.quantiles(waits, n=4)
    print(f"listener delay: {middle:.2f} ms a batch (quartiles {low:.2f}..{high:.2f})")


def cpu_per_batch(query: Any, usage: HostUsage, look: Callable[[], object]) -> Spent:
    """Of the driver, and of driver and executors together."""
    first, driver_s, executors_s = query.lastProgress["batchId"], driver_cpu_s(), executors_cpu_s(usage)
    while query.lastProgress["batchId"] < first + BATCHES:
        look()
        time.sleep(1.0)
    batches = int(query.lastProgress["batchId"] - first)
    driver_s = driver_cpu_s() - driver_s
    return Spent(driver_s / batches, (driver_s + executors_cpu_s(usage) - executors_s) / batches)


def executors_cpu_s(usage: HostUsage) -> float:
    """Processor time of all executors."""
    return sum(one.cpu_s for one in usage.read().values())


def listening_ms(spark: SparkSession) -> float:
    """Time that our listener has spent on events so far, as Spark measures it: later events wait for it."""
    context: Any = spark.sparkContext._jsc
    timer = context.sc().listenerBus().metrics().getTimerForListenerClass(listener_class(spark))
    return timer.get().getCount() * timer.get().getSnapshot().getMean() / 1e6 if timer.isDefined() else 0.0


def listener_class(spark: SparkSession) -> Any:
    """Class of the listener that watches."""
    listeners = cast("Any", spark.sparkContext._jsc).sc().listenerBus().listeners()
    found = [one.getClass() for one in listeners if one.getClass().getSimpleName() == "Watch"]
    return found[0]


def time_of_a_look(spark: SparkSession, query: Any) -> None:
    """A tick's observe with twelve executors and 200 tasks a batch."""
    platform = SparkPlatform(spark, SystemClock(), bounds=(1, 12))
    times = []
    for _ in range(20):
        start = time.perf_counter()
        platform.observe()
        times.append((time.perf_counter() - start) * 1000)
        time.sleep(0.5)
    platform.close()
    low, middle, high = statistics.quantiles(times, n=4)
    verdict = "met" if high < 20 else "MISSED" if low > 20 else "inconclusive"
    spread = f"quartiles {low:.1f}..{high:.1f}"
    print(f"observe, 12 executors, {TASKS} tasks a batch: {middle:.1f} ms ({spread})   goal 20: {verdict}")


def changes(spark: SparkSession, folder: Path) -> None:
    """Batches around a shrink, and how long a growth takes, with slots that do not fight for the machine's cores."""
    print(CAPACITY.note())
    query = limited_query(spark, folder)
    clock = SystemClock()
    platform = SparkPlatform(spark, clock, bounds=(1, 12))
    platform.observe()
    settle(platform, 6)
    wait_batches(query, BATCHES)
    around: list[float] = []
    steady: list[float] = []
    for _ in range(CHANGES):
        size(platform, 3)
        around += wait_batches(query, 2)
        settle(platform, 3)
        steady += wait_batches(query, BATCHES)
        asked_s = clock.now_s()
        size(platform, 6)
        settle(platform, 6)
        while any(coming.first_task_s is None for coming in platform.executors.roster.comings[-3:]):
            wait_batches(query, 1)
            settle(platform, 6)
        tell_growth(platform, asked_s)
    query.stop()
    platform.close()
    usual_s = statistics.median(steady)
    low, middle, high = statistics.quantiles([one / usual_s for one in around], n=4)
    verdict = "met" if high <= 1.3 else "MISSED" if low > 1.3 else "inconclusive"
    print(
        f"shrink 6 to 3: the batch it happened in and the next took {middle:.2f} times "
        f"(quartiles {low:.2f}..{high:.2f}) "
        f"the steady {usual_s:.2f} s   goal 1.3: {verdict}"
    )


def limited_query(spark: SparkSession, folder: Path) -> Any:
    """Twelve tasks a batch that take a second each, and state behind them."""
    from pyspark.sql.functions import col

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 12_000).option("numPartitions", 12)
    counted = CAPACITY.limit(rows.load()).groupBy((col("value") % 10_000).alias("key")).count()
    writer = counted.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(folder))
    return writer.start()


def tell_growth(platform: SparkPlatform, asked_s: float) -> None:
    """Our part and Spark's of the last growth."""
    parts = []
    for coming in platform.executors.roster.comings[-3:]:
        began_s = (coming.first_task_s or coming.registered_s) - asked_s
        ours_ms = (coming.asked_s - asked_s) * 1000
        parts.append(
            f"ours {ours_ms:.0f} ms, registered {coming.registered_s - asked_s:.1f} s, first task {began_s:.1f} s"
        )
    print(f"grow 3 to 6, since apply: {'; '.join(parts)}")


def size(platform: SparkPlatform, workers: int) -> None:
    """Ask for a size."""
    platform.apply(Decision(allocation={"executors": workers}, reason="benchmark"))


def settle(platform: SparkPlatform, workers: int) -> None:
    """Until the size is there and nobody is leaving."""
    while True:
        pool = platform.observe().pools[0]
        if pool.ready == workers and not pool.leaving:
            return
        size(platform, workers)
        time.sleep(0.5)


if __name__ == "__main__":
    main()

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
from typing import TYPE_CHECKING, Any

from benchmarks.machine import machine
from elastream.core.decision import Decision
from elastream.loop.clock import SystemClock
from elastream.spark.cluster import ClusterSettings, LocalCluster
from elastream.spark.platform import SparkPlatform
from elastream.spark.session import configure
from elastream.spark.watch import JvmWatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS = 200
ROUNDS = 6
BATCHES = 5


def main() -> None:
    """Print one line per question."""
    print(machine())
    with LocalCluster(ClusterSettings(workers=2, cores=6, memory="6g")) as cluster, TemporaryDirectory() as folder:
        spark = session(cluster, executors=12)
        try:
            query = wide_query(spark, Path(folder))
            wait_batches(query, 3)
            cost_of_being_watched(spark, query)
            time_of_a_look(spark, query)
            changes(spark, query)
            query.stop()
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


def cost_of_being_watched(spark: SparkSession, query: Any) -> None:
    """Driver CPU per batch with and without, in pairs."""
    ratios = []
    for _ in range(ROUNDS):
        without = cpu_per_batch(query, lambda: None)
        watch = JvmWatch.install(spark)
        watched = cpu_per_batch(query, watch.look)
        watch.remove()
        ratios.append(watched / without)
    low, middle, high = statistics.quantiles(ratios, n=4)
    verdict = "met" if high <= 1.02 else "MISSED" if low > 1.02 else "inconclusive"
    print(
        f"driver CPU per batch of {TASKS} tasks, watched with a look per second over unwatched: "
        f"{middle:.3f} (quartiles {low:.3f}..{high:.3f})   goal 1.02: {verdict}"
    )


def cpu_per_batch(query: Any, look: Callable[[], object]) -> float:
    """CPU seconds of the driver per batch, with a look every second."""
    first, start = query.lastProgress["batchId"], driver_cpu_s()
    while query.lastProgress["batchId"] < first + BATCHES:
        look()
        time.sleep(1.0)
    return (driver_cpu_s() - start) / int(query.lastProgress["batchId"] - first)


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


def changes(spark: SparkSession, query: Any) -> None:
    """Batches around a shrink, and how long a growth takes."""
    clock = SystemClock()
    platform = SparkPlatform(spark, clock, bounds=(1, 12))
    platform.observe()
    size(platform, 6)
    around = wait_batches(query, 2)
    settle(platform, 6)
    steady = statistics.median(wait_batches(query, BATCHES))
    worst = max(around) / steady
    print(
        f"shrink 12 to 6: the batch it happened in and the next took {worst:.2f} times the steady {steady:.2f} s   "
        f"goal 1.3: {'met' if worst <= 1.3 else 'MISSED'}"
    )
    size(platform, 9)
    settle(platform, 9)
    wait_batches(query, 2)
    platform.observe()
    size(platform, 9)
    platform.observe()
    for coming in platform.executors.roster.comings[-3:]:
        first = None if coming.first_task_s is None else coming.first_task_s - coming.asked_s
        registered, began = coming.registered_s - coming.asked_s, "?" if first is None else f"{first:.1f}"
        took = f"registered after {registered:.1f} s, first task after {began} s"
        print(f"grow 6 to 9: executor {coming.id} {took}")
    platform.close()


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

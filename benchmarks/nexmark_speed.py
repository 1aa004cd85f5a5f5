"""Nexmark's events per second, alone and through the embedded source into a no-op sink, on one core (goal: 1,000,000).

Beside each stream stands, in the same run, the smallest generator there is (`keyed`): the ratio says what the columns
and texts of Nexmark cost. Both alternate, because the machine may be shared, and events are set against the processor
time of the driver, its tasks and their Python together; the wall's figure stands beside it.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import machine
from benchmarks.source_speed import tree_cpu_s
from elastream.daemons.java import java_home
from elastream.events.options import events

GOAL_RPS = 1_000_000
EVENTS = 1_000_000
WARM_UPS, RUNS = 2, 5
# In Spark: so many batches of a query, of which the first is not counted, and so many queries of each kind.
BATCHES, QUERIES = 3, 4
WORKLOAD = "cosine(1M..9M, period=10m, noise=100k)"
BASELINE = "keyed"
KINDS: dict[str, dict[str, str]] = {
    BASELINE: {"workload": WORKLOAD},
    **{
        stream: {"workload": WORKLOAD, "generator": "nexmark", "stream": stream}
        for stream in ("persons", "auctions", "bids")
    },
    "bids, no filler": {"workload": WORKLOAD, "generator": "nexmark", "stream": "bids", "avgBidByteSize": "0"},
}


def main() -> None:
    """Print both figures of every stream, and the ratio of each to the smallest generator."""
    print(machine())
    print("alone, events per CPU-second")
    show(alone(), goal=True)
    # Inherited by the JVM and the Python workers.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ |= {"JAVA_HOME": str(java_home().path), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = in_spark(Path(folder))
    print("into a no-op sink of Spark, events per CPU-second of all processes")
    show(cpu, goal=False)
    print("the same per second of the wall, whatever else ran")
    show(wall, goal=False)


def show(found: dict[str, list[float]], *, goal: bool) -> None:
    """A line per kind."""
    for kind, rates in found.items():
        ratios = [one / other for one, other in zip(rates, found[BASELINE], strict=True)]
        line = f"  {kind:16} {median(rates):12,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
        line += f"   ratio to {BASELINE} {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        if goal and kind == "bids":
            line += f"   goal {GOAL_RPS:,} {'met' if median(rates) >= GOAL_RPS else 'MISSED'}"
        print(line)


def alone() -> dict[str, list[float]]:
    """Into Arrow batches of this process, which are thrown away."""
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for run in range(WARM_UPS + RUNS):
        for kind, options in KINDS.items():
            began_s = time.process_time()
            events(options, 0, EVENTS)
            if run >= WARM_UPS:
                found[kind].append(EVENTS / (time.process_time() - began_s))
    return found


def in_spark(folder: Path) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Rates by processor and by wall time; the first query of each kind warms the JVM up."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "OFF")
    spark = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
    cpu: dict[str, list[float]] = {kind: [] for kind in KINDS}
    wall: dict[str, list[float]] = {kind: [] for kind in KINDS}
    try:
        for run in range(QUERIES):
            for kind, options in KINDS.items():
                cpu_s, wall_s = one_query(spark, options, folder / f"{kind}-{run}")
                if run > 0:
                    cpu[kind].append(EVENTS / cpu_s)
                    wall[kind].append(EVENTS / wall_s)
    finally:
        spark.stop()
    return cpu, wall


def one_query(spark: Any, options: dict[str, str], checkpoint: Path) -> tuple[float, float]:
    """Seconds of processor and of wall time from the end of one batch to that of the next: a start is not counted."""
    from elastream.development.embedded_source import stream

    # Long ago, so that every event is there already.
    start = time.time() - 86_400
    df = stream(spark, **options, partitions=1, rows=BATCHES * EVENTS, rowsPerBatch=EVENTS, start=start)
    ends: list[tuple[float, float]] = []

    def note(batch: Any, number: int) -> None:
        batch.write.format("noop").mode("overwrite").save()
        ends.append((tree_cpu_s(os.getpid()), time.monotonic()))

    writing = df.writeStream.foreachBatch(note).option("checkpointLocation", str(checkpoint))
    query = writing.trigger(availableNow=True).start()
    query.awaitTermination()
    cpu_s, wall_s = (last - first for first, last in zip(ends[0], ends[-1], strict=True))
    return cpu_s / (BATCHES - 1), wall_s / (BATCHES - 1)


if __name__ == "__main__":
    main()

"""Rows per second of the embedded source into a no-op sink, on one core (goal: 1,000,000).

Driver, task and Python worker share one core. Rows are set against the processor time of all of them, because the
machine may be shared; the wall's figure stands beside it.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.machine import cpu_seconds, machine
from elastream.daemons.java import java_home
from elastream.events.options import events

GOAL_RPS = 1_000_000
ROWS = 4_000_000
WARM_UPS, RUNS = 3, 5
WORKLOAD = "cosine(1M..9M, period=10m, noise=100k)"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the figures of the generator alone and of the source inside Spark."""
    print(machine())
    options = {"workload": WORKLOAD, "hotShare": "20%"}
    least, middle, most = cpu_seconds(lambda: events(options, 0, ROWS))
    print(f"events alone:    {ROWS / middle:12,.0f} rows per CPU-second ({ROWS / most:,.0f} to {ROWS / least:,.0f})")
    # Inherited by the JVM and the Python workers.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.environ |= {"JAVA_HOME": str(java_home().path), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = zip(*in_spark(options, Path(folder)), strict=True)
    verdict = "met" if median(cpu) >= GOAL_RPS else "MISSED"
    print(
        f"into a no-op sink: {median(cpu):10,.0f} rows per CPU-second ({min(cpu):,.0f} to {max(cpu):,.0f})", end="   "
    )
    print(f"goal {GOAL_RPS:,} {verdict}; {median(wall):,.0f} rows/s on the wall, whatever else ran")


def in_spark(options: dict[str, str], folder: Path) -> list[tuple[float, float]]:
    """Rows per second of processor and of wall time, one pair per batch."""
    from pyspark.sql import SparkSession

    from elastream.development.embedded_source import stream

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "OFF")
    spark = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
    # Long ago, so that every row is there already.
    df = stream(spark, **options, partitions=1, rowsPerBatch=ROWS, start=time.time() - 86_400)
    found: list[tuple[float, float]] = []
    last = [0.0, 0.0]

    def note(batch: object, number: int) -> None:
        batch.write.format("noop").mode("overwrite").save()  # type: ignore[attr-defined]
        now = [tree_cpu_s(os.getpid()), time.monotonic()]
        if number >= WARM_UPS:
            found.append((ROWS / (now[0] - last[0]), ROWS / (now[1] - last[1])))
        last[:] = now

    query = df.writeStream.foreachBatch(note).option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        while len(found) < RUNS and query.isActive:
            time.sleep(0.1)
    finally:
        query.stop()
        spark.stop()
    return found[:RUNS]


def tree_cpu_s(root: int) -> float:
    """Processor time of a process, all its descendants, and those of them that have ended."""
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended just now
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        used[int(stat.parent.name)] = sum(int(ticks) for ticks in fields[11:15])

    def below(process: int) -> bool:
        while process not in (0, root):
            process = parents.get(process, 0)
        return process == root

    return sum(ticks for process, ticks in used.items() if below(process)) / TICKS_PER_S


if __name__ == "__main__":
    main()

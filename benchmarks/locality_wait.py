"""How soon executors that come get work, by how long tasks wait for the one that holds their state.

A query with state in six partitions runs on one executor, and then on three. Batches are of equal size and follow each
other as fast as possible; slots are limited to a rate behind the state, so that two cores can stand for three. Six
tasks of a second each take six waves on one executor and two on three: what a batch takes after the growth over what it
took before is 1/3 at best, and 1 if the new ones get nothing to do.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import elastream
from benchmarks.machine import machine
from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from elastream.development.emulated_capacity import EmulatedCapacity
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.output import writer

WAITS = ("0s", "100ms", "3s")
PARTITIONS, MOST, BEFORE, AFTER = 6, 3, 4, 6
PATIENCE_S, LASTING_S = 240.0, 8.0
CAPACITY = EmulatedCapacity(rows_per_s=500.0)
OPTIONS = {
    "workload": "constant(20k)", "start": "0", "partitions": "1", "rows": "400000",
    "rowsPerBatch": str(round(PARTITIONS * CAPACITY.rows_per_s)),
}  # fmt: skip


def main() -> None:
    """A line per value."""
    print(machine())
    print(f"{CAPACITY.note()}; {PARTITIONS} partitions, 1 executor and then {MOST}; ideal {1 / MOST:.2f}")
    with (
        LocalCluster(ClusterSettings(workers=1, cores=MOST, memory="2g")) as cluster,
        tempfile.TemporaryDirectory() as scratch,
    ):
        for wait in sys.argv[1:] or WAITS:
            before, after = measured(cluster, wait, Path(scratch) / wait)
            later = ", ".join(f"{seconds:.1f}" for seconds in after)
            ratio = median(after) / median(before)
            print(
                f"spark.locality.wait {wait:6} a batch takes {median(before):.1f} s, then {later}: x{ratio:.2f}",
                flush=True,
            )


def measured(cluster: LocalCluster, wait: str, folder: Path) -> tuple[list[float], list[float]]:
    """Seconds of batches on one executor, without the first, and of those that began when all were there."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("locality").config(map=dict(cluster.settings_for_driver()))
    builder = builder.config("spark.locality.wait", wait).config("spark.sql.shuffle.partitions", str(PARTITIONS))
    builder = builder.config("spark.executor.memory", "512m").config("spark.log.level", "OFF")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    spark = elastream.configure(builder, executors=(1, MOST)).getOrCreate()
    try:
        resize(spark, 1)
        job = jobs.build("deduplicate")
        streams = sound(embedded(spark, job, OPTIONS))
        rows = CAPACITY.limit(job.query(streams))
        query = writer(rows, job.result, "noop", name="locality", folder=folder).start()
        first = batches(query, BEFORE)
        resize(spark, MOST)
        seen = len(query.recentProgress)
        # The one that runs now began before.
        later = batches(query, seen + 1 + AFTER)
        query.stop()
        return first[1:], later[seen + 1 :]
    finally:
        spark.stop()


def resize(spark: Any, workers: int) -> None:
    """Have so many executors."""
    settings = {"workers": workers, "interval_s": 1.0}
    handle = elastream.attach(
        spark, policy="fixed", policy_settings=settings, executors=(1, MOST), tick_s=1.0, guards={}
    )
    # At the start executors come one after the other, and those that are too many go: it has to last.
    right_since_s = until_s = time.monotonic() + PATIENCE_S
    while (now_s := time.monotonic()) < until_s and now_s - right_since_s < LASTING_S:
        is_right = (handle.status().ready, handle.status().leaving) == (workers, 0)
        right_since_s = min(right_since_s, now_s) if is_right else until_s
        time.sleep(0.2)
    handle.detach()


def batches(query: Any, number: int) -> list[float]:
    """Seconds of the first so many batches, as soon as there are as many."""
    until_s = time.monotonic() + PATIENCE_S
    while len(query.recentProgress) < number and query.isActive and time.monotonic() < until_s:
        time.sleep(0.2)
    return [one["batchDuration"] / 1000 for one in query.recentProgress]


if __name__ == "__main__":
    main()

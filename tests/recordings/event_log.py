"""Records an event log of Spark's own: `python -m tests.recordings.event_log`.

Two executors count words of a rate source by window, every two seconds, with more rows per second as time goes by; one
of them is lost on the way. What no reader of ours looks at is left out: plans, settings, places on this machine.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql.functions import col, window

from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from tests.spark.driving import INTERPRETED, driver

TARGET = Path(__file__).parent / "spark-event-log.gz"
BATCHES = 45
LOST_AFTER = 25
WITHIN_S = 300.0
_STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
_KEPT = ("sql.streaming.queryId", "streaming.sql.batchId")
_SETTINGS = ("spark.cores.max", "spark.executor.cores", "spark.task.cpus", "spark.dynamicAllocation.enabled")


def run(folder: Path) -> None:
    """The application; its log is then in the folder."""
    settings = {
        **INTERPRETED,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "false",
    }
    with (
        LocalCluster(ClusterSettings(workers=2, cores=1, memory="1g")) as cluster,
        driver(cluster, executors=2, settings=settings, name="recorded words") as spark,
    ):
        rows = spark.readStream.format("rate").option("rowsPerSecond", 2000).option("rampUpTime", "60s").load()
        counted = rows.withWatermark("timestamp", "4 seconds").groupBy(
            window("timestamp", "4 seconds"), (col("value") % 50).alias("key")
        )
        writer = counted.count().writeStream.format("noop").queryName("words").outputMode("update")
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        query: Any = writer.trigger(processingTime="2 seconds").start()
        until_s = time.monotonic() + WITHIN_S
        is_lost = False
        while (last := (query.lastProgress or {"batchId": -1})["batchId"]) < BATCHES:
            if time.monotonic() > until_s:
                raise TimeoutError(f"{last} batches within {WITHIN_S:g} s")
            if last >= LOST_AFTER and not is_lost:
                is_lost = True
                context: Any = spark.sparkContext._jsc
                context.sc().requestTotalExecutors(1, 0, spark.sparkContext._jvm.scala.collection.immutable.HashMap())  # type: ignore[union-attr]
                context.sc().killExecutor("1")
            time.sleep(0.5)
        query.stop()


def shorten(event: dict[str, Any]) -> dict[str, Any] | None:
    """The event without what is long, or of this machine; None where it says nothing of the application's work."""
    kind = event["Event"]
    if kind.startswith("org.apache.spark.sql.execution.ui") or kind == "SparkListenerBlockManagerAdded":
        return None
    if kind == "SparkListenerEnvironmentUpdate":
        given = dict(event["Spark Properties"])
        return {"Event": kind, "Spark Properties": {key: given[key] for key in _SETTINGS if key in given}}
    if isinstance(event.get("Properties"), dict):
        event["Properties"] = {key: event["Properties"][key] for key in _KEPT if key in event["Properties"]}
    for info in [*event.get("Stage Infos", []), *([event["Stage Info"]] if "Stage Info" in event else [])]:
        info.update({"Details": "", "RDD Info": [], "Accumulables": []})
    if "Task Info" in event:
        event["Task Info"]["Accumulables"] = []
        event.pop("Task Executor Metrics", None)
    if "Executor Info" in event:
        event["Executor Info"]["Log Urls"] = {}
    return event


def main() -> int:
    """Record, shorten and keep."""
    with tempfile.TemporaryDirectory(prefix="event-log-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        run(folder)
        [log] = [file for file in folder.iterdir() if file.is_file()]
        events = map(json.loads, log.read_text(encoding="utf-8").splitlines())
        told = [json.dumps(short, separators=(",", ":")) for event in events if (short := shorten(event)) is not None]
        text = "\n".join(told).replace(name, "/tmp/recorded") + "\n"
    # Without a time in it, the same lines make the same file.
    TARGET.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{TARGET.name}: {len(told)} events, {TARGET.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

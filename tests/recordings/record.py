"""Records looks at real queries as the live platform takes them: `python -m tests.recordings.record [WORKLOAD ...]`.

A line is what the driver's JVM gave (`look`), who was registered and asked for (`pool`), what executors had used
(`usage`), and what no observer knows: what was done just before (`did`) and what had really arrived (`truth`).
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from elastream.spark.jvm.listener import JvmListener
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.host_usage import HostUsage
from elastream.spark.scale.scheduler_backend import SparkBackend
from tests.recordings import workloads
from tests.recordings.workloads import WORKLOADS, Stage, Workload
from tests.spark.driving import INTERPRETED, driver
from tests.unit.spark.looks.record import scrubbed

HERE = Path(__file__).parent
LOOKS_AFTERWARDS = 5
LONGEST_S = 300.0


def wait_until(condition: Callable[[], bool], *, seconds: float, what: str) -> None:
    until_s = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until_s:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.05)


def start_with(stage: Stage, workload: Workload, backend: SparkBackend) -> None:
    """Has as many executors as the recording begins with: all there may ever be have come, the extra ones leave."""
    for _ in range(workload.most_executors - workload.executors):
        workloads.let_one_leave(stage)
    wait_until(lambda: len(backend.state().ids) == workload.executors, seconds=90, what="extra executors gone")
    if workload.warm:
        workloads.warm_up(stage.spark)


def watch(stage: Stage, workload: Workload, backend: SparkBackend) -> Iterator[dict[str, Any]]:
    """Looks until all has happened, acts when the time has come, stops the query and looks twice more."""
    listener = JvmListener.install(stage.spark)
    usage = HostUsage(str(stage.spark.sparkContext.applicationId))
    due = list(workload.acts)
    stage.started_utc_s = time.time()
    stage.query = workload.start(stage)
    began = time.monotonic()
    left = LOOKS_AFTERWARDS
    while left:
        time.sleep(workload.look_every_s)
        did = []
        if due and due[0][0](stage):
            did.append(due.pop(0)[1](stage))
        elif not due and (left < LOOKS_AFTERWARDS or workload.until(stage)):
            left -= 1
            if stage.query.isActive and left < LOOKS_AFTERWARDS - 2:
                stop_between_batches(stage)
                did.append("query.stop()")
        elif time.monotonic() - began > LONGEST_S:
            raise TimeoutError(f"{workload.name}: not over after {LONGEST_S:g} s")
        text = listener.raw()
        seen = parse_snapshot(text)
        listener.have_read(seen.note)
        listener.ask_logs(seen)
        registered = backend.state()
        yield {
            "at_s": round(time.monotonic() - began + 1000.0, 3),
            "look": json.loads(text),
            "pool": {"requested": stage.requested, "ids": registered.ids, "leaving": registered.leaving},
            "usage": {name: [one.cpu_s, one.memory_bytes] for name, one in usage.read().items()},
            "truth": workload.truth(stage) if workload.truth is not None else {},
            "did": did,
        }
    listener.remove()


def stop_between_batches(stage: Stage) -> None:
    """A stop in the middle of a batch makes Spark print pages of aborted writes."""
    query: Any = stage.query
    # A query that runs as fast as possible is hardly ever between batches: then the pages must be borne.
    with suppress(TimeoutError):
        wait_until(lambda: not query.status["isTriggerActive"], seconds=2, what="between batches")
    query.stop()


def record(cluster: LocalCluster, workload: Workload) -> None:
    settings = {"spark.locality.wait": "0s", **INTERPRETED, **workload.settings}
    target = HERE / f"{workload.name}.jsonl.gz"
    with (
        tempfile.TemporaryDirectory(prefix="recording-", ignore_cleanup_errors=True) as folder,
        driver(cluster, executors=workload.most_executors, settings=settings, name=workload.name) as spark,
    ):
        stage = Stage(
            spark=spark, folder=Path(folder), started_utc_s=time.time(), requested=workload.most_executors
        )  # fmt: skip
        backend = SparkBackend(spark)
        start_with(stage, workload, backend)
        lines = [
            scrubbed(json.dumps(line, separators=(",", ":"))) + "\n" for line in watch(stage, workload, backend)
        ]  # fmt: skip
    # Without a time in it, the same lines make the same file.
    target.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


def main(names: list[str]) -> None:
    # Executors cannot import this folder.
    cloudpickle.register_pickle_by_value(workloads)  # type: ignore[no-untyped-call]
    with LocalCluster(ClusterSettings(workers=1, cores=3, memory="3g")) as cluster:
        for workload in WORKLOADS:
            if not names or workload.name in names:
                record(cluster, workload)


if __name__ == "__main__":
    main(sys.argv[1:])

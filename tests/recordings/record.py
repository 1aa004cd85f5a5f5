"""Records what an observer in the driver can see of real streaming queries, as fixtures for tests.

python tests/recordings/record.py OUT_DIR [WORKLOAD ...]

Needs pyspark 4.2, pandas, pyarrow, a Java runtime, and Linux (/proc). Starts a small standalone cluster on loopback.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.recordings import workloads
from tests.recordings.cluster import cluster, session, wait_until
from tests.recordings.looking import Json, Observer, Scrubber
from tests.recordings.workloads import WORKLOADS, Stage, Workload


def start_with(stage: Stage, workload: Workload) -> None:
    """Waits for the executors; standalone starts as many as there may ever be, so the extra ones leave first."""
    backend = stage.spark.sparkContext._jsc.sc().schedulerBackend()

    def registered() -> int:
        return int(backend.getExecutorIds().size())

    wait_until(lambda: registered() == workload.most_executors, seconds=60, what="executors registered")
    for _ in range(workload.most_executors - workload.executors):
        workloads.let_one_leave(stage)
    wait_until(lambda: registered() == workload.executors, seconds=60, what="extra executors gone")
    if workload.warm:
        workloads.warm_up(stage.spark)


def header(stage: Stage, workload: Workload) -> Json:
    java: Any = stage.spark.sparkContext._jvm
    return {
        "spark": stage.spark.version,
        "java": java.java.lang.System.getProperty("java.version"),
        "python": sys.version.split()[0],
        "name": workload.name,
        "query": workload.sentence,
        "trigger": workload.trigger,
        "read_limit": workload.read_limit,
        "executors": workload.executors,
        "cores_per_executor": 1,
        "warm": workload.warm,
        "look_every_s": workload.look_every_s,
        "settings": workload.settings,
    }


def watch(stage: Stage, workload: Workload) -> Iterator[Json]:
    """Looks until the time is up, acts at the appointed seconds, stops the query and looks twice more."""
    observer = Observer(stage)
    due = sorted(workload.acts.items())
    stage.started_utc_s = time.time()
    stage.query = workload.start(stage)
    # Starting a query can take seconds, and looks are not to be made up for.
    began = time.monotonic()
    looks = int(workload.seconds / workload.look_every_s)
    for number in range(looks + 3):
        time.sleep(max(0.0, began + number * workload.look_every_s - time.monotonic()))
        did = []
        while due and due[0][0] <= time.monotonic() - began:
            did.append(due.pop(0)[1](stage))
        if number == looks and stage.query.isActive:
            stop_between_batches(stage)
            did.append("query.stop()")
        line = observer.look()
        if workload.truth is not None:
            line["truth"] = workload.truth(stage)
        if did:
            line["did"] = did
        yield line


def stop_between_batches(stage: Stage) -> None:
    """A stop in the middle of a batch makes Spark print pages of aborted writes."""
    query: Any = stage.query
    # A query that runs as fast as possible is hardly ever between batches: then the pages must be borne.
    with suppress(TimeoutError):
        wait_until(lambda: not query.status["isTriggerActive"], seconds=2, what="between batches")
    query.stop()


def record(address: str, workload: Workload, folder: Path, out: Path) -> None:
    folder.mkdir()
    scrub = Scrubber(folder)
    target = out / f"{workload.name}.jsonl"
    with session(address, workload) as spark, target.open("w") as lines:
        stage = Stage(spark=spark, folder=folder, started_utc_s=time.time(), requested=workload.most_executors)
        start_with(stage, workload)
        for line in chain([header(stage, workload)], watch(stage, workload)):
            lines.write(scrub.clean(json.dumps(line, separators=(",", ":"))) + "\n")
    print(f"{target.name}: {target.stat().st_size / 1000:.0f} kB")


def main() -> None:
    names = [workload.name for workload in WORKLOADS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, metavar="OUT_DIR")
    parser.add_argument("only", nargs="*", metavar="WORKLOAD", help=f"any of {', '.join(names)}; all if none is named")
    given = parser.parse_args()
    if unknown := set(given.only) - set(names):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    # Executors cannot import this folder.
    cloudpickle.register_pickle_by_value(workloads)  # type: ignore[no-untyped-call]
    given.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="recording-", ignore_cleanup_errors=True) as scratch,
        cluster(Path(scratch), workers=2, cores=2) as address,
    ):
        for workload in WORKLOADS:
            if not given.only or workload.name in given.only:
                record(address, workload, Path(scratch) / workload.name, given.out)


if __name__ == "__main__":
    main()

"""A driver in a process of its own, so that it can be killed: runs queries, and does what it is told on its input.

One line of JSON comes in, one goes out. What Spark prints goes to the log, with the rest of standard error.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import elastream
from elastream.development.cluster.driver import DriverEnvironment, settings_for_driver
from elastream.development.cluster.folder import ClusterFolder
from elastream.loop.clock import SystemClock
from elastream.spark.scale.executors import Executors, ScaleLimits
from elastream.spark.scale.scheduler_backend import SparkBackend
from elastream.spark.session import configure
from tests.spark.driving import INTERPRETED, SHORT_LIVED
from tests.spark.exactly_once import queries

STATE = "org.apache.spark.sql.execution.streaming.state"
PROVIDERS = {"rocksdb": f"{STATE}.RocksDBStateStoreProvider", "hdfs": f"{STATE}.HDFSBackedStateStoreProvider"}
# Whoever kills executors at random must expect a task, a stage or a start to be hit more often than Spark's limits
# allow for; in these tests no query may end because of it.
PATIENT = {"spark.task.maxFailures": "50", "spark.stage.maxConsecutiveAttempts": "50"}
LIMITS = ScaleLimits(ask_again_s=5.0)


def session(cluster: Path, work: Path, executors: int, *, compiled: bool) -> SparkSession:
    chosen: dict[str, bool | float | int | str | None] = {
        **settings_for_driver(ClusterFolder(path=cluster), DriverEnvironment()),
        **PATIENT,
        **SHORT_LIVED,
        "spark.executor.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        "spark.sql.shuffle.partitions": "2",
        **({} if compiled else INTERPRETED),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.appName("exactly-once").config(map=chosen)
    spark: SparkSession = configure(builder, executors=(1, executors)).getOrCreate()
    return spark


class Driver:
    """Answers to commands, which are its methods."""

    def __init__(
        self,
        *,
        cluster: str,
        work: str,
        stores: dict[str, str],
        executors: int,
        compiled: bool,
        rows: dict[str, int | None],
    ) -> None:
        self.work = Path(work)
        self.spark = session(Path(cluster), self.work, executors, compiled=compiled)
        self.executors = Executors(SparkBackend(self.spark), SystemClock(), limits=LIMITS)
        self.wanted: int | None = None
        self.handle: Any = None
        self.queries: dict[str, StreamingQuery] = {}
        for name, total in rows.items():
            # A session of its own has settings of its own, in the same application.
            own = self.spark.newSession()
            own.conf.set("spark.sql.streaming.stateStore.providerClass", PROVIDERS[stores[name]])
            self.queries[name] = queries.start(own, name, self.work, total)
            _wait_for_first_batch(self.queries[name])

    def look(self) -> dict[str, Any]:
        """Executors, and what went wrong; also keeps them at the size that is wanted."""
        if self.wanted is not None:
            self.executors.want(self.wanted)
        registered = self.executors.look()
        failed = [f"{name}: {_cause(query)}" for name, query in self.queries.items() if not query.isActive]
        return {"ready": registered.ready, "leaving": registered.leaving, "failed": failed}

    def want(self, size: int) -> None:
        self.wanted = size
        self.executors.want(size)

    def replace_controller(self) -> None:
        """As if it had died: the new one knows nothing but what it sees."""
        self.executors.stop()
        self.executors = Executors(SparkBackend(self.spark), SystemClock(), limits=LIMITS)

    def attach(self, size: int, journal: str) -> None:
        """Executors are the attachment's from now on."""
        self.wanted = None
        self.replace_controller()
        self.handle = elastream.attach(
            self.spark, policy="fixed", executors=(size, size), tick_s=1.0, journal__folder=journal
        )

    def status(self) -> dict[str, Any]:
        status = self.handle.status()
        return {"state": status.state, "ticks": status.ticks, "wanted": status.wanted, "why": status.why}

    def detach(self) -> None:
        self.handle.detach()

    def finish(self) -> None:
        """Wait for the end of finite inputs and of the batches without data that close windows; stop after that."""
        for query in self.queries.values():
            query.processAllAvailable()
        for query in self.queries.values():
            query.stop()


def _wait_for_first_batch(query: StreamingQuery) -> None:
    """One after the other: Spark gives the Python process beside the driver ten seconds to start, on any machine."""
    while query.isActive and query.lastProgress is None:
        time.sleep(0.1)


def _cause(query: Any) -> str:
    error = query.exception()
    return str(error).splitlines()[0] if error is not None else "has ended"


def serve(driver: Driver, answers: TextIO) -> None:
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(driver, order.pop("do"))(**order)
        except Exception as error:
            # Told to whoever gave the order, who decides.
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # Executors cannot import the tests.
    cloudpickle.register_pickle_by_value(queries)  # type: ignore[no-untyped-call]
    driver = Driver(**json.loads(sys.argv[1]))
    answers.write('"ready"\n')
    answers.flush()
    serve(driver, answers)
    driver.spark.stop()


if __name__ == "__main__":
    main()

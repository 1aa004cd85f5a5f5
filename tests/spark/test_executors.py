"""How a real master counts executors: one that died is replaced, one that leaves is not, and growing waits for neither.

One application for both tests, with a query whose tasks take as long as a test wants them to.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import ApplyFailed
from elastream.core.guards.scarce_cluster import ScarceCluster
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Pool
from elastream.development.cluster.local_cluster import LocalCluster
from elastream.loop.clock import SystemClock
from elastream.spark.observe.observer import POOL
from elastream.spark.platform import SparkPlatform
from elastream.spark.scale.executors import ScaleLimits
from tests.spark.driving import driver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("spark")

ELASTIC = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.replicationReattemptInterval": "1s",
}
# Generous: the machine may be busy with other things.
PATIENCE_S = 90.0
ROOM_S = 4.0


class Loop:
    """Ticks as the controller does, with a size that the test decides and the guard that heeds lack of room."""

    def __init__(self, spark: SparkSession, cluster: LocalCluster) -> None:
        self.platform = SparkPlatform(spark, SystemClock(), bounds=(1, 4), limits=ScaleLimits(room_s=ROOM_S))
        self.cluster = cluster
        self.size = 2
        self.decided: list[int] = []
        self.counted: list[int] = []
        """Executors of one core that the master had, those that start and those that leave among them."""
        self.troubles: list[str] = []
        self.asked: list[int] = []
        backend: Any = self.platform.executors._backend
        request = backend.request

        def note(total: int) -> None:
            self.asked.append(total)
            request(total)

        backend.request = note

    def tick(self) -> Pool:
        now = self.platform.observe()
        decision = Decision(allocation={POOL: self.size}, reason="the test wants it")
        decision = ScarceCluster().adjust(decision, now, Knowledge(), None)
        self.decided.append(decision.allocation[POOL])
        try:
            self.platform.apply(decision)
        except ApplyFailed as failed:
            self.troubles.append(str(failed))
        self.counted.append(self.cluster.page()["activeapps"][0]["cores"])
        return now.pools[0]

    def until(self, holds: Callable[[Pool], bool], what: str) -> Pool:
        until_s = time.monotonic() + PATIENCE_S
        while not holds(pool := self.tick()):
            assert time.monotonic() < until_s, f"no {what}; last: {pool}"
            time.sleep(0.2)
        return pool


@pytest.fixture(scope="module")
def tasks_end(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tasks end once this file is there."""
    return tmp_path_factory.mktemp("tasks") / "end"


@pytest.fixture(scope="module")
def loop(cluster: LocalCluster, tasks_end: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    """Two executors, each in a task of a query."""
    end = str(tasks_end)

    def wait(batches: Any) -> Any:
        import os
        import time

        for batch in batches:
            while not os.path.exists(end):  # noqa: PTH110 (runs in an executor)
                time.sleep(0.05)
            yield batch

    with driver(cluster, executors=4, settings=ELASTIC) as spark:
        loop = Loop(spark, cluster)
        loop.until(lambda pool: (pool.ready, pool.leaving) == (2, 0), "two executors")
        events = spark.readStream.format("rate-micro-batch").options(rowsPerBatch="2", numPartitions="2").load()
        writer = events.mapInArrow(wait, events.schema).writeStream.format("noop").trigger(processingTime="1 second")
        query = writer.option("checkpointLocation", str(tmp_path_factory.mktemp("checkpoint"))).start()
        try:
            loop.until(lambda pool: _busy(pool) == 2, "tasks on both executors")
            yield loop
        finally:
            tasks_end.touch()
            query.stop()
            loop.platform.close()


def _busy(pool: Pool) -> int:
    return sum(bool(worker.running_tasks) for worker in pool.workers)


def test_an_executor_that_was_killed_comes_again_and_is_not_taken_for_lack_of_room(loop: Loop) -> None:
    # Longer than executors take to come after they were asked for, so that only the loss can excuse the one missing.
    quiet_s = time.monotonic() + ROOM_S + 1.0
    pool = loop.until(lambda _: time.monotonic() > quiet_s, "quiet")
    before, asked = {worker.id for worker in pool.workers}, list(loop.asked)
    pid = pool.workers[0].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    loop.until(lambda pool: pool.ready == 1, "loss")
    pool = loop.until(lambda pool: pool.ready == 2, "successor")
    loop.until(lambda pool: _busy(pool) == 2, "tasks on both executors")
    assert len({worker.id for worker in pool.workers} - before) == 1
    assert (loop.asked, set(loop.decided), loop.troubles) == (asked, {2}, [])


def test_growing_does_not_wait_for_one_that_leaves_with_a_long_task_and_nobody_replaces_it(
    loop: Loop, tasks_end: Path
) -> None:
    asked, ticks = len(loop.asked), len(loop.counted)
    loop.size = 1
    before = loop.until(lambda pool: (pool.ready, pool.leaving) == (1, 1), "one that leaves")
    loop.size = 2
    grown = loop.until(lambda pool: pool.ready == 2, "growth")
    assert grown.leaving == 1, "it has a task that has not ended"
    tasks_end.touch()
    loop.until(lambda pool: pool.leaving == 0, "end of the one that leaves")
    # The master hears of it a moment after the driver, and would start another in the same breath.
    loop.until(lambda _: loop.counted[-1] == 2, "two executors, by the master's count")
    last = loop.until(lambda pool: _busy(pool) == 2, "work on both")
    assert {worker.id for worker in last.workers} < {worker.id for worker in grown.workers}
    assert len({worker.id for worker in grown.workers} - {worker.id for worker in before.workers}) == 1
    assert max(loop.counted[ticks:]) == 3
    assert (loop.asked[asked : asked + 3], loop.asked[-1], loop.troubles) == ([1, 3, 2], 2, [])

"""Operators of jobs as policies see them, on the plans that Spark really runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from elastream.core.observation import Query
from elastream.core.topology import Edge
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.job import Job
from elastream.jobs.output import writer
from elastream.jobs.running import events_to_come, run_to_the_end
from elastream.jobs.topology import FEW, topology_of

pytestmark = pytest.mark.needs("spark")


class Observer:
    """Looks and folds, as the platform does once per tick; a Spark without executors can be watched too."""

    def __init__(self, spark: Any) -> None:
        from elastream.loop.clock import SystemClock
        from elastream.spark.jvm.listener import JvmListener
        from elastream.spark.observe.observer import Observer

        self.watch = JvmListener.install(spark, asks_kafka=False)
        self.observing = Observer(application="jobs", bounds=(1, 4), slots_per_worker=1, usage=dict)
        self.clock = SystemClock()
        self.seen: list[Query] = []

    def look(self) -> None:
        from elastream.spark.scale.roster import Registered
        from tests.unit.spark.reading import FixedSizes

        look = self.watch.look()
        at_s, utc_s = self.clock.now_s(), self.clock.utc_s()
        now = self.observing.fold(look, Registered((), ()), FixedSizes(), at_s=at_s, utc_s=utc_s)
        self.seen += [query for query in now.queries if query.operators]


@contextmanager
def observer(spark: Any) -> Iterator[Observer]:
    watching = Observer(spark)
    try:
        yield watching
    finally:
        watching.watch.remove()


def run(spark: Any, job: Job, options: dict[str, str], folder: Path, watching: Observer) -> None:
    streams = sound(embedded(spark, job, options))
    query = writer(job.query(streams), job.result, "parquet", name="watched", folder=folder).start()
    run_to_the_end(query, events_to_come(job, options), patience_s=300.0, show=lambda read: watching.look())
    watching.look()


QUICK = ("deduplicate", "wordcount")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.full) for name in jobs.names()]
)
def test_operators_keep_their_names_in_every_batch_and_after_a_restart(name: str, spark: Any, tmp_path: Path) -> None:
    job = jobs.build(name)
    with observer(spark) as watching:
        run(spark, job, {**FEW, "rows": "2000"}, tmp_path, watching)
        before = watching.seen[-1]
        run(spark, job, FEW, tmp_path, watching)
    after = watching.seen[-1]
    assert before.id == after.id
    assert len(after.operators) == len({work.name for work in after.operators})
    # A look may come before all stages of the first batch have run, and after a restart: then some are still missing.
    names = {work.name for work in after.operators}
    assert {work.name for work in before.operators} == names
    assert all({work.name for work in query.operators} <= names for query in watching.seen)
    assert "query" not in names
    for work in after.operators:
        assert work.busy_s is not None
        assert work.busy_s.value > 0
        assert work.records_in is not None
    reads = [work for work in after.operators if work.name.startswith("read-")]
    assert sum(work.records_in.value for work in reads if work.records_in) == sum(
        source.committed.value for source in after.sources if source.committed
    )


def test_the_topology_of_a_job_is_that_of_its_plan(spark: Any, tmp_path: Path) -> None:
    found = topology_of(spark, jobs.build("wordcount"), tmp_path)
    assert found.topology.edges == (Edge("read-0", "aggregate-0"),)
    assert found.reads["read-0"] == ("sentences",)
    assert "Generate" in found.nodes["read-0"]
    assert "StateStoreSave" in found.nodes["aggregate-0"]
    by_name = {work.name: work for work in found.work}
    read, kept = by_name["read-0"], by_name["aggregate-0"]
    assert read.records_in is not None
    assert read.records_in.value == 4_000
    assert read.records_out is not None
    assert kept.records_in is not None
    assert read.records_out.value == kept.records_in.value


def test_options_that_nobody_reads_and_what_a_query_observes_stay_in_the_jvm(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql.functions import expr

    rows = spark.readStream.format("rate").option("rowsPerSecond", 50).option("kafka.ssl.keystore.key", "hunter2")
    observed = rows.option("harmless-by-name", "hunter2").load().observe("seen", expr("max('hunter2') as secret"))
    with observer(spark) as watching:
        target = tmp_path / "hunter2"
        query = observed.writeStream.format("parquet").option("path", str(target)).queryName("watched")
        running = query.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            # In a batch without rows nothing is observed.
            while not (last := running.lastProgress) or "hunter2" not in str(last["observedMetrics"]):
                time.sleep(0.1)
            raw = watching.watch.raw()
            while f'"batchId":{last["batchId"]}' not in raw:
                time.sleep(0.1)
                raw = watching.watch.raw()
            assert "hunter2" in last["sink"]["description"]
        finally:
            running.stop()

    assert '"rowsPerSecond":"50"' in raw
    assert "hunter2" not in raw

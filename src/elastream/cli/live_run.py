"""A query on a cluster of its own, with an autoscaler attached, from start to verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.cli.liveview import LiveView
from elastream.core.errors import ElastreamError
from elastream.jobs.job import Job, jobs
from elastream.jobs.judging import Verdict, inputs_of, judge
from elastream.jobs.output import writer, written
from elastream.spark.capacity import EmulatedCapacity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from elastream.attachment import Attachment, SwitchedOff


# A slot must hold a whole Python worker beside its JVM; with less, executors die of their own start.
EXECUTOR_MEMORY = "512m"


@dataclass(frozen=True, kw_only=True)
class LivePlan:
    """What to run."""

    job: Job
    workload: str
    duration_s: float
    policy: str
    policy_settings: dict[str, Any]
    executors: tuple[int, int]
    capacity: EmulatedCapacity
    trigger_s: float | None = 3.0
    tick_s: float = 2.0
    slo_s: float | None = None
    seed: int = 0
    master: str | None = None
    """An external cluster; None: one of our own, for as long as the run lasts."""
    guards: dict[str, dict[str, Any]]

    @property
    def name(self) -> str:
        """Of the query."""
        return jobs.name_of(self.job)

    @property
    def options(self) -> dict[str, str]:
        """Of the events of the whole job."""
        # Without it the last windows of a job would stay open for ever.
        flush = {"flush": "1h"} if self.job.result.is_final else {}
        return {
            **flush,
            "workload": self.workload,
            "seed": str(self.seed),
            "duration": f"{self.duration_s * self.capacity.scale.factor}s",
            # As many as the largest size has slots: a task has a cost of its own, which a few cores feel.
            "partitions": str(self.executors[1]),
            "timeFactor": str(self.capacity.scale.factor),
        }


@dataclass(frozen=True, kw_only=True)
class LiveResult:
    """What came of it."""

    verdict: Verdict
    rows: int
    journal: Path


def run_live(plan: LivePlan, folder: Path, view: LiveView, say: Callable[[str], None]) -> LiveResult:
    """Start a cluster, run the query under the policy until its input ends, judge the output."""
    from elastream.attachment import attach

    journal = folder / "journal"
    with _session(plan, folder, say) as spark:
        handle = attach(
            spark,
            policy=plan.policy,
            executors=plan.executors,
            slo=plan.slo_s,
            journals=[view],
            policy_settings=plan.policy_settings,
            guards=plan.guards or None,
            tick_s=plan.tick_s,
            journal__folder=str(journal),
            emulated=plan.capacity.note(),
        )
        try:
            _await_least(plan, handle)
            rows = _run_query(plan, spark, folder, say)
        finally:
            handle.detach()
    say("comparing the output with the input, record by record ...")
    verdict = judge(plan.job, inputs_of(plan.job, plan.options), written(plan.job.result, folder))
    return LiveResult(verdict=verdict, rows=rows, journal=journal)


def _await_least(plan: LivePlan, handle: Attachment | SwitchedOff) -> None:
    """A standalone cluster starts with all executors it may have; without a query, the policy lets them go."""
    until_s = time.monotonic() + 60.0
    while time.monotonic() < until_s:
        status = handle.status()
        if (status.ready, status.leaving) == (plan.executors[0], 0):
            return
        time.sleep(0.5)


def _run_query(plan: LivePlan, spark: SparkSession, folder: Path, say: Callable[[str], None]) -> int:
    from elastream.events.options import parse_options
    from elastream.jobs.inputs import embedded, stream_options

    totals = [parse_options(options).total for options in stream_options(plan.job, plan.options).values()]
    total = sum(each or 0 for each in totals)
    streams = {
        name: plan.capacity.limit(given.sound) for name, given in embedded(spark, plan.job, plan.options).items()
    }
    writing = writer(plan.job.query(streams), plan.job.result, "parquet", name=plan.name, folder=folder)
    if plan.trigger_s is not None:
        writing = writing.trigger(processingTime=f"{round(plan.trigger_s * 1000)} milliseconds")
    query = writing.start()
    # Twice as long as the load lasts is more than any policy here needs to drain what is left.
    until_s = time.monotonic() + 2 * plan.duration_s + 120.0
    try:
        while query.isActive and _committed(query) < total and time.monotonic() < until_s:
            time.sleep(0.5)
        if query.exception() is not None:
            raise ElastreamError(f"live: the query failed: {str(query.exception()).splitlines()[0]}")
        if _committed(query) < total:
            raise ElastreamError(f"live: {total - _committed(query):,} of {total:,} events are still not committed")
        # The batches without data that let the last results out.
        query.processAllAvailable()
    finally:
        # All is committed, so it stops between batches and leaves no stack traces.
        query.stop()
    return total


def _committed(query: Any) -> int:
    progress = query.lastProgress
    ends = [source["endOffset"] for source in progress["sources"]] if progress is not None else []
    # Spark gives an offset as the text that the source made of it.
    offsets = [json.loads(end) if isinstance(end, str) else end for end in ends]
    return sum(int(offset["offset"]) for offset in offsets if offset)


@contextmanager
def _session(plan: LivePlan, folder: Path, say: Callable[[str], None]) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    from elastream.spark.session import configure

    with _cluster(plan, say) as settings:
        builder = SparkSession.builder.appName("elastream-live").config("spark.executor.memory", EXECUTOR_MEMORY)
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_log_settings(folder)}")
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = configure(builder, plan.executors).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()


def _log_settings(folder: Path) -> Path:
    """What Spark has to say goes to a file: ending executors on purpose makes it print pages."""
    settings = folder / "log4j2.properties"
    settings.write_text(
        "rootLogger.level = warn\n"
        "rootLogger.appenderRef.file.ref = file\n"
        "appender.file.type = File\n"
        "appender.file.name = file\n"
        f"appender.file.fileName = {folder / 'spark.log'}\n"
        "appender.file.layout.type = PatternLayout\n"
        "appender.file.layout.pattern = %d{ISO8601} %p %c{1}: %m%n%ex\n"
    )
    return settings


@contextmanager
def _cluster(plan: LivePlan, say: Callable[[str], None]) -> Iterator[dict[str, str]]:
    if plan.master is not None:
        yield {"spark.master": plan.master}
        return
    from elastream.spark.cluster import ClusterSettings, LocalCluster

    most = plan.executors[1]
    say(f"starting a standalone cluster with room for {most} executors on this machine ...")
    cores = -(-most // 2)
    with LocalCluster(ClusterSettings(workers=2, cores=cores, memory=f"{cores}g")) as cluster:
        say(f"{cluster.master} is up: " + ", ".join(f"{name} pid {pid}" for name, pid in cluster.pids.items()))
        yield cluster.settings_for_driver()

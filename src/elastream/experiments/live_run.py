"""A query on a cluster of its own, with an autoscaler attached, from start to verdict."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from elastream.core.protocols import Journal
from elastream.core.slo import Slo
from elastream.daemons.stderr import stderr_to
from elastream.development.cluster.daemon_settings import JAVA_OPTIONS, LITTLE_WORK
from elastream.development.cluster.driver import DriverEnvironment, settings_for_driver
from elastream.development.cluster.finder import Master
from elastream.development.emulated_capacity import EmulatedCapacity
from elastream.development.time_scale import TimeScale
from elastream.jobs.batches import Batch
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.job import Job, jobs
from elastream.jobs.judging import Verdict, answered, inputs_of, judge
from elastream.jobs.latency import Latency, ResultLatency, delay, result_latency, sources_of
from elastream.jobs.local import log_to_file
from elastream.jobs.output import told, writer, written
from elastream.jobs.running import events_to_come, run_to_the_end
from elastream.jobs.settings import read_limit, settings_of
from elastream.spark.admission import require_admission

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from elastream.attachment import Attachment, SwitchedOff


# A slot must hold a whole Python worker beside its JVM; with less, executors die of their own start.
EXECUTOR_MEMORY = "512m"
# Slots that sleep gain nothing from compilers, of Java and of queries, which take the cores from what starts.
SLEEPING: dict[str, bool | float | int | str | None] = {
    "spark.executor.extraJavaOptions": f"{JAVA_OPTIONS} {LITTLE_WORK}",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# A handful of small batches: the first loads classes and starts Python workers, and the next ones find them.
WARM_UP_RPS, WARM_UP_S = 100, 6.0


@dataclass(frozen=True, kw_only=True)
class LivePlan:
    """What to run."""

    job: Job
    workload: str
    duration_s: float
    policy: str
    policy_settings: dict[str, Any]
    executors: tuple[int, int]
    capacity: EmulatedCapacity | None
    """What slots are limited to; None: the work is real."""
    scale: TimeScale = TimeScale()
    trigger_s: float | None = 3.0
    tick_s: float = 2.0
    slo: Slo | None = None
    seed: int = 0
    master: Master | None = None
    """An external cluster; None: one of our own, for as long as the run lasts."""
    guards: dict[str, Any]
    """Name -> settings, or whether it is on."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Others of `elastream config`, by path."""
    events: Mapping[str, str] = field(default_factory=dict)
    """More options of the events."""
    sink: str = "parquet"
    kafka: Mapping[str, str] = field(default_factory=dict)
    """Of Spark's Kafka sink."""
    warm_up: bool = True
    """Whether the same query runs over a few events first: what a driver does for the first time takes many times as
    long, and says nothing about an application that runs for days."""

    @property
    def name(self) -> str:
        """Of the query."""
        return jobs.name_of(self.job)

    @property
    def options(self) -> dict[str, str]:
        """Of the events of the whole job."""
        return {
            **self.job.result.flush,
            "workload": self.workload,
            "seed": str(self.seed),
            "duration": f"{self.duration_s * self.scale.factor}s",
            # As many as the largest size has slots: a task has a cost of its own, which a few cores feel.
            "partitions": str(self.executors[1]),
            **self._limit,
            **self.events,
            "timeFactor": str(self.scale.factor),
        }

    @property
    def _limit(self) -> dict[str, str]:
        """What a batch may read, where it is known what the largest size can stand."""
        if self.capacity is None:
            return {}
        return {"rowsPerBatch": str(read_limit(self.capacity.rows_per_s * self.executors[1]))}


@dataclass(frozen=True, kw_only=True)
class LiveResult:
    """What came of it."""

    verdict: Verdict | None
    """None: the sink is not one whose rows can be read again."""
    rows: int
    journal: Path
    delay: Latency | None
    results: ResultLatency | None


class RunView(Journal, Protocol):
    """Who is told how far a run has come, and of every tick."""

    def begin(self, step: str) -> None:
        """What goes on until the next step."""

    def note(self, head: str, items: Sequence[str]) -> None:
        """Something to be said once."""

    def start_load(self) -> None:
        """From now on the load's time passes."""


def run_live(plan: LivePlan, folder: Path, view: RunView) -> LiveResult:
    """Start a cluster, run the query under the policy until its input ends, judge the output."""
    from elastream.attachment import attach

    journal = folder / "journal"
    # What was told at the start is what is measured, whatever is set elsewhere.
    promised: dict[str, Any] = {"slo": plan.slo.delay_s, "slo__share": plan.slo.share} if plan.slo else {}
    with _session(plan, folder, view) as spark:
        if plan.warm_up:
            view.begin("warming up: the same query over a few events")
            _warm_up(plan, spark, folder / "warm-up")
        handle = attach(
            spark,
            policy=plan.policy,
            executors=plan.executors,
            executors__initial=plan.executors[0],
            journals=[view],
            policy_settings=plan.policy_settings,
            guards=plan.guards or None,
            tick_s=plan.tick_s,
            journal__folder=str(journal),
            emulated=plan.capacity.note() if plan.capacity else None,
            **promised,
            **plan.settings,
        )
        try:
            view.begin(f"waiting until there are {plan.executors[0]} executors")
            _await_least(plan, handle)
            batches = _run_query(plan, spark, folder, view)
        finally:
            handle.detach()
        view.begin("stopping the session and the cluster")
    return _judged(plan, batches, folder, journal, view)


def _judged(plan: LivePlan, batches: list[Batch], folder: Path, journal: Path, view: RunView) -> LiveResult:
    sources = sources_of(plan.job, plan.options)
    verdict = results = None
    if plan.sink == "parquet":
        view.begin("comparing the output with the input, record by record")
        inputs = inputs_of(plan.job, plan.options)
        verdict = judge(plan.job, inputs, written(plan.job.result, folder))
        results = result_latency(plan.job, sources, batches, answered(plan.job, inputs), told(plan.job.result, folder))
    return LiveResult(
        verdict=verdict,
        rows=sum(batch.rows for batch in batches),
        journal=journal,
        delay=delay(sources, batches),
        results=results,
    )


def _await_least(plan: LivePlan, handle: Attachment | SwitchedOff) -> None:
    """A standalone cluster starts with all executors it may have; those beyond the first size go."""
    until_s = time.monotonic() + 60.0
    while time.monotonic() < until_s:
        status = handle.status()
        if (status.ready, status.leaving) == (plan.executors[0], 0):
            return
        time.sleep(0.5)


def _warm_up(plan: LivePlan, spark: SparkSession, folder: Path) -> None:
    """Load classes, plan, start Python workers: all that a first batch does and no other."""
    few = {**plan.options, "workload": f"constant({WARM_UP_RPS})", "duration": f"{WARM_UP_S * plan.scale.factor}s"}
    folder.mkdir()
    # What others read is none of its business.
    sink = "parquet" if plan.sink == "parquet" else "noop"
    writing, options = _writing(replace(plan, sink=sink, kafka={}), spark, folder, few, name="warm-up")
    total = events_to_come(plan.job, options)
    run_to_the_end(writing.trigger(processingTime="1 second").start(), total, patience_s=180.0)
    shutil.rmtree(folder, ignore_errors=True)


def _run_query(plan: LivePlan, spark: SparkSession, folder: Path, view: RunView) -> list[Batch]:
    writing, options = _writing(plan, spark, folder, plan.options, name=plan.name)
    if plan.trigger_s is not None:
        writing = writing.trigger(processingTime=f"{round(plan.trigger_s * 1000)} milliseconds")
    # Twice as long as the load lasts is more than any policy here needs to drain what is left.
    patience_s = 2 * plan.duration_s + 120.0
    view.start_load()
    return run_to_the_end(writing.start(), events_to_come(plan.job, options), patience_s=patience_s).batches


def _writing(
    plan: LivePlan, spark: SparkSession, folder: Path, events: Mapping[str, str], *, name: str
) -> tuple[DataStreamWriter, dict[str, str]]:
    """The query before it is started, and what its events were made with."""
    # One time zero for all streams: their events belong together.
    options = {**events, "start": f"{time.time():.3f}"}
    streams = sound(embedded(spark, plan.job, options))
    if plan.capacity is not None:
        streams = {name: plan.capacity.limit(rows) for name, rows in streams.items()}
    rows = plan.job.query(streams)
    return writer(rows, plan.job.result, plan.sink, name=name, folder=folder, kafka=plan.kafka), options


@contextmanager
def _session(plan: LivePlan, folder: Path, view: RunView) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    from elastream.spark.session import configure

    with _cluster(plan, view) as settings:
        view.begin("starting a Spark session")
        builder = SparkSession.builder.appName("elastream-live").config("spark.executor.memory", EXECUTOR_MEMORY)
        if plan.capacity is not None:
            builder = builder.config(map=SLEEPING)
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log_to_file(folder)}")
        builder = builder.config(map={**settings_of(plan.executors[1]), **_connector(plan, view), **settings})
        builder = configure(builder, plan.executors)
        # A JVM tells of its modules before it has read where to log.
        with stderr_to(folder / "driver-stderr.log"):
            _require_admission(builder._options)
            spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()


def _require_admission(settings: Mapping[str, str]) -> None:
    """A cluster that is not ours may not want us, which Spark would say late and at length."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf()
    for key, value in settings.items():
        conf.set(key, value)
    SparkContext._ensure_initialized(conf=conf)
    jvm: Any = SparkContext._jvm
    known = jvm.org.apache.spark.SparkConf(True)
    for key, value in settings.items():
        known.set(key, value)
    require_admission(jvm, known)


def _connector(plan: LivePlan, view: RunView) -> dict[str, str]:
    """What writing to Kafka needs."""
    if plan.sink != "kafka":
        return {}
    from elastream.development.kafka.jars import connector_jars

    return {"spark.jars": ",".join(map(str, connector_jars(lambda text: view.note(text, ()))))}


def _joined(master: Master) -> Iterator[dict[str, str]]:
    if master.cluster is None:
        yield {"spark.master": master.url}
        return
    environment = DriverEnvironment()
    try:
        yield settings_for_driver(master.cluster, environment)
    finally:
        environment.restore()


@contextmanager
def _cluster(plan: LivePlan, view: RunView) -> Iterator[dict[str, str]]:
    if plan.master is not None:
        yield from _joined(plan.master)
        return
    from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster

    most = plan.executors[1]
    view.begin(f"starting a cluster with room for {most} executors")
    cores = -(-most // 2)
    with LocalCluster(ClusterSettings(workers=2, cores=cores, memory=f"{cores}g")) as cluster:
        view.note(f"{cluster.master} is up: ", [f"{name} pid {pid}" for name, pid in cluster.pids.items()])
        yield cluster.settings_for_driver()

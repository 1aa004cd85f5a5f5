"""A query on a cluster of its own, with an autoscaler attached, from start to verdict."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from elastream.attachment.assembly import CALMING, GUARDS
from elastream.config.guards import guard_key
from elastream.core.errors import BadInput
from elastream.core.protocols import Journal
from elastream.daemons.stderr import stderr_to
from elastream.development.cluster.daemon_settings import JAVA_OPTIONS, LITTLE_WORK
from elastream.development.cluster.driver import DriverEnvironment, settings_for_driver
from elastream.development.cluster.finder import Master, read_master
from elastream.development.emulated_capacity import EmulatedCapacity
from elastream.development.time_scale import TimeScale
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import summarise
from elastream.experiments.experiment import Experiment, LiveJob, NamedSettings
from elastream.experiments.run import Run
from elastream.experiments.run_folder import JOURNAL, PAGE, find_journal, write_results
from elastream.jobs.batches import Batch
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.job import Job, build_query, query_name
from elastream.jobs.judging import Verdict, answered, inputs_of, judge
from elastream.jobs.latency import Latency, ResultLatency, delay, result_latency, sources_of
from elastream.jobs.local import log_to_file
from elastream.jobs.output import check_sink, told, writer, written
from elastream.jobs.running import events_to_come, run_to_the_end
from elastream.jobs.settings import read_limit, settings_of
from elastream.journal.reader import read
from elastream.policies import policies
from elastream.render.page.page import write_page
from elastream.spark.admission import require_admission
from elastream.workloads import parse_workload

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
class LiveSetup:
    """A live experiment with its parts built."""

    experiment: Experiment
    subject: LiveJob
    job: Job
    executors: tuple[int, int]
    capacity: EmulatedCapacity | None
    """What slots are limited to; None: the work is real."""
    scale: TimeScale
    trigger_s: float | None
    master: Master | None
    """An external cluster; None: one of our own, for as long as the run lasts."""
    sink: str
    kafka: Mapping[str, str]
    """Of Spark's Kafka sink."""
    events: Mapping[str, str]
    """More options of the events."""
    warm_up: bool

    @property
    def name(self) -> str:
        """Of the query."""
        return query_name(self.job)

    @property
    def options(self) -> dict[str, str]:
        """Of the events of the whole job."""
        return {
            **self.job.result.flush,
            "workload": self.experiment.workload,
            "seed": str(self.experiment.seed),
            "duration": f"{self.experiment.duration_s * self.scale.factor}s",
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


def set_up_live(experiment: Experiment) -> LiveSetup:
    """Build the parts of a live experiment, and check everything before anything is started."""
    subject, bounds = experiment.subject, experiment.executors
    if not isinstance(subject, LiveJob):
        raise BadInput(f"experiment: a model runs on the simulator and not live: {subject.model}")
    if bounds.min is None or bounds.max is None:
        raise BadInput("experiment: executors: a live run needs both bounds, min and max")
    scale = TimeScale(factor=subject.time_factor)
    policy = policies.build(experiment.policy.name, experiment.policy.settings)
    scale.require(
        tick_s=scale.workload_s(experiment.tick_s),
        interval_s=scale.workload_s(policy.interval_s),
        trigger_s=None if subject.trigger_s is None else scale.workload_s(subject.trigger_s),
    )
    parse_workload(experiment.workload).series(duration_s=scale.workload_s(experiment.duration_s), seed=experiment.seed)
    kafka = dict(subject.sink_options)
    check_sink(subject.sink, kafka)
    capacity = subject.capacity_rps
    setup = LiveSetup(
        experiment=experiment,
        subject=subject,
        job=jobs.build(subject.job.name, subject.job.settings),
        executors=(bounds.min, bounds.max),
        capacity=None if capacity is None else EmulatedCapacity(rows_per_s=capacity, scale=scale),
        scale=scale,
        trigger_s=subject.trigger_s,
        master=read_master(subject.master) if subject.master is not None else None,
        sink=subject.sink,
        kafka=kafka,
        events=dict(subject.events),
        warm_up=subject.warm_up,
    )
    # Options that no events can be made with are told now.
    events_to_come(setup.job, setup.options)
    return setup


@dataclass(frozen=True, kw_only=True)
class LiveResult:
    """What came of it."""

    run: Run
    verdict: Verdict | None
    """None: the sink is not one whose rows can be read again."""
    rows: int
    delay: Latency | None
    """Of all records of the run, from the times of their commits."""
    results: ResultLatency | None

    def as_json(self) -> dict[str, Any]:
        """What a live run knows beside its summary, as plain values."""
        return {
            "verdict": None if self.verdict is None else self.verdict._asdict(),
            "rows": self.rows,
            "delay": None if self.delay is None else asdict(self.delay),
            "results": None if self.results is None else asdict(self.results),
        }

    def draw_page(self, notes: Sequence[str]) -> Path:
        """Draw the page of the run into its folder."""
        assert self.run.folder is not None
        page = self.run.folder / PAGE
        job = self.run.experiment.subject
        name = job.job.label if isinstance(job, LiveJob) else job.model
        write_page(read(find_journal(self.run.folder)), page, title=f"A live run of {name}", notes=notes)
        return page


class RunView(Journal, Protocol):
    """Who is told how far a run has come, and of every tick."""

    def begin(self, step: str) -> None:
        """What goes on until the next step."""

    def note(self, head: str, items: Sequence[str]) -> None:
        """Something to be said once."""

    def start_load(self) -> None:
        """From now on the load's time passes."""


def run_live(setup: LiveSetup, folder: Path, view: RunView) -> LiveResult:
    """Start a cluster, run the query under the policy until its input ends, judge the output, keep the results."""
    from elastream.attachment import attach

    experiment, subject = setup.experiment, setup.subject
    series = RunSeries(tick_s=experiment.tick_s)
    # What was told at the start is what is measured, whatever is set elsewhere.
    slo = experiment.slo
    promised: dict[str, Any] = {"slo": slo.delay_s, "slo__share": slo.share} if slo else {}
    with _session(setup, folder, view) as spark:
        if setup.warm_up:
            view.begin("warming up: the same query over a few events")
            _warm_up(setup, spark, folder / "warm-up")
        handle = attach(
            spark,
            policy=experiment.policy.name,
            executors=setup.executors,
            executors__initial=setup.executors[0],
            journals=[series, view],
            policy_settings=experiment.policy.settings,
            guards=switch_guards(experiment.guards),
            tick_s=experiment.tick_s,
            journal__folder=str(folder / JOURNAL),
            emulated=setup.capacity.note() if setup.capacity else None,
            **promised,
            **subject.settings,
        )
        try:
            view.begin(f"waiting until there are {setup.executors[0]} executors")
            _await_least(setup, handle)
            batches = _run_query(setup, spark, folder, view)
        finally:
            handle.detach()
        view.begin("stopping the session and the cluster")
    run = Run(experiment=experiment, series=series, summary=summarise(series), folder=folder)
    result = _judged(setup, batches, run, folder, view)
    write_results(run, result.as_json())
    return result


def _judged(setup: LiveSetup, batches: list[Batch], run: Run, folder: Path, view: RunView) -> LiveResult:
    sources = sources_of(setup.job, setup.options)
    verdict = results = None
    if setup.sink == "parquet":
        view.begin("comparing the output with the input, record by record")
        inputs = inputs_of(setup.job, setup.options)
        verdict = judge(setup.job, inputs, written(setup.job.result, folder))
        results = result_latency(
            setup.job, sources, batches, answered(setup.job, inputs), told(setup.job.result, folder)
        )
    return LiveResult(
        run=run,
        verdict=verdict,
        rows=sum(batch.rows for batch in batches),
        delay=delay(sources, batches),
        results=results,
    )


def switch_guards(guards: Sequence[NamedSettings]) -> dict[str, Any]:
    """The guards of an experiment are all that are on: `attach` would have others on by itself."""
    usual = [name.removeprefix("guards.") for name in (*GUARDS, f"guards.{CALMING}")]
    given = {guard_key(guard.name): guard.settings or True for guard in guards}
    return {**{name: False for name in usual if name not in given}, **given}


def _await_least(setup: LiveSetup, handle: Attachment | SwitchedOff) -> None:
    """A standalone cluster starts with all executors it may have; those beyond the first size go."""
    until_s = time.monotonic() + 60.0
    while time.monotonic() < until_s:
        status = handle.status()
        if (status.ready, status.leaving) == (setup.executors[0], 0):
            return
        time.sleep(0.5)


def _warm_up(setup: LiveSetup, spark: SparkSession, folder: Path) -> None:
    """Load classes, plan, start Python workers: all that a first batch does and no other."""
    few = {**setup.options, "workload": f"constant({WARM_UP_RPS})", "duration": f"{WARM_UP_S * setup.scale.factor}s"}
    folder.mkdir()
    # What others read is none of its business.
    sink = "parquet" if setup.sink == "parquet" else "noop"
    writing, options = _writing(replace(setup, sink=sink, kafka={}), spark, folder, few, name="warm-up")
    total = events_to_come(setup.job, options)
    run_to_the_end(writing.trigger(processingTime="1 second").start(), total, patience_s=180.0)
    shutil.rmtree(folder, ignore_errors=True)


def _run_query(setup: LiveSetup, spark: SparkSession, folder: Path, view: RunView) -> list[Batch]:
    writing, options = _writing(setup, spark, folder, setup.options, name=setup.name)
    if setup.trigger_s is not None:
        writing = writing.trigger(processingTime=f"{round(setup.trigger_s * 1000)} milliseconds")
    # Twice as long as the load lasts is more than any policy here needs to drain what is left.
    patience_s = 2 * setup.experiment.duration_s + 120.0
    view.start_load()
    return run_to_the_end(writing.start(), events_to_come(setup.job, options), patience_s=patience_s).batches


def _writing(
    setup: LiveSetup, spark: SparkSession, folder: Path, events: Mapping[str, str], *, name: str
) -> tuple[DataStreamWriter, dict[str, str]]:
    """The query before it is started, and what its events were made with."""
    # One time zero for all streams: their events belong together.
    options = {**events, "start": f"{time.time():.3f}"}
    streams = sound(embedded(spark, setup.job, options))
    if setup.capacity is not None:
        streams = {name: setup.capacity.limit(rows) for name, rows in streams.items()}
    rows = build_query(setup.job, streams)
    return writer(rows, setup.job.result, setup.sink, name=name, folder=folder, kafka=setup.kafka), options


@contextmanager
def _session(setup: LiveSetup, folder: Path, view: RunView) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    from elastream.spark.session import configure

    with _cluster(setup, view) as settings:
        view.begin("starting a Spark session")
        builder = SparkSession.builder.appName("elastream-live").config("spark.executor.memory", EXECUTOR_MEMORY)
        if setup.capacity is not None:
            builder = builder.config(map=SLEEPING)
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log_to_file(folder)}")
        builder = builder.config(map={**settings_of(setup.executors[1]), **_connector(setup, view), **settings})
        builder = configure(builder, setup.executors)
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


def _connector(setup: LiveSetup, view: RunView) -> dict[str, str]:
    """What writing to Kafka needs."""
    if setup.sink != "kafka":
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
def _cluster(setup: LiveSetup, view: RunView) -> Iterator[dict[str, str]]:
    if setup.master is not None:
        yield from _joined(setup.master)
        return
    from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster

    most = setup.executors[1]
    view.begin(f"starting a cluster with room for {most} executors")
    cores = -(-most // 2)
    with LocalCluster(ClusterSettings(workers=2, cores=cores, memory=f"{cores}g")) as cluster:
        view.note(f"{cluster.master} is up: ", [f"{name} pid {pid}" for name, pid in cluster.pids.items()])
        yield cluster.settings_for_driver()

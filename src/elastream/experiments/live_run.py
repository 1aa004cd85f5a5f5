"""A query on a cluster of its own, with an autoscaler attached, from start to verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from elastream.attachment import Attachment, SwitchedOff, attach
from elastream.attachment.assembly import CALMING, GUARDS
from elastream.config.guards import guard_key
from elastream.core.protocols import Journal
from elastream.development.cluster.daemon_settings import JAVA_OPTIONS, LITTLE_WORK
from elastream.development.cluster.driver import DriverEnvironment, settings_for_driver
from elastream.development.cluster.finder import Master
from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from elastream.development.kafka.jars import connector_jars
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import summarise
from elastream.experiments.driver import start_driver
from elastream.experiments.experiment import LiveJob, NamedSettings
from elastream.experiments.live_query import QueryRun, run_query, warm_up
from elastream.experiments.live_setup import LiveSetup
from elastream.experiments.run import Run
from elastream.experiments.run_folder import JOURNAL, PAGE, find_journal, write_results
from elastream.jobs.batches import count_late
from elastream.jobs.judging import Circumstances, Verdict, answered, count_events, inputs_of, judge_rows
from elastream.jobs.latency import Latency, ResultLatency, delay, result_latency, sources_of
from elastream.jobs.local import log_to_file
from elastream.jobs.output import told
from elastream.jobs.settings import settings_of
from elastream.jobs.topic_judging import judge_run, topic_delay
from elastream.journal.reader import read
from elastream.render.page.page import write_page
from elastream.spark.session import configure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# A slot must hold a whole Python worker beside its JVM; with less, executors die of their own start.
EXECUTOR_MEMORY = "512m"
# Slots that sleep gain nothing from compilers, of Java and of queries, which take the cores from what starts.
SLEEPING: dict[str, bool | float | int | str | None] = {
    "spark.executor.extraJavaOptions": f"{JAVA_OPTIONS} {LITTLE_WORK}",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass(frozen=True, kw_only=True)
class LiveResult:
    """What came of it."""

    run: Run
    verdicts: tuple[Verdict, ...]
    """Of the results, if they can be read again, and of what was rejected, if that was written."""
    rows: int
    delay: Latency | None
    """Of all records of the run, from the times of their commits."""
    results: ResultLatency | None
    late: int
    """Rows that came behind the watermark and were dropped."""

    def as_json(self) -> dict[str, Any]:
        """What a live run knows beside its summary, as plain values."""
        return {
            "verdicts": [verdict._asdict() for verdict in self.verdicts],
            "rows": self.rows,
            "late": self.late,
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


def run_live(
    setup: LiveSetup,
    folder: Path,
    view: RunView,
    *,
    page: bool = False,
    page_token: Path | None = None,
    log_format: Literal["text", "json"] = "text",
) -> LiveResult:
    """Start a cluster, run the query under the policy until its input ends, judge the output, keep the results.

    With `page`, a page that shows the run is served while it goes on; who has the token may control it there.
    """
    experiment, subject = setup.experiment, setup.subject
    series = RunSeries(tick_s=experiment.tick_s)
    # What was told at the start is what is measured, whatever is set elsewhere.
    slo = experiment.slo
    promised: dict[str, Any] = {"slo": slo.delay_s, "slo__share": slo.share} if slo else {}
    with _session(setup, folder, view) as spark:
        if setup.warm_up:
            view.begin("warming up: the same query over a few events")
            warm_up(setup, spark, folder / "warm-up")
        handle = attach(
            spark,
            policy=experiment.policy.name,
            executors=setup.executors,
            executors__initial=setup.start,
            journals=[series, view],
            policy_settings=experiment.policy.settings,
            guards=switch_guards(experiment.guards),
            tick_s=experiment.tick_s,
            journal__folder=str(folder / JOURNAL),
            emulated=setup.capacity.note() if setup.capacity else None,
            page=page,
            page__token=page_token,
            log__format=log_format,
            **promised,
            **subject.settings,
        )
        if isinstance(handle, Attachment) and handle.page is not None:
            view.note("the run as a page, while it goes on: ", [handle.page])
            if page_token is not None:
                view.note("the token that controls it lies in ", [str(page_token.expanduser().absolute())])
        try:
            view.begin(f"waiting until there are {setup.start} executors")
            _await_start(setup, handle)
            view.start_load()
            ran = run_query(setup, spark, folder, view.begin)
        finally:
            handle.detach()
        view.begin("stopping the session and the cluster")
    run = Run(experiment=experiment, series=series, summary=summarise(series), folder=folder)
    result = _judged(setup, ran, run, folder, view)
    write_results(run, result.as_json())
    return result


def _judged(setup: LiveSetup, ran: QueryRun, run: Run, folder: Path, view: RunView) -> LiveResult:
    rows, late = sum(batch.rows for batch in ran.batches), count_late(ran.batches)
    if ran.find is not None or (setup.topics is not None and setup.topics.rejected is not None):
        view.begin("comparing the output with the input, record by record")
    if setup.topics is not None and setup.held is not None and ran.over_topics is not None:
        inputs, verdicts = judge_run(setup.job, setup.topics, setup.held, ran.over_topics, ran.find)
        times = topic_delay(inputs, ran.batches, ran.began_s)
        return LiveResult(run=run, verdicts=verdicts, rows=rows, delay=times, results=None, late=late)
    sources = sources_of(setup.job, setup.options)
    times, results = delay(sources, ran.batches), None
    if ran.find is None:
        return LiveResult(run=run, verdicts=(), rows=rows, delay=times, results=None, late=late)
    made = inputs_of(setup.job, setup.options)
    answer = answered(setup.job, made)
    how = Circumstances(may_repeat=ran.may_repeat and setup.sink == "kafka", dropped=late)
    verdict = judge_rows(setup.job.result, answer, count_events(made), ran.find(), how)
    if setup.sink == "parquet":
        results = result_latency(setup.job, sources, ran.batches, answer, told(setup.job.result, folder))
    return LiveResult(run=run, verdicts=(verdict,), rows=rows, delay=times, results=results, late=late)


def switch_guards(guards: Sequence[NamedSettings]) -> dict[str, Any]:
    """The guards of an experiment are all that are on: `attach` would have others on by itself."""
    usual = [name.removeprefix("guards.") for name in (*GUARDS, f"guards.{CALMING}")]
    given = {guard_key(guard.name): guard.settings or True for guard in guards}
    return {**{name: False for name in usual if name not in given}, **given}


def _await_start(setup: LiveSetup, handle: Attachment | SwitchedOff) -> None:
    """A standalone cluster starts with all executors it may have; those beyond the first size go."""
    until_s = time.monotonic() + 60.0
    while time.monotonic() < until_s:
        status = handle.status()
        if (status.ready, status.leaving) == (setup.start, 0):
            return
        time.sleep(0.5)


@contextmanager
def _session(setup: LiveSetup, folder: Path, view: RunView) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    with _cluster(setup, view) as settings:
        view.begin("starting a Spark session")
        builder = SparkSession.builder.appName("elastream-live").config("spark.executor.memory", EXECUTOR_MEMORY)
        if setup.capacity is not None:
            builder = builder.config(map=SLEEPING)
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log_to_file(folder)}")
        builder = builder.config(map={**settings_of(setup.executors[1]), **_connector(setup, view), **settings})
        builder = configure(builder, setup.executors)
        spark = start_driver(builder, folder)
        try:
            yield spark
        finally:
            spark.stop()


def _connector(setup: LiveSetup, view: RunView) -> dict[str, str]:
    """What writing to Kafka needs."""
    if setup.topics is None:
        return {}
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
    most = setup.executors[1]
    view.begin(f"starting a cluster with room for {most} executors")
    cores = -(-most // 2)
    with LocalCluster(ClusterSettings(workers=2, cores=cores, memory=f"{cores}g")) as cluster:
        view.note(f"{cluster.master} is up: ", [f"{name} pid {pid}" for name, pid in cluster.pids.items()])
        yield cluster.settings_for_driver()

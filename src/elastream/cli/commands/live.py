"""`elastream live`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from elastream.attachment.assembly import GUARDS, calm_once
from elastream.cli.parsing.completion import complete_jobs, complete_policies, complete_workloads
from elastream.cli.parsing.event_options import read_event_options
from elastream.cli.parsing.options import (
    AheadLimit,
    Assignments,
    Bootstrap,
    ConfigFile,
    CreateTopics,
    FromTopics,
    GuardTexts,
    Json,
    LogFormat,
    OwnConf,
    PageToken,
    RejectedTopic,
    ToTopic,
)  # fmt: skip
from elastream.cli.parsing.setting_sources import SettingSources, read_flags
from elastream.cli.parsing.texts import read_log_format, read_seconds
from elastream.cli.parsing.topic_options import check_create, choose_sink, read_ahead, refuse_beside_topics
from elastream.cli.terminal.latencies import format_latency, late_rows
from elastream.cli.terminal.live_view import LiveView
from elastream.cli.terminal.output import console, print_json, print_line, tell, tell_by
from elastream.config import settings_of
from elastream.core.bounds import spell_bounds
from elastream.core.errors import BadInput, ElastreamError
from elastream.core.quantity import parse_quantity
from elastream.experiments.experiment import ExecutorBounds, Experiment, LiveJob, NamedSettings, write_settings
from elastream.experiments.named_settings import choose_guards
from elastream.jobs.topic_names import parse_topics
from elastream.journal.decision_lines import message_line, write_to_stderr
from elastream.policies import policies

if TYPE_CHECKING:
    from elastream.config import Resolution
    from elastream.experiments.live_run import LiveResult
    from elastream.experiments.live_setup import LiveSetup
    from elastream.journal.decision_lines import message_line, write_to_stderr
from elastream.jobs.topic_names import Topics

LIVE: dict[str, Any] = {
    # The job that shows most: it keeps state, and gives out every event, so that each of them is compared. Windows wait
    # for their end: on two cores, half of yahoo's results took more than 50 s under this load.
    "job": "deduplicate",
    "options": [],
    "sink": "parquet",
    "topics": None,
    "create": False,
    # It rises beyond what one executor can do, stays for a while, has a spike of seven times its beginning, and falls.
    "workload": "(110 + ramp(0..160, at=25s, for=15s)) * ramp(1..0.3, at=135s, for=10s) + spike(510, at=70s, for=20s)",
    "duration": "190s",
    # Each batch has a cost of its own, which on a few cores grows with the executors: not too many of them.
    "trigger": "5s",
    "capacity": "250",
    "time_scale": 1.0,
    "seed": 0,
    "master": None,
    "cold": False,
}
"""What `elastream demo` runs, and what `elastream live` begins with."""

SETTINGS: dict[str, Any] = {
    # In production it looks two minutes ahead; here all of it passes in three.
    "policy": "foresight",
    "policy_settings": {"interval_s": 2, "ahead_s": 20},
    # Every executor is a Java process and a Python one: two cores can start only few at once.
    "executors": "1..5",
    "slo.delay": 30,
    "tick_s": 2,
    # Patience, likewise, is half of what it is in production.
    "guards.hysteresis.patience": 1,
}
"""The defaults of its settings."""

OWN = ("policy", "executors.", "slo.", "tick_s", "guards.", "journal.folder", "page.", "log.")
"""Settings that a plan has a place for; a run begins with the lower bound, and its journal is kept in its folder."""

FLAGS = {
    "workload": "--workload", "seed": "--seed", "duration": "--duration", "rows": "--duration",
    "timefactor": "--time-scale",
}  # fmt: skip
"""Options of events that the command has as flags, or has no use for beside them."""


def live(
    context: typer.Context,
    job: Annotated[
        str,
        typer.Option(
            metavar="NAME(KEY=VALUE)",
            help="What to run: a job of `elastream jobs`, or yours: my_job.py:Class, package.module:Class.",
            autocompletion=complete_jobs,
        ),
    ] = LIVE["job"],
    workload: Annotated[
        str, typer.Option(metavar="TEXT", help="The load, as text.", autocompletion=complete_workloads)
    ] = LIVE["workload"],
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the events: keys, disorder ...; may be repeated."),
    ] = None,
    sink: Annotated[
        str, typer.Option(metavar="NAME", help="noop, memory or parquet; what parquet holds is judged.")
    ] = LIVE["sink"],
    read: FromTopics = None,
    to: ToTopic = None,
    rejected: RejectedTopic = None,
    ahead: AheadLimit = None,
    create: CreateTopics = False,
    bootstrap: Bootstrap = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME(KEY=VALUE)",
            help="What decides. Default: foresight(interval=2s, ahead=20s).",
            autocompletion=complete_policies,
        ),
    ] = None,
    executors: Annotated[str | None, typer.Option(metavar="MIN..MAX", help="Bounds. Default: 1..5.")] = None,
    slo: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="99 of 100 records are to be committed within this time. Default: 30s."),
    ] = None,
    duration: Annotated[str, typer.Option(metavar="DURATION", help="How long events arrive.")] = LIVE["duration"],
    trigger: Annotated[str, typer.Option(metavar="DURATION|asap", help="Time between batches.")] = LIVE["trigger"],
    tick: Annotated[str | None, typer.Option(metavar="DURATION", help="Time between two looks. Default: 2s.")] = None,
    capacity: Annotated[
        str, typer.Option(metavar="RATE|real", help="Rows/s that a slot is limited to; real: what the machine gives.")
    ] = LIVE["capacity"],
    time_scale: Annotated[float, typer.Option(metavar="NUMBER", help="The load's time passes so much faster.")] = 1.0,
    guard: GuardTexts = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    conf: OwnConf = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of the workload's noise and of the events.")] = 0,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL|cluster|FOLDER",
            help="A cluster to use as it is; `cluster` or a folder: that of `elastream cluster up`. Without it, one is "
            "started.",
        ),
    ] = None,
    cold: Annotated[bool, typer.Option("--cold", help="Do not run the query over a few events first.")] = False,
    page: Annotated[bool, typer.Option("--page", help="Serve a page that shows the run while it goes on.")] = False,
    page_token: PageToken = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Keep output, journal and page there.")] = None,
    log: LogFormat = None,
    json: Json = False,
) -> None:
    """Run a job on real executors under a moving load, and watch them come and go; then check every result.

    Slots are limited to a rate, so that a small machine can show many executors; what is printed says so. With --from,
    the job reads topics from their beginning for as long as --duration says, works off what has arrived by then, and
    ends.

    [bold]Examples[/bold]

    elastream live

    elastream live --policy threshold --executors 1..6 --duration 4m --page

    elastream live --job wordcount --option partitions=6 --executors 1..6

    elastream live --job yahoo --from ads --to campaigns --create --duration 2m

    elastream live --workload 'constant(2k) + spike(3k, at=60s, for=20s)' --slo 10s --out runs/live
    """
    from elastream.jobs.catalogue import parse_job

    built = parse_job(job)
    topics = parse_topics(
        built, read=read or (), to=to, rejected=rejected, bootstrap=bootstrap, ahead_s=read_ahead(ahead)
    )
    refuse_beside_topics(context, topics, ("workload", "option", "seed", "time_scale"))
    sink = choose_sink(context, sink, topics)
    check_create(topics, create=create)
    flags = read_flags(policy=policy, executors=executors, slo=slo, tick=tick, guards=guard)
    sources = read_sources(
        flags | ({"log.format": read_log_format(log)} if log is not None else {}), config, assignments, conf
    )
    run(
        planned(
            sources, job=job, workload=workload, duration=duration,
            trigger=trigger, capacity=capacity, time_scale=time_scale, seed=seed, master=master,
            options=option or [], sink=sink, topics=topics, create=create,
            cold=cold,
        ),
        out,
        json=json,
        page=page or page_token is not None,
        page_token=page_token,
        log_format=sources.resolve().settings.log.format,
    )  # fmt: skip


def read_sources(
    flags: Mapping[str, Any],
    config: Path | None = None,
    assignments: Sequence[str] | None = None,
    conf: Sequence[str] | None = None,
) -> SettingSources:
    """Where the settings of a live run come from."""
    return SettingSources(flags, config, assignments, conf, defaults={**GUARDS, **SETTINGS})


def planned(
    sources: SettingSources,
    *,
    job: str,
    workload: str,
    duration: str,
    trigger: str,
    capacity: str,
    time_scale: float,
    seed: int,
    master: str | None,
    options: list[str],
    sink: str,
    topics: Topics | None,
    create: bool,
    cold: bool,
) -> LiveSetup:
    """Read and check everything before anything is started."""
    from elastream.experiments.live_setup import set_up_live
    from elastream.jobs.catalogue import jobs, parse_job

    found = sources.resolve()
    decides = policies.build(found.settings.policy, found.settings.policy_settings)
    settings = calm_once(found, decides)
    built = parse_job(job)
    subject = LiveJob(
        job=NamedSettings.of(jobs.name_of(built), settings_of(built), written=job),
        trigger_s=None if trigger == "asap" else read_seconds(trigger, "--trigger"),
        capacity_rps=_capacity(capacity),
        time_factor=time_scale,
        events=tuple(read_event_options(options, built, FLAGS).items()),
        sink=sink,
        topics=topics,
        master=master,
        settings_text=write_settings(_others(found)),
        warm_up=not cold,
    )
    return set_up_live(
        Experiment(
            subject=subject,
            workload=_load(workload, topics),
            duration_s=read_seconds(duration, "--duration"),
            policy=NamedSettings.of(settings.policy, settings_of(decides)),
            guards=choose_guards(settings.guards),
            executors=ExecutorBounds(
                min=settings.executors.min, max=settings.executors.max, start=settings.executors.min
            ),
            slo=settings.slo.build(),
            tick_s=settings.tick_s,
            seed=seed,
        ),
        create=create,
    )


def _load(workload: str, topics: Topics | None) -> str:
    """What arrives: a workload, or whatever is written to the topics that are read."""
    if topics is None or not topics.read:
        return workload
    return f"what is written to {', '.join(topic for _, topic in topics.read)}"


def _others(found: Resolution) -> dict[str, Any]:
    """What was set that has no place of its own in an experiment."""
    return {
        path: value
        for path, (value, _) in found.origins.items()
        if not found.is_default(path) and not path.startswith(OWN)
    }


def _capacity(text: str) -> float | None:
    """Rows/s that a slot is limited to, or None if it is not."""
    if text == "real":
        return None
    try:
        rows_per_s = parse_quantity(text).value
    except BadInput:
        rows_per_s = 0.0
    if not 0 < rows_per_s < float("inf"):
        raise BadInput(f"--capacity: found {text!r}; it must be rows/s, more than 0, or real")
    return rows_per_s


def run(
    setup: LiveSetup,
    out: Path | None,
    *,
    json: bool = False,
    page: bool = False,
    page_token: Path | None = None,
    log_format: Literal["text", "json"] = "text",
) -> None:
    """Run, show, judge, and leave a page behind."""
    from elastream.experiments.live_run import run_live

    if log_format == "json":
        tell_by(lambda line: write_to_stderr(message_line(line, time.time())))

    folder = out if out is not None else Path(mkdtemp(prefix="elastream-live-"))
    if folder.exists() and any(folder.iterdir()):
        raise BadInput(f"--out {folder}: the folder is not empty; choose another one")
    folder.mkdir(parents=True, exist_ok=True)
    experiment = setup.experiment
    view = LiveView(
        experiment.duration_s,
        title=f"{experiment.policy.name} on {spell_bounds(*setup.executors)} executors",
        tick_s=experiment.tick_s,
        slo=experiment.slo,
        notes=[setup.capacity.note()] if setup.capacity else [],
        plain=json or log_format == "json",
        tells_ticks=log_format != "json",
    )
    for line in setup.scale.lines() if setup.scale.factor != 1.0 else ():
        tell(line)
    with view:
        result = run_live(setup, folder, view, page=page, page_token=page_token, log_format=log_format)
    _report(setup, result, view, folder, json=json)


def _report(setup: LiveSetup, result: LiveResult, view: LiveView, folder: Path, *, json: bool) -> None:
    judged = [verdict.sentence for verdict in result.verdicts]
    times = _latencies(setup, result)
    page = result.draw_page([*judged, *(f"{what}: {taken}" for what, taken in times)])
    if json:
        print_json(_as_json(setup, result, page, view.verdict()))
    else:
        screen = console()
        screen.print()
        for line in [*judged, *view.verdict()]:
            print_line(screen, line)
        for what, taken in times:
            print_line(screen, what)
            print_line(screen, f"  {taken}")
        print_line(screen, f"the run as a page: {page}")
        print_line(screen, f"why, as sentences: elastream why {folder}")
    for verdict in result.verdicts:
        if verdict.right is False:
            raise ElastreamError(verdict.sentence)


def _as_json(setup: LiveSetup, result: LiveResult, page: Path, kept: Sequence[str]) -> dict[str, Any]:
    return {
        "job": setup.name,
        "emulated": setup.capacity.note() if setup.capacity else None,
        **result.run.as_json(),
        **result.as_json(),
        "kept": next(iter(kept), None),
        "folder": str(result.run.folder),
        "page": str(page),
    }


def _latencies(setup: LiveSetup, result: LiveResult) -> list[tuple[str, str]]:
    """How long records and results took, over the whole run."""
    count = f"all {result.delay.count:,.0f} " if result.delay else ""
    which = "that came while it ran" if setup.reads_topics else "of the run"
    late = [("too late", late_rows(result.late))] if result.late else []
    lines = [*late, (f"delay of {count}records {which}, from arrival to commit", format_latency(result.delay))]
    found = result.results
    # A result that is made of one record has that record's delay: nothing more is to be said.
    if found is not None and found.first != found.last:
        lines.append(("result latency, from a result's first input to its commit", format_latency(found.first)))
        lines.append(("the same from its last input", format_latency(found.last)))
        if found.flushed:
            lines.append(("left out there", f"{found.flushed:,} results that the end of the input let out"))
    return lines

"""`elastream live`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elastream.cli.parsing.options import GuardTexts
from elastream.cli.terminal.output import console, print_line, tell
from elastream.core.errors import BadInput, ElastreamError

if TYPE_CHECKING:
    from elastream.cli.terminal.live_view import LiveView
    from elastream.development.emulated_capacity import EmulatedCapacity
    from elastream.development.time_scale import TimeScale
    from elastream.experiments.live_run import LivePlan, LiveResult

LIVE: dict[str, Any] = {
    # The job that shows most: it keeps state, and gives out every event, so that each of them is compared. Windows wait
    # for their end: on two cores, half of yahoo's results took more than 50 s under this load.
    "job": "deduplicate",
    "options": [],
    "sink": "parquet",
    "sink_options": [],
    # It rises, is calm for a while, has a spike of seven times what it began with, and falls.
    "workload": "(110 + ramp(0..130, at=25s, for=15s)) * ramp(1..0.3, at=135s, for=10s) + spike(510, at=70s, for=20s)",
    # The window of a policy in production is a minute; here all of it passes in three.
    "policy": "lag-proportional(interval=2s, window=10s)",
    # Every executor is a Java process and a Python one: two cores can start only few at once.
    "executors": "1..5",
    "slo": "30s",
    "duration": "190s",
    # Each batch has a cost of its own, which on a few cores grows with the executors: not too many of them.
    "trigger": "5s",
    "tick": "2s",
    "capacity": "250",
    "time_scale": 1.0,
    # Patience, likewise, is half of what it is in production.
    "guards": ["hysteresis(patience=1)"],
    "seed": 0,
    "master": None,
    "cold": False,
}
"""What `elastream demo` runs, and what `elastream live` begins with."""

FLAGS = {
    "workload": "--workload", "seed": "--seed", "duration": "--duration", "rows": "--duration",
    "timefactor": "--time-scale",
}  # fmt: skip
"""Options of events that the command has as flags, or has no use for beside them."""


def live(
    job: Annotated[
        str, typer.Option(metavar="NAME(KEY=VALUE)", help="What to run: a job of `elastream jobs`, with settings.")
    ] = LIVE["job"],
    workload: Annotated[str, typer.Option(metavar="TEXT", help="The load, as text.")] = LIVE["workload"],
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the events: keys, disorder ...; may be repeated."),
    ] = None,
    sink: Annotated[
        str, typer.Option(metavar="NAME", help="noop, memory, parquet or kafka; what parquet holds is judged.")
    ] = LIVE["sink"],
    sink_option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Of sink kafka: topic, kafka.bootstrap.servers; may be repeated."),
    ] = None,
    policy: Annotated[str, typer.Option(metavar="NAME(KEY=VALUE)", help="What decides.")] = LIVE["policy"],
    executors: Annotated[str, typer.Option(metavar="MIN..MAX", help="Bounds of the executors.")] = LIVE["executors"],
    slo: Annotated[str, typer.Option(metavar="TIME", help="99 of 100 records are to be committed in it.")] = LIVE[
        "slo"
    ],
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long events arrive.")] = LIVE["duration"],
    trigger: Annotated[str, typer.Option(metavar="TIME|asap", help="When batches start.")] = LIVE["trigger"],
    tick: Annotated[str, typer.Option(metavar="TIME", help="Time between two looks.")] = LIVE["tick"],
    capacity: Annotated[
        str, typer.Option(metavar="ROWS|real", help="Rows/s that a slot is limited to; real: what the machine gives.")
    ] = LIVE["capacity"],
    time_scale: Annotated[float, typer.Option(metavar="FACTOR", help="The load's time passes so much faster.")] = 1.0,
    guard: GuardTexts = None,
    seed: Annotated[int, typer.Option(help="Of the workload's noise and of the events.")] = 0,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL|cluster|FOLDER",
            help="A cluster to use as it is; `cluster` or a folder: that of `elastream cluster up`. Without it, one is "
            "started.",
        ),
    ] = None,
    cold: Annotated[bool, typer.Option("--cold", help="Do not run the query over a few events first.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep output, journal and page here.")] = None,
) -> None:
    """Run a job on real executors under a moving load, and watch them come and go; then check every result.

    Slots are limited to a rate, so that a small machine can show many executors; what is printed says so.

    [bold]Examples[/bold]

    elastream live

    elastream live --policy threshold --executors 1..6 --duration 4m

    elastream live --job wordcount --option partitions=6 --executors 1..6

    elastream live --workload 'constant(2k) + spike(3k, at=60s, for=20s)' --slo 10s --out runs/live
    """
    run(
        planned(
            job=job, workload=workload, policy=policy, executors=executors, slo=slo, duration=duration,
            trigger=trigger, tick=tick, capacity=capacity, time_scale=time_scale, guards=guard or LIVE["guards"],
            seed=seed, master=master, options=option or [], sink=sink, sink_options=sink_option or [], cold=cold,
        ),
        out,
    )  # fmt: skip


def planned(
    *,
    job: str,
    workload: str,
    policy: str,
    executors: str,
    slo: str | None,
    duration: str,
    trigger: str,
    tick: str,
    capacity: str,
    time_scale: float,
    guards: list[str],
    seed: int,
    master: str | None,
    options: list[str],
    sink: str,
    sink_options: list[str],
    cold: bool,
) -> LivePlan:
    """Read and check everything before anything is started."""
    from elastream.cli.commands.jobs import read_job
    from elastream.cli.parsing.event_options import read_event_options
    from elastream.cli.parsing.pairs import read_pairs
    from elastream.cli.parsing.texts import read_guards, read_policy, read_seconds
    from elastream.config import settings_of
    from elastream.core.bounds import parse_bounds
    from elastream.core.slo import Slo
    from elastream.development.cluster.finder import read_master
    from elastream.development.time_scale import TimeScale
    from elastream.experiments.live_run import LivePlan
    from elastream.jobs.output import check_sink
    from elastream.jobs.running import events_to_come
    from elastream.workloads import parse_workload

    chosen = read_policy(policy)
    scale = TimeScale(factor=time_scale)
    trigger_s = None if trigger == "asap" else read_seconds(trigger, "--trigger")
    tick_s = read_seconds(tick, "--tick")
    scale.require(
        tick_s=scale.workload_s(tick_s),
        interval_s=scale.workload_s(chosen.policy.interval_s),
        trigger_s=None if trigger_s is None else scale.workload_s(trigger_s),
    )
    duration_s = read_seconds(duration, "--duration")
    parse_workload(workload).series(duration_s=scale.workload_s(duration_s), seed=seed)
    kafka = read_pairs(sink_options, "--sink-option")
    check_sink(sink, kafka)
    read = read_job(job)
    plan = LivePlan(
        job=read,
        events=read_event_options(options, read, FLAGS),
        sink=sink,
        kafka=kafka,
        workload=workload,
        duration_s=duration_s,
        policy=chosen.name,
        policy_settings=settings_of(chosen.policy),
        executors=parse_bounds(executors, "--executors"),
        capacity=_capacity(capacity, scale),
        scale=scale,
        trigger_s=trigger_s,
        tick_s=tick_s,
        slo=Slo(delay_s=read_seconds(slo, "--slo")) if slo is not None else None,
        seed=seed,
        master=read_master(master) if master is not None else None,
        guards=read_guards(guards),
        warm_up=not cold,
    )
    # Options that no events can be made with are told now.
    events_to_come(plan.job, plan.options)
    return plan


def _capacity(text: str, scale: TimeScale) -> EmulatedCapacity | None:
    """What a slot is limited to, or None if it is not."""
    from elastream.core.quantity import parse_quantity
    from elastream.development.emulated_capacity import EmulatedCapacity

    if text == "real":
        return None
    try:
        return EmulatedCapacity(rows_per_s=parse_quantity(text).value, scale=scale)
    except BadInput:
        raise BadInput(f"--capacity: found {text!r}; it must be rows/s, more than 0, or real") from None


def run(plan: LivePlan, out: Path | None) -> None:
    """Run, show, judge, and leave a page behind."""
    from tempfile import mkdtemp

    from elastream.cli.terminal.live_view import LiveView
    from elastream.core.bounds import spell_bounds
    from elastream.experiments.live_run import run_live

    folder = out if out is not None else Path(mkdtemp(prefix="elastream-live-"))
    if folder.exists() and any(folder.iterdir()):
        raise BadInput(f"--out {folder}: the folder is not empty; choose another one")
    folder.mkdir(parents=True, exist_ok=True)
    view = LiveView(
        plan.duration_s,
        title=f"{plan.policy} on {spell_bounds(*plan.executors)} executors",
        slo=plan.slo,
        notes=[plan.capacity.note()] if plan.capacity else [],
    )
    for line in plan.scale.lines() if plan.scale.factor != 1.0 else ():
        tell(line)
    with view:
        result = run_live(plan, folder, view)
    _report(plan, result, view, folder)


def _report(plan: LivePlan, result: LiveResult, view: LiveView, folder: Path) -> None:
    from elastream.journal.reader import read
    from elastream.render.page.page import write_page

    page = folder / "run.html"
    judged = [result.verdict.sentence] if result.verdict is not None else []
    times = _latencies(result)
    notes = [*judged, *(f"{what}: {spelt}" for what, spelt in times)]
    write_page(read(result.journal), page, title=f"A live run of {plan.name}", notes=notes)
    screen = console()
    screen.print()
    for line in [*judged, *view.verdict()]:
        print_line(screen, line)
    for what, spelt in times:
        print_line(screen, what)
        print_line(screen, f"  {spelt}")
    print_line(screen, f"the run as a page: {page}")
    print_line(screen, f"why, as sentences: elastream why {result.journal}")
    if result.verdict is not None and not result.verdict.right:
        raise ElastreamError(result.verdict.sentence)


def _latencies(result: LiveResult) -> list[tuple[str, str]]:
    """How long records and results took, over the whole run."""
    from elastream.cli.terminal.latencies import spelt

    count = f"all {result.delay.count:,.0f} " if result.delay else ""
    lines = [(f"delay of {count}records of the run, from arrival to commit", spelt(result.delay))]
    found = result.results
    # A result that is made of one record has that record's delay: nothing more is to be said.
    if found is not None and found.first != found.last:
        lines.append(("result latency, from a result's first input to its commit", spelt(found.first)))
        lines.append(("the same from its last input", spelt(found.last)))
        if found.flushed:
            lines.append(("left out there", f"{found.flushed:,} results that the end of the input let out"))
    return lines

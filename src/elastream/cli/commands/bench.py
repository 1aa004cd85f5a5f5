"""`elastream bench`."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from elastream.cli.parsing.completion import complete_jobs
from elastream.cli.parsing.event_options import read_event_options
from elastream.cli.parsing.options import AheadLimit, Bootstrap, CreateTopics, FromTopics, Json, RejectedTopic, ToTopic
from elastream.cli.parsing.texts import read_seconds
from elastream.cli.parsing.topic_options import check_create, choose_sink, read_ahead, refuse_beside_topics
from elastream.cli.terminal.latencies import format_latency, late_rows
from elastream.cli.terminal.output import console, print_json, print_line, print_table, tell
from elastream.cli.terminal.progress import Progress
from elastream.cli.terminal.strips import compact
from elastream.core.errors import BadInput, ElastreamError
from elastream.core.quantity import parse_quantity
from elastream.development.kafka.jars import connector_jars
from elastream.jobs.local import local_spark
from elastream.jobs.topic_names import parse_topics

if TYPE_CHECKING:
    from elastream.jobs.benching import BenchPlan, BenchResult
    from elastream.jobs.topics import Held

FLAGS = {"rows": "--events", "seed": "--seed", "duration": "--duration"}
"""Options of events that the command has as flags."""


def bench(
    context: typer.Context,
    job: Annotated[
        str,
        typer.Argument(
            metavar="NAME(KEY=VALUE)",
            help="A job of `elastream jobs`, or yours: my_job.py:Class, package.module:Class; with settings if wanted.",
            autocompletion=complete_jobs,
        ),
    ],
    events: Annotated[str, typer.Option(metavar="NUMBER", help="How many events to work through: 1M, 500k.")] = "1M",
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Events/s of the second part; without it, half of the throughput."),
    ] = None,
    sink: Annotated[str, typer.Option(metavar="NAME", help="noop, memory or parquet.")] = "parquet",
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the events: keys, timeFactor ...; may be repeated."),
    ] = None,
    duration: Annotated[str, typer.Option(metavar="DURATION", help="How long the second part is.")] = "15s",
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Of the events.")] = 0,
    read: FromTopics = None,
    to: ToTopic = None,
    rejected: RejectedTopic = None,
    ahead: AheadLimit = None,
    create: CreateTopics = False,
    bootstrap: Bootstrap = None,
    json: Json = False,
) -> None:
    """Measure a job on Spark inside this process: throughput and state, then delay and result latency.

    First, all events are there before the query starts, and it works through them in ten batches. Then they arrive at a
    rate that it can stand. Every row that the query writes, to files or to a topic, is compared with an independent
    computation; the exit code is 1 if one is wrong. With sink [bold]parquet[/bold] results have a latency.

    With --from, the query reads what a topic holds, as fast as it can; the answer is computed from the same messages.

    [bold]Examples[/bold]

    elastream bench wordcount

    elastream bench 'deduplicate(watermark="1 minute")' --events 300k --rate 20k

    elastream bench my_job.py:KeyCounts --events 50k

    elastream bench wordcount --sink noop --option partitions=8 --json

    elastream bench yahoo --from ads --to campaigns --create

    elastream bench nexmark-q8 --from persons=people --from auctions=auctions --bootstrap localhost:9092
    """
    from elastream.jobs.benching import BenchPlan, checked
    from elastream.jobs.catalogue import parse_job
    from elastream.jobs.topics import look_at_topics

    chosen = parse_job(job)
    topics = parse_topics(
        chosen, read=read or (), to=to, rejected=rejected, bootstrap=bootstrap, ahead_s=read_ahead(ahead)
    )
    refuse_beside_topics(context, topics, ("events", "rate", "option", "duration", "seed"))
    plan = checked(
        BenchPlan(
            job=chosen,
            events=round(_number(events, "--events")),
            rate_rps=None if rate is None else _number(rate, "--rate"),
            sink=choose_sink(context, sink, topics),
            paced_s=read_seconds(duration, "--duration"),
            seed=seed,
            options=read_event_options(option or (), chosen, FLAGS),
            topics=topics,
        )
    )
    check_create(topics, create=create)
    held = look_at_topics(chosen, topics, create=create) if topics is not None else None
    result = _run(plan, held, quiet=json)
    if json:
        print_json(_as_json(job, plan, result))
    else:
        _print(job, plan, result)
    for verdict in result.verdicts:
        if verdict.right is False:
            raise ElastreamError(verdict.sentence)


def _number(text: str, flag: str) -> float:
    try:
        quantity = parse_quantity(text)
    except BadInput as wrong:
        raise BadInput(f"{flag}: {wrong}") from None
    if quantity.unit or quantity.value < 1:
        raise BadInput(f"{flag}: found {text!r}; it must be a number of at least 1, such as 500k")
    return quantity.value


def _run(plan: BenchPlan, held: Held | None, *, quiet: bool) -> BenchResult:
    from elastream.jobs.benching import bench as measure

    jars: list[Path] = []
    if plan.topics is not None:
        jars = connector_jars(tell)
    with TemporaryDirectory(prefix="elastream-bench-") as name, Progress(_parts(plan), 1.0, quiet=quiet) as progress:
        folder, begun = Path(name), [""]
        progress.begin("starting Spark")
        progress.at(0.0)

        def show(part: str, done: float) -> None:
            if part != begun[0]:
                if begun[0]:
                    progress.end()
                begun[0] = part
                progress.begin(part)
            progress.at(done)

        with local_spark(folder, jars=jars) as spark:
            return measure(spark, plan, folder, show, held)


def _parts(plan: BenchPlan) -> int:
    return 1 if plan.topics is not None and plan.topics.read else 2


def _print(job: str, plan: BenchPlan, result: BenchResult) -> None:
    screen = console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(job, no_wrap=True)
    table.add_column("")
    for name, text in _lines(plan, result):
        table.add_row(name, text)
    print_table(screen, table)
    for verdict in dict.fromkeys(result.verdicts):
        print_line(screen, verdict.sentence)


def _lines(plan: BenchPlan, result: BenchResult) -> list[tuple[str, str]]:
    run = result.throughput
    after = "unknown, there was one batch" if run.rps is None else f"{run.rps:,.0f} events/s after the first batch"
    lines = [
        ("throughput", f"{after}, {run.with_first_rps:,.0f} with it"),
        ("", f"{run.events:,} events in {run.batches} batches into sink {plan.sink}, on {_slots()} slots"),
    ]
    if result.state is None:
        lines.append(("state", "none"))
    else:
        state = result.state
        lines.append(
            (
                "state",
                f"{state.rows:,} rows, {compact(state.bytes)}B at most; a commit takes {state.commit_s * 1000:.0f} ms",
            )
        )
    if result.late:
        lines.append(("late", late_rows(result.late)))
    if result.rate_rps is not None:
        delay = format_latency(result.delay)
        lines.append(("delay", f"{delay}  at {result.rate_rps:,.0f} events/s, from arrival to commit"))
    if result.results is not None:
        first = format_latency(result.results.first)
        lines.append(("result latency", f"{first}  from a result's first input to its commit"))
        lines.append(("last to result", f"{format_latency(result.results.last)}  from its last input"))
        if result.results.flushed:
            more = f"{result.results.flushed:,} results left out: the end of the input let them out, not their time"
            lines.append(("", f"{more}; --duration or --option timeFactor=N shows more of them"))
    return lines


def _slots() -> int:
    return os.cpu_count() or 1


def _as_json(job: str, plan: BenchPlan, result: BenchResult) -> dict[str, Any]:
    measured = asdict(result)
    measured["verdicts"] = [verdict._asdict() for verdict in result.verdicts]
    return {"job": job, "sink": plan.sink, "seed": plan.seed, "slots": _slots(), **measured}

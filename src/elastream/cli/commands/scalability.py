"""`elastream scalability`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from elastream.cli.parsing.completion import complete_jobs
from elastream.cli.parsing.event_options import read_event_options
from elastream.cli.parsing.options import Bootstrap, Json
from elastream.cli.parsing.texts import read_seconds
from elastream.cli.terminal.output import console, print_json, print_line, print_table, tell
from elastream.cli.terminal.scalability_view import ScalabilityView
from elastream.core.errors import BadInput, ElastreamError
from elastream.core.quantity import mebibytes, parse_quantity

if TYPE_CHECKING:
    from elastream.experiments.scalability.asked import ScalabilityOrder, ScriptOrder
    from elastream.experiments.scalability.result import ScalabilityResult

FLAGS = {"seed": "--seed"}
"""Options of events that the command has as flags."""


def scalability(
    context: typer.Context,
    job: Annotated[
        str,
        typer.Argument(
            metavar="NAME(KEY=VALUE)",
            help="A job of `elastream jobs`, or yours: my_job.py:Class, package.module:Class; or a script and --topic.",
            autocompletion=complete_jobs,
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGS", help="The script's own, behind --; {folder} stands for that of a probe."),
    ] = None,
    layouts: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Workers x cores of each, such as 1x1,2x1,1x2. Default: 1, 2, 4, 6 in both directions, as they fit.",
        ),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="On the simulator, with the model of the job; no Spark is started.")
    ] = False,
    model: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Another model for --simulate; see elastream models.")
    ] = None,
    emulate: Annotated[
        str | None, typer.Option(metavar="RATE", help="Limit every slot to so many rows/s: layouts beyond the machine.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL|cluster|FOLDER", help="A cluster that exists. Default: a new one for each layout."),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="That the script reads; it is written at the rate of a probe.")
    ] = None,
    source: Annotated[
        str, typer.Option("--produce", metavar="SOURCE", help="What is written there, as elastream produce does.")
    ] = "keyed",
    producer: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Your own producer, as a command with {rate} in it."),
    ] = None,
    bootstrap: Bootstrap = None,
    accept_after: Annotated[
        str,
        typer.Option(metavar="DURATION", help="A rate is sustained after so long, and ten batches; published: 30m."),
    ] = "5m",
    warm_up: Annotated[str, typer.Option(metavar="DURATION", help="What is seen before is not counted.")] = "30s",
    delay: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Bound of the median delay. Default: 10s, aggregation 60s."),
    ] = None,
    first_rate: Annotated[
        str, typer.Option(metavar="RATE", help="Where the search on the smallest layout begins.")
    ] = "1k",
    top_rate: Annotated[str | None, typer.Option(metavar="RATE", help="Look for no more than this.")] = None,
    rates: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Try these rates and no others, such as 10k,20k,30k.")
    ] = None,
    precision: Annotated[
        float, typer.Option(metavar="NUMBER", help="How near the lowest rate that failed must be: 0.1 is 10 %.")
    ] = 0.1,
    repeat: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Runs that must all pass.")] = 3,
    load: Annotated[
        list[str] | None,
        typer.Option(metavar="RATE", help="How many does this load need? May be repeated."),
    ] = None,
    trigger: Annotated[
        str | None, typer.Option(metavar="DURATION|asap", help="Of the query. Default: asap, aggregation 60s.")
    ] = None,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Of a worker, for each of its cores.")] = "2g",
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the events: keys, hotShare ...; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Of the events, or of the simulation.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where probes are kept. Default: results/scalability-JOB."),
    ] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Run no probe: say what those in the folder come to.")
    ] = False,
    json: Json = False,
) -> None:
    """Measure how much a job sustains on each layout of a cluster, how well it scales, and what stops it.

    A rate is sustained if its backlog does not grow, the median delay keeps a bound and executors use less than 80 % of
    their processors. The highest such rate is looked for on each layout, every probe is kept, and the same command goes
    on where it was interrupted. The report has efficiency, laws of scaling with intervals, and each probe.

    [bold]Examples[/bold]

    elastream scalability aggregation --simulate --layouts 6x1,6x2,6x4,6x6

    elastream scalability wordcount --layouts 1x1,2x1,1x2 --accept-after 5m

    elastream scalability yahoo --emulate 2k --load 20k

    elastream scalability my_job.py --topic clicks --produce keyed -- --checkpoint {folder}/checkpoint

    elastream scalability enrichment --master spark://HOST:7077 --layouts 1x6,2x6,4x6 --memory 5g --accept-after 30m

    elastream scalability enrichment --simulate --load 200k --load 1M

    elastream scalability enrichment --simulate --rates 10k,20k,30k --accept-after 30m --out results/list
    """
    order = _read_order(
        job=job, layouts=layouts, simulate=simulate, model=model, accept_after=accept_after, warm_up=warm_up,
        delay=delay, start=first_rate, most=top_rate, rates=rates, precision=precision, repeat=repeat, trigger=trigger,
        memory=memory, option=option or (), seed=seed, emulate=emulate, master=master,
        script=_read_script(job, arguments, topic=topic, source=source, producer=producer, bootstrap=bootstrap),
    )  # fmt: skip
    loads = tuple(_rate(text, "--load") for text in load or ())
    from elastream.experiments.scalability.page import write_scalability_page

    command = shlex.join(["elastream", "scalability", *sys.argv[2:]])
    result = _run(order, loads, out, command, recorded=recorded, quiet=json)
    result.write()
    page = write_scalability_page(result)
    if json:
        print_json({**result.as_json(), "page": str(page)})
    else:
        print_scalability(console(), result, page)
    lacking = [one.sentence() for one in result.results if one.found is None]
    if lacking:
        raise ElastreamError(f"{len(lacking)} of {len(result.results)} layouts have no result: {lacking[0]}")


def _run(
    order: ScalabilityOrder, loads: tuple[float, ...], out: Path | None, command: str, *, recorded: bool, quiet: bool
) -> ScalabilityResult:
    from elastream.experiments.scalability.plan import prepare

    planned = prepare(order, out)
    if not quiet:
        for reason in planned.left_out:
            tell(f"left out: {reason}")
    if recorded:
        results = planned.study.collect()
    else:
        planned.check_cluster()
        with ScalabilityView(planned.study, quiet=quiet) as view:
            try:
                results = planned.study.run(view)
            except KeyboardInterrupt:
                tell(f"what is finished stays in {planned.study.store.folder}; the same command goes on")
                raise
    return planned.result(results, loads, command)


def print_scalability(screen: Console, result: ScalabilityResult, page: Path) -> None:
    """For a person: what the numbers are, the table of efficiency, then everything as sentences."""
    print_line(screen, result.head())
    for curve in result.curves:
        screen.print()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column(curve.curve.title)
        for heading in ("sustained/s", "per core", "efficiency"):
            table.add_column(heading, justify="right", no_wrap=True)
        for one in curve.points:
            table.add_row(
                one.result.layout.name,
                "" if one.rate_rps is None else f"{one.rate_rps:,.0f}",
                "" if one.per_core_rps is None else f"{one.per_core_rps:,.0f}",
                "" if one.efficiency is None else f"{one.efficiency:.0%}",
            )
        print_table(screen, table)
    screen.print()
    for line in result.sentences():
        print_line(screen, line)
    print_line(screen, f"every probe, drawn: {page}")


def _read_order(
    *, job: str, layouts: str | None, simulate: bool, model: str | None, accept_after: str, warm_up: str,
    delay: str | None, start: str, most: str | None, rates: str | None, precision: float, repeat: int,
    trigger: str | None, memory: str, option: list[str] | tuple[str, ...], seed: int,
    emulate: str | None, master: str | None, script: ScriptOrder | None,
) -> ScalabilityOrder:  # fmt: skip
    from elastream.experiments.scalability.asked import TRIGGERS_S, ScalabilityOrder
    from elastream.experiments.scalability.layout import parse_layouts
    from elastream.jobs.catalogue import parse_job

    if model is not None and not simulate:
        raise BadInput("--model: is for simulated layouts; add --simulate")
    if mebibytes(memory) < 1:
        raise BadInput(f"--memory: found {memory!r}; write it as 2g or 1536m")
    if simulate and (emulate is not None or master is not None or script is not None):
        raise BadInput("--simulate: starts no Spark; leave --emulate, --master and --topic out")
    if script is not None and emulate is not None:
        raise BadInput("--emulate: the slots of a script are its own; name a job of `elastream jobs`")
    events = {}
    if not simulate and script is None:
        events = read_event_options(option, parse_job(job), FLAGS)
    elif option:
        raise BadInput("--option: no events are made here; leave it out")
    return ScalabilityOrder(
        job=job,
        work="simulated" if simulate else "real" if emulate is None else "emulated",
        slot_rps=None if emulate is None else _rate(emulate, "--emulate"),
        master=None if master is None else _master(master),
        script=script,
        layouts=parse_layouts(layouts) if layouts is not None else (),
        delay_s=None if delay is None else read_seconds(delay, "--delay"),
        accept_after_s=read_seconds(accept_after, "--accept-after"),
        warm_up_s=read_seconds(warm_up, "--warm-up"),
        start_rps=_rate(start, "--first-rate"),
        most_rps=None if most is None else _rate(most, "--top-rate"),
        precision=precision,
        repeat=repeat,
        rates=() if rates is None else tuple(_rate(text.strip(), "--rates") for text in rates.split(",")),
        memory=memory,
        trigger_s=_trigger(trigger, TRIGGERS_S.get(job)),
        seed=seed,
        events=events,
        model=(model or job) if simulate else None,
    )


def _read_script(
    job: str, arguments: list[str] | None, *, topic: str | None, source: str, producer: str | None,
    bootstrap: str | None,
) -> ScriptOrder | None:  # fmt: skip
    """What is run over a topic; None: the job is one of classes."""
    if not job.endswith(".py"):
        if topic is not None or arguments:
            raise BadInput(f"--topic: is for a script; {job} makes its own events")
        return None
    if not Path(job).is_file():
        raise BadInput(f"{job}: there is no such file; name a script, or a job as my_job.py:Class")
    if topic is None:
        raise BadInput(f"{job}: name the topic that it reads: --topic TOPIC; a class in it is named {job}:Class")
    from elastream.development.kafka.finder import read_bootstrap
    from elastream.experiments.scalability.asked import ScriptOrder

    return ScriptOrder(
        topic=topic, bootstrap=read_bootstrap(bootstrap), arguments=tuple(arguments or ()), source=source,
        producer=producer,
    )  # fmt: skip


def _master(text: str) -> str:
    from elastream.development.cluster.finder import read_master

    read_master(text)
    # A probe runs in a folder of its own.
    return str(Path(text).absolute()) if Path(text).is_dir() else text


def _trigger(text: str | None, default: float | None) -> float | None:
    if text is None:
        return default
    return None if text == "asap" else read_seconds(text, "--trigger")


def _rate(text: str, flag: str) -> float:
    try:
        quantity = parse_quantity(text)
    except BadInput as wrong:
        raise BadInput(f"{flag}: {wrong}") from None
    if quantity.unit or not quantity.value > 0:
        raise BadInput(f"{flag}: found {text!r}; it must be a rate above 0, such as 500 or 20k")
    return quantity.value

"""`elastream jobs`."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from elastream.cli.parsing.completion import complete_jobs
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.graph import ASCII, LINES, graph
from elastream.cli.terminal.output import console, is_drawable, print_json, print_table, tell
from elastream.cli.terminal.settings_table import print_settings, settings_json
from elastream.core.errors import BadInput
from elastream.jobs.local import local_spark

if TYPE_CHECKING:
    from elastream.jobs.job import Job, Stream
    from elastream.jobs.topology import JobTopology


def jobs(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show one job and its settings.", autocompletion=complete_jobs),
    ] = None,
    topology: Annotated[
        bool, typer.Option("--topology", help="Run it on a few events, and draw the operators that Spark makes of it.")
    ] = False,
    json: Json = False,
) -> None:
    """List the jobs that can be run, show the settings of one, or draw its operators.

    [bold]Examples[/bold]

    elastream jobs

    elastream jobs deduplicate

    elastream jobs --topology wordcount

    elastream jobs --topology 'deduplicate(watermark="1 minute")'
    """
    if topology:
        if name is None:
            raise BadInput("--topology: name a job, as in `elastream jobs --topology wordcount`")
        _draw(name, json=json)
    elif name is None:
        _list(json=json)
    else:
        _show(name, json=json)


def _list(*, json: bool) -> None:
    from elastream.jobs.catalogue import jobs as known

    built = {name: job for name in known.names() if (job := _default(name)) is not None}
    if json:
        print_json([_about(name, job) for name, job in built.items()])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("job", no_wrap=True)
    for heading in ("what it does", "streams", "results"):
        table.add_column(heading)
    for name, job in built.items():
        table.add_row(name, known.doc(name), ", ".join(stream.name for stream in job.streams), _mode(job))
    screen = console()
    print_table(screen, table)
    screen.print()
    screen.print("Settings of one: elastream jobs NAME. How fast it is here: elastream bench NAME.")
    screen.print("Under a policy on real executors: elastream live --job NAME")


def _default(name: str) -> Job | None:
    """A job with its defaults; None for one of others that has none, which is told."""
    from elastream.jobs.catalogue import jobs as known

    try:
        return known.build(name)
    except BadInput as wrong:
        tell(f"left out: {wrong}")
        return None


def _about(name: str, job: Job) -> dict[str, Any]:
    from elastream.jobs.catalogue import jobs as known
    from elastream.jobs.inputs import shares

    parts = shares(job, {})
    return {
        "name": name,
        "doc": known.doc(name),
        "streams": [
            {"name": one.name, "generator": one.generator, "options": dict(one.options), "share": parts[one.name]}
            | {"json": one.is_json}
            for one in job.streams
        ],
        "result": {"mode": job.result.mode, "key": list(job.result.key), "final": job.result.is_final},
        "settings": settings_json(known.settings(name)),
    }


def _mode(job: Job) -> str:
    if job.result.is_final:
        return f"{job.result.mode}, when the watermark has passed"
    key = f", newest row per {', '.join(job.result.key)} counts" if job.result.key else ""
    return f"{job.result.mode}{key}"


def _show(name: str, *, json: bool) -> None:
    from elastream.jobs.catalogue import jobs as known
    from elastream.jobs.catalogue import require_class
    from elastream.jobs.inputs import shares

    require_class(name)
    job = known.build(name)
    about = _described(job)
    if json:
        print_json({**_about(name, job), "about": about})
        return
    screen = console()
    screen.print(Text.assemble((name, "bold"), f": {known.doc(name)}"))
    for paragraph in about.split("\n"):
        screen.print(Text(paragraph, style="dim"))
    screen.print()
    parts = shares(job, {})
    for stream in job.streams:
        screen.print(f"reads {stream.name}: {_stream(stream, parts[stream.name])}")
    screen.print(f"gives out: {_mode(job)}")
    screen.print()
    if settings := known.settings(name):
        print_settings(screen, settings)
    else:
        screen.print("It has no settings.")


def _described(job: Job) -> str:
    """What its file and its class say, but for the line that stands in the list; a paragraph on each line."""
    of_file = inspect.cleandoc(sys.modules[type(job).__module__].__doc__ or "").split("\n\n")
    of_class = inspect.cleandoc(type(job).__doc__ or "").split("\n\n")[1:]
    return "\n".join(" ".join(paragraph.split()) for paragraph in [*of_file, *of_class])


def _stream(stream: Stream, share: float) -> str:
    parts = [f"events of generator {stream.generator}"]
    parts += [f"{key}={value}" for key, value in stream.options.items()]
    if share != 1.0:
        parts.append(f"{share:.3%} of the load")
    if stream.is_json:
        parts.append("as JSON text")
    return ", ".join(parts)


def _draw(text: str, *, json: bool) -> None:
    found = _observed(text)
    if json:
        print_json(_as_json(found))
        return
    screen = console()
    rows = graph(found.topology, LINES if is_drawable(LINES, screen.encoding) else ASCII)
    wide = max(len(row.drawn) for row in rows)
    longest = max(len(operator.name) for operator in found.topology.operators)
    for row in rows:
        line = Text(row.drawn.ljust(wide), style="cyan")
        if row.operator is not None:
            line.append(f"  {row.operator.ljust(longest)}", style="bold").append(f"  {_operator(found, row.operator)}")
        screen.print(line, soft_wrap=True)


def _observed(text: str) -> JobTopology:
    from elastream.jobs.catalogue import parse_job
    from elastream.jobs.topology import topology_of

    job = parse_job(text)
    tell("running it on a few events to see what Spark makes of it ...")
    with TemporaryDirectory(prefix="elastream-topology-") as folder, local_spark(Path(folder), slots=2) as spark:
        return topology_of(spark, job, Path(folder))


def _operator(found: JobTopology, name: str) -> str:
    """What it reads, keeps and does, the work of Spark's own nodes in the order data passes them."""
    work = next(one for one in found.work if one.name == name)
    operator = next(one for one in found.topology.operators if one.name == name)
    parts = [f"reads {', '.join(found.reads[name])}"] if found.reads.get(name) else []
    parts += ["keeps state"] if operator.stateful else []
    if work.records_in is not None:
        out = f" in, {work.records_out.value:,.0f} out" if work.records_out is not None else " in"
        parts.append(f"{work.records_in.value:,.0f} records{out}")
    return "; ".join([*parts, " > ".join(found.nodes.get(name, ()))])


def _as_json(found: JobTopology) -> dict[str, Any]:
    return {
        "operators": [
            {
                "name": operator.name,
                "reads": list(found.reads.get(operator.name, ())),
                "stateful": operator.stateful,
                "partitions": operator.partitions,
                "nodes": list(found.nodes.get(operator.name, ())),
                "records_in": work.records_in and work.records_in.value,
                "records_out": work.records_out and work.records_out.value,
                "busy_s": work.busy_s and work.busy_s.value,
            }
            for operator, work in zip(found.topology.operators, found.work, strict=True)
        ],
        "edges": [[edge.upstream, edge.downstream] for edge in found.topology.edges],
    }

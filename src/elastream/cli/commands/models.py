"""`elastream models`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from elastream.cli.parsing.completion import complete_models
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.model_numbers import describe_model, print_model
from elastream.cli.terminal.output import console, print_json, print_table, tell
from elastream.core.errors import BadInput
from elastream.experiments.run_folder import find_journal
from elastream.journal.reader import read
from elastream.simulator.calibration import cut_into, measured
from elastream.simulator.catalogue import MODELS, any_model, measured_jobs
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.model_file import written_model
from elastream.simulator.published import PUBLISHED


def models(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show the numbers of one model.", autocompletion=complete_models),
    ] = None,
    measure: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Make a model from the journal of a run whose load moved.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the measured model goes.")] = None,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, metavar="NUMBER", help="Cut it into so many partitions: what a task costs was measured."),
    ] = None,
    json: Json = False,
) -> None:
    """List the models that the simulator comes with, show the numbers of one, or measure one from a recorded run.

    A model of your own is a YAML file; `elastream simulate --model job.yaml` reads it.

    [bold]Examples[/bold]

    elastream models

    elastream models wordcount

    elastream live --job wordcount --out runs/wordcount

    elastream models --measure runs/wordcount/journal --out wordcount.yaml

    elastream models --measure runs/wordcount/journal --partitions 12 --out wordcount.yaml
    """
    if measure is not None:
        _measure(measure, out, partitions, json=json)
    elif name is not None:
        _show(name, json=json)
    else:
        _list(json=json)


def _show(name: str, *, json: bool) -> None:
    model = any_model(name)
    if json:
        print_json(describe_model(model))
    else:
        print_model(model)


def _list(*, json: bool) -> None:
    measured = [one for one in map(any_model, measured_jobs()) if isinstance(one, ApplicationModel)]

    if json:
        micro = [
            {
                "name": one.name,
                "engine": "micro-batch",
                "doc": one.doc,
                "queries": [query.name for query in one.queries],
            }
            for one in [*MODELS.values(), *measured]
        ]
        continuous = [
            {"name": one.name, "engine": "continuous", "doc": one.doc, "queries": [one.name]}
            for one in PUBLISHED.values()
        ]
        print_json([*micro, *continuous])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("model", no_wrap=True)
    table.add_column("engine", no_wrap=True)
    table.add_column("what it is")
    for model in [*MODELS.values(), *measured]:
        table.add_row(model.name, "micro-batch", model.doc)
    for job in PUBLISHED.values():
        table.add_row(job.name, "continuous", job.doc)
    screen = console()
    print_table(screen, table)
    screen.print()
    screen.print("The numbers of one, and where they were measured: elastream models NAME")


def _measure(journal: Path, out: Path | None, partitions: int | None, *, json: bool) -> None:
    if out is None:
        raise BadInput("--measure: say where the model is to go: --out job.yaml")
    recording = read(find_journal(journal))
    looks = [tick.observation for tick in recording.ticks if tick.observation is not None]
    if not looks:
        raise BadInput(f"{journal}: not one look at the application succeeded; record another run")
    header = recording.header
    notes = [f"measured on {header.platform}", f"spark {header.spark}" if header.spark else "", *header.notes]
    model = measured(looks, out.stem, doc="; ".join(note for note in notes if note))
    if partitions is not None:
        model = cut_into(model, partitions)
    out.write_text(written_model(model), encoding="utf-8")
    for query in model.queries:
        work_s = query.slot_s_per_record()
        rate = f"{1 / work_s:,.0f} records/s per slot" if work_s else "no work per record"
        tell(
            f"{query.name}: {rate}, {len(query.stages)} stages, {query.plan_s + query.commit_s:.2f} s per batch beside"
        )
    if json:
        print_json({"name": model.name, "file": str(out), "doc": model.doc, "queries": [q.name for q in model.queries]})
        return
    console().print(f"the model: {out}; try: elastream simulate --model {out}")

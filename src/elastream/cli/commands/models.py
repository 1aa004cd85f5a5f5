"""`elastream models`."""

from typing import Annotated

import typer
from rich.table import Table

from elastream.cli.parsing.completion import complete_models
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.model_numbers import describe_model, find_origin, print_model
from elastream.cli.terminal.output import console, print_json, print_line, print_table
from elastream.simulator.catalogue import MODELS, any_model, measured_jobs
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.published import PUBLISHED


def models(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show the numbers of one model.", autocompletion=complete_models),
    ] = None,
    json: Json = False,
) -> None:
    """List the models that the simulator comes with, or show the numbers of one.

    A model of your own is a YAML file; `elastream simulate --model job.yaml` reads it, and `elastream calibrate` makes
    one from a recorded run.

    [bold]Examples[/bold]

    elastream models

    elastream models wordcount
    """
    if name is not None:
        _show(name, json=json)
    else:
        _list(json=json)


def _show(name: str, *, json: bool) -> None:
    model = any_model(name)
    if json:
        print_json(describe_model(model, find_origin(name)))
        return
    print_model(model, find_origin(name))
    console().print()
    print_line(console(), f"try: elastream simulate --model {name}")


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

"""`elastream models`."""

from elastream.cli.options import Json
from elastream.cli.output import console, print_json, print_table


def models(json: Json = False) -> None:
    """List the models that the simulator comes with.

    A model of your own is a YAML file; `elastream simulate --model job.yaml` reads it.

    [bold]Examples[/bold]

    elastream models

    elastream models --json
    """
    from rich.table import Table

    from elastream.simulator.models import MODELS
    from elastream.simulator.published import PUBLISHED

    if json:
        micro = [
            {
                "name": one.name,
                "engine": "micro-batch",
                "doc": one.doc,
                "queries": [query.name for query in one.queries],
            }
            for one in MODELS.values()
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
    for model in MODELS.values():
        table.add_row(model.name, "micro-batch", model.doc)
    for job in PUBLISHED.values():
        table.add_row(job.name, "continuous", job.doc)
    print_table(console(), table)

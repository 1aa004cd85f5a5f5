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

    if json:
        print_json(
            [
                {"name": model.name, "doc": model.doc, "queries": [query.name for query in model.queries]}
                for model in MODELS.values()
            ]
        )
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("model", no_wrap=True)
    table.add_column("what it is")
    for model in MODELS.values():
        table.add_row(model.name, model.doc)
    print_table(console(), table)

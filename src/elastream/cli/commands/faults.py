"""`elastream faults`."""

from typing import Annotated

import typer

from elastream.cli.parsing.completion import complete_faults
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.catalogue import list_names, show_name
from elastream.simulator.faults import faults as known

CALLS = {
    "ad-hoc-job": "ad-hoc-job(at=30m, tasks=8, for=2m)",
    "metrics-late": "metrics-late(at=30m, for=10m, by=45s)",
    "skew-drift": "skew-drift(at=30m, for=2h, to=6)",
    "slow-start": "slow-start(at=30m, for=20m, by=2m)",
    "straggler": "straggler(at=30m, for=10m, factor=4)",
    "worker-loss": "worker-loss(at=30m, workers=2)",
}
"""What to write for those with settings of their own."""


def faults(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show one fault and its settings.", autocompletion=complete_faults),
    ] = None,
    json: Json = False,
) -> None:
    """List what can go wrong in a simulation, or show the settings of one fault.

    [bold]Examples[/bold]

    elastream faults

    elastream faults worker-loss

    elastream simulate --fault 'worker-loss(at=30m, workers=2)' --fault 'sink-blocked(at=60m, for=5m)'
    """
    if name is None:
        list_names(known, _example, json=json, more="Several may come together: --fault may be repeated.")
    else:
        known.get(name)
        show_name(known, name, _example(name), json=json)


def _example(name: str) -> str:
    return f"elastream simulate --fault '{CALLS.get(name, f'{name}(at=30m, for=10m)')}'"

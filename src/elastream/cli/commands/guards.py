"""`elastream guards`."""

from typing import Annotated

import typer

from elastream.cli.parsing.completion import complete_guards
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.catalogue import list_names, show_name
from elastream.config import guard_name
from elastream.config import guards as known

CALLS = {
    "budget": "budget(worker_hours=48)",
    "cool-down": "cool-down(after=2m)",
    "hysteresis": "hysteresis(patience=1)",
    "ignore-minor": "ignore-minor(up=1, down=2)",
    "over-provision": "over-provision(factor=1.5)",
    "pause": "pause(mode=dry-run)",
    "quiet-hours": 'quiet-hours(utc="22:00-06:00")',
    "roll-back": "roll-back(settle=3m)",
    "scarce-cluster": "scarce-cluster(mode=cancel)",
    "stabilise": "stabilise(down=10m)",
    "starvation": "starvation(settle=20s)",
    "state-floor": "state-floor(memory_share=0.4)",
    "step-limit": "step-limit(up=4, down=2)",
}
"""What to write for those that have settings."""


def guards(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show one guard and its settings.", autocompletion=complete_guards),
    ] = None,
    json: Json = False,
) -> None:
    """List the guards that can stand around a policy, or show the settings of one.

    [bold]Examples[/bold]

    elastream guards

    elastream guards cool-down

    elastream run --guard 'cool-down(after=2m)' app.py
    """
    if name is None:
        more = "Each can be set by --guard, --set guards.NAME.KEY=VALUE, spark.elastream.guards.NAME.KEY and in YAML."
        list_names(known, _example, json=json, more=more)
    else:
        chosen = guard_name(name)
        known.get(chosen)
        show_name(known, chosen, _example(chosen), json=json)


def _example(name: str) -> str:
    return f"elastream simulate --guard '{CALLS.get(name, name)}'"

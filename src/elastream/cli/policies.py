"""`elastream policies`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elastream.cli.options import Json
from elastream.cli.output import console, print_json, print_table
from elastream.core.errors import BadInput

if TYPE_CHECKING:
    from elastream.core.needs import Need
    from elastream.core.signals import Signal


def policies(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show one policy and its settings.")] = None,
    json: Json = False,
) -> None:
    """List the policies and on which platform each can run, or show the settings of one.

    [bold]Examples[/bold]

    elastream policies

    elastream policies threshold
    """
    if name is None:
        _list(json=json)
    else:
        _show(name, json=json)


def platforms() -> dict[str, frozenset[Signal]]:
    """What each platform provides."""
    from elastream.simulator.platform import SimulatedSpark
    from elastream.spark.observing import PROVIDES

    return {SimulatedSpark.name: SimulatedSpark.provides, "spark": PROVIDES}


def _list(*, json: bool) -> None:
    from rich.table import Table

    from elastream.policies import policies as known

    rows = [(name, known.doc(name), _fits(name)) for name in known.names()]
    if json:
        print_json([{"name": name, "doc": doc, "platforms": fits} for name, doc, fits in rows])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("policy", no_wrap=True)
    table.add_column("what it does")
    for platform in platforms():
        table.add_column(f"on {platform}")
    for name, doc, fits in rows:
        table.add_row(name, doc, *fits.values())
    screen = console()
    print_table(screen, table)
    screen.print()
    screen.print("Settings of one: elastream policies NAME")


def _show(name: str, *, json: bool) -> None:
    from rich.text import Text

    from elastream.cli.settings_table import print_settings, settings_json
    from elastream.policies import policies as known

    settings, fits = known.settings(name), _fits(name)
    about = " ".join((sys.modules[known.get(name).__module__].__doc__ or "").split())
    needs = _needs(name)
    if json:
        shown: dict[str, Any] = {"name": name, "doc": known.doc(name), "about": about, "platforms": fits}
        print_json({**shown, "needs": _needs_json(needs), "settings": settings_json(settings)})
        return
    screen = console()
    screen.print(Text.assemble((name, "bold"), f": {known.doc(name)}"))
    screen.print(Text(about, style="dim"))
    screen.print()
    for platform, sentence in fits.items():
        screen.print(f"on {platform}: {sentence}")
    screen.print(f"needs: {'; '.join(_need_text(need) for need in needs) or 'nothing'}")
    screen.print()
    print_settings(screen, settings)


def _needs(name: str) -> tuple[Need, ...]:
    from elastream.policies import policies as known

    try:
        return known.build(name).needs
    except BadInput:
        # Some policy cannot be built without settings; what it needs may then depend on them.
        return ()


def _fits(name: str) -> dict[str, str]:
    from elastream.core.needs import fit

    return {platform: fit(_needs(name), provides).sentence() for platform, provides in platforms().items()}


def _need_text(need: Need) -> str:
    return f"{need.signal}" + (f" (or {', '.join(need.stand_ins)})" if need.stand_ins else "")


def _needs_json(needs: tuple[Need, ...]) -> list[dict[str, Any]]:
    return [{"signal": str(need.signal), "stand_ins": [str(s) for s in need.stand_ins]} for need in needs]

"""`elastream policies`."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from elastream.cli.parsing.completion import complete_policies
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import console, print_json, print_table
from elastream.cli.terminal.settings_table import default_text, print_settings, settings_json
from elastream.core.needs import fit
from elastream.core.signals import GLOSSARY
from elastream.policies import policies as known
from elastream.policies.micro_batches import find_command, find_error
from elastream.registry.settings import shown_name
from elastream.simulator.continuous.model import DataflowModel, Feed, LogModel, OperatorModel, PlacesModel, own_pools
from elastream.simulator.continuous.platform import SimulatedDataflow
from elastream.simulator.continuous.platform import provides as signals_of
from elastream.simulator.microbatch.platform import SimulatedSpark
from elastream.spark.observe.observer import PROVIDES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from elastream.core.needs import Fit, Need
    from elastream.core.signals import Signal


def policies(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show one policy and its settings.", autocompletion=complete_policies),
    ] = None,
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
    """What each platform provides: the simulator's two engines, micro-batch and continuous, and Spark itself."""
    return {
        SimulatedSpark.name: SimulatedSpark.provides,
        SimulatedDataflow.name: _dataflow_signals(),
        "spark": PROVIDES,
    }


def _dataflow_signals() -> frozenset[Signal]:
    """Of a job with bounded buffers on nodes that are known: without either, the continuous engine provides less."""
    operators = (OperatorModel(name="map", after=(Feed("log"),), rate_rps=1.0, buffer=1.0),)
    pools = own_pools(operators)
    nodes = tuple(f"node-{number}" for number in range(sum(pool.initial_workers for pool in pools.values())))
    log = LogModel(name="log")
    return signals_of(
        DataflowModel(name="any", logs=(log,), operators=operators, pools=pools, places=PlacesModel(nodes=nodes))
    )


def _list(*, json: bool) -> None:
    if json:
        listed = [
            {
                "name": name,
                "doc": known.doc(name),
                "from": _origin(name),
                "platforms": _fits(name),
                "on_micro_batches": find_error(name),
                "settings": settings_json(known.settings(name)),
            }
            for name in known.names()
        ]
        print_json(listed)
        return
    screen = console()
    print_table(screen, _about_all())
    screen.print()
    print_table(screen, _fits_of_all())
    screen.print()
    screen.print("simulator: Spark's micro-batches; dataflow: the simulator's continuous engine, as Flink or Heron")
    under = "steady loads on the simulator, and the workers it has against the fewest that keep up"
    screen.print(f"on micro-batches: {under}, as {find_command()} has measured")
    screen.print("What the settings of one mean: elastream policies NAME")


def _about_all() -> Table:
    """Every policy with where it comes from, its settings and their defaults; of a preset, what it changes."""
    table = _table("policy", "what it does, where it comes from, its settings")
    for name in known.names():
        of = _preset_of(name)
        usual = known.settings(of) if of else ()
        settings = [one for one in known.settings(name) if one not in usual]
        spelt = ", ".join(f"{shown_name(known.get(name), one.name)}={default_text(one)}" for one in settings)
        origin = f"{of}, but for these settings:" if of else _origin(name)
        table.add_row(name, Text.assemble(known.doc(name), "\n", (origin, "dim"), "\n", (spelt, "cyan")))
    return table


def _preset_of(name: str) -> str | None:
    """The policy that a preset gives other defaults to."""
    presets = known.presets()
    if name not in presets:
        return None
    return next(other for other in known.names() if other not in presets and known.get(other) is known.get(name))


def _fits_of_all() -> Table:
    """Every policy on every platform: as published, with what stands in, or why not; and whether batches mislead it."""
    table = _table("policy", *(f"on {platform}" for platform in platforms()), "on micro-batches")
    for name in known.names():
        table.add_row(name, *_fits(name).values(), find_error(name) or "not measured")
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, no_wrap=True)
    for heading in others:
        # A word that is wider than its column is broken: on narrow terminals its end would be missing.
        table.add_column(heading, overflow="fold")
    return table


def _origin(name: str) -> str:
    """The first paragraph of a policy's file: it cites the document it comes from."""
    return " ".join(_module_doc(name).split("\n\n")[0].split())


def _module_doc(name: str) -> str:
    return (sys.modules[known.get(name).__module__].__doc__ or "").strip()


def _paragraphs(text: str) -> list[str]:
    """Paragraphs and items of lists, a line for each."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\s*- )", text)]


def _show(name: str, *, json: bool) -> None:
    settings, fits = known.settings(name), _fits(name)
    about, needs = _paragraphs(_module_doc(name)), _needs(name)
    if json:
        shown: dict[str, Any] = {"name": name, "doc": known.doc(name), "about": " ".join(about), "platforms": fits}
        shown |= {"on_micro_batches": find_error(name), "needs": _needs_json(needs)}
        print_json({**shown, "settings": settings_json(settings)})
        return
    screen = console()
    screen.print(Text.assemble((name, "bold"), f": {known.doc(name)}"))
    for paragraph in about:
        screen.print(Text(paragraph, style="dim"))
    screen.print()
    for platform, sentence in fits.items():
        screen.print(f"on {platform}: {sentence}")
    screen.print(f"on micro-batches: {find_error(name) or 'not measured'}")
    screen.print(f"needs: {'; '.join(_need_text(need) for need in needs) or 'nothing'}")
    screen.print()
    if needs:
        print_table(screen, _signals(needs))
        screen.print()
    print_settings(screen, settings)


def _needs(name: str) -> tuple[Need, ...]:
    """What a policy with its defaults cannot do without."""
    try:
        return known.build(name).needs
    except Exception:
        # Some policy cannot be built without settings, on which its needs may depend; one of others may fail anyhow.
        return ()


def _fits(name: str) -> dict[str, str]:
    needs = _needs(name)
    provided = platforms().items()
    return {platform: _sentence(fit(needs, provides), _lacking(name, provides)) for platform, provides in provided}


def _sentence(found: Fit, lacks: Sequence[Signal]) -> str:
    if not found.runs or not lacks:
        return found.sentence()
    runs = found.sentence() + "," if found.standing_in else "runs"
    return f"{runs} without {', '.join(lacks)}"


def _lacking(name: str, provides: AbstractSet[Signal]) -> list[Signal]:
    """Of the signals that a policy can do without, and says it is better with, those that a platform lacks."""
    return [signal for signal in getattr(known.get(name), "uses", ()) if signal not in provides]


def _need_text(need: Need) -> str:
    return f"{need.signal}" + (f" (or {', '.join(need.stand_ins)})" if need.stand_ins else "")


def _signals(needs: Sequence[Need]) -> Table:
    """What the signals that are needed say, and those that may stand in."""
    table = _table("signal", "of each", "in", "meaning")
    for signal in dict.fromkeys(signal for need in needs for signal in (need.signal, *need.stand_ins)):
        table.add_row(signal, *GLOSSARY[signal])
    return table


def _needs_json(needs: tuple[Need, ...]) -> list[dict[str, Any]]:
    return [{"signal": str(need.signal), "stand_ins": [str(s) for s in need.stand_ins]} for need in needs]

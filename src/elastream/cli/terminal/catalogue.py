"""Things by name, as lists and one by one: what it is, its settings, a line to try."""

import re
import sys
from collections.abc import Callable
from typing import Any

from rich.table import Table
from rich.text import Text

from elastream.cli.terminal.output import console, print_json, print_line, print_table
from elastream.cli.terminal.settings_table import default_text, print_settings, settings_json
from elastream.registry import Registry
from elastream.registry.settings import shown_name


def list_names(known: Registry[Any], example: Callable[[str], str], *, json: bool, more: str) -> None:
    """Every name with what it is, its settings and an example."""
    if json:
        print_json([describe(known, name, example(name)) for name in known.names()])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(known.kind, no_wrap=True)
    table.add_column("what it does, its settings, an example")
    for name in known.names():
        settings = (f"{shown_name(known.get(name), one.name)}={default_text(one)}" for one in known.settings(name))
        lines = [(plain_doc(known.doc(name)), ""), (", ".join(settings), "cyan"), (example(name), "dim")]
        table.add_row(name, Text("\n").join(Text(text, style=style) for text, style in lines if text))
    screen = console()
    print_table(screen, table)
    screen.print()
    print_line(screen, more)


def show_name(known: Registry[Any], name: str, example: str, *, json: bool) -> None:
    """One of them, with what its file says."""
    cls = known.get(name)
    if json:
        print_json(describe(known, name, example))
        return
    screen = console()
    screen.print(Text.assemble((name, "bold"), f": {plain_doc(cls.__doc__ or '')}"))
    screen.print()
    if settings := known.settings(name):
        print_settings(screen, settings)
    else:
        screen.print("It has no settings.")
    screen.print()
    print_line(screen, f"try: {example}")


def describe(known: Registry[Any], name: str, example: str) -> dict[str, object]:
    """The same as plain values."""
    cls = known.get(name)
    return {
        "name": name,
        "doc": known.doc(name),
        "about": " ".join((cls.__doc__ or "").split()),
        "file": " ".join((sys.modules[cls.__module__].__doc__ or "").split()),
        "settings": settings_json(known.settings(name)),
        "example": example,
    }


def plain_doc(text: str) -> str:
    """A docstring as a paragraph that names settings as people write them."""
    return re.sub(r"`(\w+?)_s`", r"`\1`", " ".join(text.split()))

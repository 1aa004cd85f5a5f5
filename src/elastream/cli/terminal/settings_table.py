"""The settings of a policy or a workload, as a table and as plain values."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from elastream.cli.terminal.output import print_table
from elastream.core.quantity import spell_number, spell_seconds
from elastream.registry import Setting, without_unit


def print_settings(console: Console, settings: Sequence[Setting]) -> None:
    """Name, type, default and meaning."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("setting", "type", "default", "meaning"):
        table.add_column(heading, no_wrap=heading in ("setting", "default"), overflow="fold")
    names = [one.name for one in settings]
    for one in settings:
        table.add_row(without_unit(one.name, names), one.type, default_text(one), one.doc)
    print_table(console, table)


def settings_json(settings: Sequence[Setting]) -> list[dict[str, object]]:
    """As plain values."""
    return [
        {"name": s.name, "type": s.type, "required": s.required, "default": _plain(s.default), "doc": s.doc}
        for s in settings
    ]


def default_text(one: Setting) -> str:
    """A default as the user would write it."""
    return "required" if one.required else value_text(one.name, one.default)


def value_text(name: str, value: object) -> str:
    """A value as the user would write it: durations have a unit."""
    if value is None:
        return "none"
    if isinstance(value, float) and math.isfinite(value):
        return spell_seconds(value) if name.endswith("_s") else spell_number(value)
    if value == math.inf:
        return "forever" if name.endswith("_s") else "any"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no infinity, which is how long a fault lasts that does not end
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)

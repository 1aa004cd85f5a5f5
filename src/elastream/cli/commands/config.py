"""`elastream config`."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from elastream.cli.parsing.options import Assignments, ConfigFile, Json, OwnConf
from elastream.cli.parsing.setting_sources import SettingSources
from elastream.cli.terminal.output import console, print_json, print_table
from elastream.cli.terminal.settings_table import settings_json, value_text
from elastream.config import Resolution, guard_name
from elastream.core.errors import BadInput
from elastream.policies import policies
from elastream.registry import read_settings, without_unit


def config(
    config: ConfigFile = None,
    assignments: Assignments = None,
    conf: OwnConf = None,
    json: Json = False,
) -> None:
    """Show every setting, its value, and where the value came from.

    A flag wins over spark.elastream.*, that over ELASTREAM_*, that over the YAML file, and all over the default.
    Passwords and the like are hidden.

    [bold]Examples[/bold]

    elastream config

    elastream config --config elastream.yaml --set executors.max=20

    ELASTREAM_SLO__DELAY=30s elastream config --conf spark.elastream.policy=lag-proportional
    """
    rows = _rows(SettingSources({}, config, assignments, conf).resolve())
    if json:
        print_json({path: {"value": value, "from": origin} for path, value, origin in rows})
    else:
        _print(rows)


def _rows(found: Resolution) -> list[tuple[str, object, str]]:
    rows: list[tuple[str, object, str]] = []
    for path, value, origin in found.printable():
        rows.append((path, value, origin))
        if path == "policy":
            rows += _policy_defaults(found)
    return rows


def _policy_defaults(found: Resolution) -> list[tuple[str, object, str]]:
    """The settings of the policy that nobody has set; a policy that does not exist is told here."""
    name, origin = found.origins["policy"]
    try:
        policies.build(str(name), found.settings.policy_settings)
        given = read_settings(policies.get(str(name)), found.settings.policy_settings, f"policy {name}")
    except BadInput as wrong:
        raise BadInput(f"{origin}: {wrong}") from None
    return [
        (f"policy_settings.{one['name']}", one["default"], "default")
        for one in settings_json(policies.settings(str(name)))
        if one["name"] not in given
    ]


def _shown(path: str, others: Sequence[str]) -> str:
    """A path as people write it: without units, and guards by their names."""
    group, dot, rest = path.partition(".")
    if group != "guards":
        return without_unit(path, others)
    guard, dot_below, setting = without_unit(rest).partition(".")
    return f"{group}{dot}{guard_name(guard)}{dot_below}{setting}"


def _print(rows: list[tuple[str, object, str]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("setting", "value", "from"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "setting")
    paths = [path for path, _, _ in rows]
    for path, value, origin in rows:
        # `slo.delay` is in seconds too; its name says so by itself.
        text = value_text("delay_s" if path == "slo.delay" else path, value)
        is_default = origin == "default"
        table.add_row(
            _shown(path, paths), Text(text, style="" if is_default else "bold"), Text(origin, style="dim" * is_default)
        )
    print_table(console(), table)

"""What lies under deploy/, and the queries in it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "deploy"
RULES = FOLDER / "prometheus" / "elastream.rules.yml"
RULES_TEST = FOLDER / "prometheus" / "elastream.rules.test.yml"
BOARDS = sorted((FOLDER / "grafana").glob("*.json"))

# What Grafana puts in, as it would for an hour of one application.
_VARIABLES = {"$__rate_interval": "1m", "$__range": "1h", "$application": "shop", "$query": ".*"}


def board(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def panels(path: Path) -> list[dict[str, Any]]:
    """All but the headings."""
    return [panel for panel in board(path)["panels"] if panel["type"] != "row"]


def queries_of_boards() -> Iterator[tuple[str, str, str]]:
    """Where it stands, the query, and what a series of it is called."""
    for path in BOARDS:
        for panel in panels(path):
            for target in panel["targets"]:
                yield f"{path.name}: {panel['title']}", target["expr"], target["legendFormat"]


def queries_of_rules() -> Iterator[tuple[str, str, str]]:
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            told = " ".join(rule["annotations"].values())
            yield f"{RULES.name}: {rule['alert']}", rule["expr"], re.sub(r"\$labels\.(\w+)", r"\1", told)


def filled(promql: str) -> str:
    """A query as Grafana sends it."""
    for name, value in _VARIABLES.items():
        promql = promql.replace(name, value)
    return promql

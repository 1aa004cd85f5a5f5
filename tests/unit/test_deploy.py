"""Dashboards and alert rules, against what is exported."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from elastream.service.metric_names import METRICS
from tests.deployed import BOARDS, board, panels, queries_of_boards, queries_of_rules

# What Prometheus adds, and what a histogram has.
SCRAPED, BUCKET = {"job", "instance"}, {"le"}
QUERIES = [*queries_of_boards(), *queries_of_rules()]
PLACES = [f"{number}: {where}" for number, (where, _, _) in enumerate(QUERIES)]


def labels_of(name: str) -> set[str] | None:
    """Of a metric that is exported under this name; None where there is none."""
    metric, buckets = METRICS.get(name), set[str]()
    if metric is None and (found := re.fullmatch(r"(\w+)_(bucket|count|sum)", name)):
        metric, buckets = METRICS.get(found[1]), BUCKET if found[2] == "bucket" else set()
        metric = metric if metric is not None and metric.kind == "histogram" else None
    elif metric is not None and metric.kind == "histogram":
        return None
    return None if metric is None else {"application", *metric.labels, *SCRAPED, *buckets}


def test_there_are_queries_to_check() -> None:
    assert len(BOARDS) == 2
    assert len(QUERIES) > 60


@pytest.mark.parametrize(
    ("where", "promql", "legend"), QUERIES, ids=[f"{n}: {one[0]}" for n, one in enumerate(QUERIES)]
)
def test_a_query_asks_for_what_is_exported(where: str, promql: str, legend: str) -> None:
    names = re.findall(r"elastream_\w+", promql)
    assert names
    known = set[str]()
    for name, matchers in re.findall(r"(elastream_\w+)(\{[^}]*\})?", promql):
        labels = labels_of(name)
        assert labels is not None, f"{where}: {name} is not exported"
        assert set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", matchers)) <= labels, where
        known |= labels
    for kept in re.findall(r"\b(?:by|on|ignoring|without)\s*\(([^)]*)\)", promql):
        assert {one.strip() for one in kept.split(",")} <= known, where
    assert set(re.findall(r"\{\{\s*(\w+)\s*\}\}", legend)) <= known, where


def test_every_metric_is_looked_at_by_somebody() -> None:
    asked = {name for _, promql, _ in QUERIES for name in re.findall(r"elastream_\w+?(?=_bucket\b|\b)", promql)}
    assert METRICS.keys() - asked == set()


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.name)
def test_a_board_is_whole(path: Path) -> None:
    found = board(path)
    every: list[dict[str, Any]] = found["panels"]
    places = [panel["gridPos"] for panel in every]
    variables = {one["name"] for one in found["templating"]["list"]}

    assert found["schemaVersion"] >= 39
    assert found["uid"].startswith("elastream-")
    assert len({panel["id"] for panel in every}) == len(every)
    assert {"datasource", "application"} <= variables
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 and place["h"] > 0 for place in places)
    assert [(a, b) for a, b in combinations(places, 2) if overlap(a, b)] == []
    used = set(
        re.findall(r"\$\{?(\w+)", " ".join(target["expr"] for panel in panels(path) for target in panel["targets"]))
    )
    assert {name for name in used if not name.startswith("__")} <= variables


@pytest.mark.parametrize("path", BOARDS, ids=lambda path: path.name)
def test_a_panel_says_what_it_shows_in_which_unit(path: Path) -> None:
    for panel in panels(path):
        defaults = panel["fieldConfig"]["defaults"]
        assert len(panel["description"]) > 15, panel["title"]
        assert "unit" in defaults or defaults["mappings"] or panel["type"] == "table", panel["title"]
        assert defaults["thresholds"]["steps"][0]["value"] is None, panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)

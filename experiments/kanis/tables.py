"""The thesis' tables, cell by cell: which run stands for it, and what is to be known of it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from elastream.experiments.replication.published import PublishedNumber, read_published, read_value
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore

TABLES = Path(__file__).parent / "tables"

WORKERS = PublishedNumber(title="task managers, mean", floor=0.5)
LATENCY = PublishedNumber(title="time in the log, mean, s", floor=5.0)
"""It was read every 5 s (6.6)."""
COLUMNS: Mapping[str, tuple[str, PublishedNumber]] = {
    "avg_taskmanagers": ("mean_wanted", WORKERS),
    "avg_latency_s": ("age_sample_mean_s", LATENCY),
    "max_taskmanagers": ("max_workers", PublishedNumber(title="task managers, most", floor=1.0)),
    "p50_latency_s": ("age_sample_p50_s", PublishedNumber(title="time in the log, p50 over time, s", floor=5.0)),
    "p95_latency_s": ("age_sample_p95_s", PublishedNumber(title="time in the log, p95 over time, s", floor=5.0)),
    "scaling_actions": ("actions", PublishedNumber(title="scaling actions", floor=1.0)),
}
"""Column -> the number of a run that it is, and when both are the same."""

NAMES = {"dhalion": "Dhalion", "ds2": "DS2", "hpa_cpu": "HPA-CPU", "hpa_varga": "HPA-Varga"}
POLICIES = {
    "dhalion": "dhalion-kanis(scale_down_factor={value})",
    "ds2": "ds2-kanis(over_provision={value})",
    "hpa_cpu": "hpa-kanis(target={value})",
    "hpa_varga": "varga(utilisation_target={value})",
}

_TWICE = "the thesis prints {one} and {other} for the same run; the second is also Q2's"
DOUBTS: Mapping[tuple[str, str, str], str] = {
    ("1", "hpa_varga 0.7", "avg_latency_s"): _TWICE.format(one=34.8, other=17),
    ("1", "hpa_cpu 0.7", "avg_latency_s"): _TWICE.format(one=6.4, other=8.6),
    ("1", "hpa_cpu 1.0", "p50_latency_s"): "p50 377.9 is above p95 60.6",
    ("1", "hpa_cpu 1.0", "p95_latency_s"): "p50 377.9 is above p95 60.6",
}
"""Query, row and column of cells that contradict others."""
_OPTIMISATION_TABLES = {
    ("dhalion", "1"): "7.1", ("dhalion", "11"): "7.2", ("ds2", "1"): "7.3", ("ds2", "11"): "7.4",
    ("hpa_varga", "1"): "7.5", ("hpa_varga", "11"): "7.6", ("hpa_cpu", "1"): "7.7", ("hpa_cpu", "11"): "7.8",
}  # fmt: skip
_WORKLOAD_TABLES = {
    ("1", "cosine"): "7.9", ("11", "cosine"): "7.10", ("1", "random"): "7.11", ("11", "random"): "7.12",
    ("1", "increasing"): "7.13", ("11", "increasing"): "7.14", ("1", "decreasing"): "7.15",
    ("11", "decreasing"): "7.16",
}  # fmt: skip
_LOADS = {"3": "cosine of Q3", "5": "cosine of Q5", "8": "cosine of Q3"}
CHOSEN = {"dhalion": "1.2", "ds2": "1.2", "hpa_cpu": "0.7", "hpa_varga": "0.7"}


def score_optimisation(results: PlanResults) -> list[TableScore]:
    """Tables 7.1 to 7.8: a row for each setting."""
    rows = read_published(TABLES / "parameter-optimisation.csv")

    def find_table(row: Mapping[str, str]) -> str:
        query, autoscaler = row["query"], row["autoscaler"]
        return f"Table {_OPTIMISATION_TABLES[autoscaler, query]}: {NAMES[autoscaler]} on Q{query}"

    scores: list[TableScore] = []
    for table, group in groupby(rows, find_table):
        cells = list(group)
        labels = [
            {"model": f"Q{row['query']}", "policy": POLICIES[row["autoscaler"]].format(value=row["value"])}
            for row in cells
        ]
        scores += _score(table, cells, labels, [f"{NAMES[row['autoscaler']]} {row['value']}" for row in cells], results)
    return scores


def score_workloads(results: PlanResults) -> list[TableScore]:
    """Tables 7.9 to 7.16: a row for each autoscaler."""
    rows = read_published(TABLES / "workloads.csv")

    def find_table(row: Mapping[str, str]) -> str:
        query, load = row["query"], row["workload"]
        return f"Table {_WORKLOAD_TABLES[query, load]}: Q{query}, {load}"

    scores: list[TableScore] = []
    for table, group in groupby(rows, find_table):
        cells = add_not_run(list(group))
        labels = [_labels(row, row["workload"]) for row in cells]
        scores += _score(table, cells, labels, [NAMES[row["autoscaler"]] for row in cells], results)
    return scores


def score_queries(results: PlanResults) -> list[TableScore]:
    """Table 7.18: a row for each autoscaler, query by query."""
    rows = read_published(TABLES / "queries-cosine.csv")
    scores: list[TableScore] = []
    tables = {query: list(group) for query, group in groupby(rows, lambda row: row["query"])}
    # Q8 did not run (7.3).
    for query, group in {**tables, "8": [{**dict.fromkeys(rows[0], ""), "query": "8"}]}.items():
        cells = add_not_run(group)
        labels = [_labels(row, _LOADS.get(query, "cosine")) for row in cells]
        names = [NAMES[row["autoscaler"]] for row in cells]
        scores += _score(f"Table 7.18: Q{query}", cells, labels, names, results)
    return scores


def add_not_run(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """A row without numbers for every autoscaler that the thesis did not run, behind those that it did."""
    ran = [row for row in rows if row["autoscaler"]]
    kept = {axis: rows[0][axis] for axis in ("query", "stage", "workload", "input_rate") if axis in rows[0]}
    lacking = [name for name in NAMES if name not in [row["autoscaler"] for row in ran]]
    return [*ran, *({**dict.fromkeys(rows[0], ""), **kept, "autoscaler": name} for name in lacking)]


def _labels(row: Mapping[str, str], load: str) -> dict[str, str]:
    return {"model": f"Q{row['query']}", "workload": load, "policy": NAMES[row["autoscaler"]]}


def _score(
    table: str,
    rows: Sequence[dict[str, str]],
    labels: Sequence[Mapping[str, str]],
    names: Sequence[str],
    results: PlanResults,
) -> Iterator[TableScore]:
    """Every column of some rows."""
    for column, (number, quantity) in COLUMNS.items():
        claims = [
            Claim(
                row=name,
                told=read_value(row, column),
                found=results.estimate(number, **where),
                doubt=_find_doubt(row, column),
            )
            for row, where, name in zip(rows, labels, names, strict=True)
        ]
        yield TableScore(table=table, quantity=quantity, claims=tuple(claims))


def _find_doubt(row: Mapping[str, str], column: str) -> str:
    """The same run stands in several tables, and is doubted in each; other loads are other runs."""
    if row.get("workload", "cosine") != "cosine":
        return ""
    autoscaler = row["autoscaler"]
    value = row.get("value") or CHOSEN[autoscaler]
    return DOUBTS.get((row["query"], f"{autoscaler} {value}", column), "")

"""Tables of a report: they sort by any column, and every one can be had as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elastream.experiments.comparison import COST, KEPT, Contender, name_situations
from elastream.experiments.plan.document import AXES
from elastream.experiments.report.contents import Contents
from elastream.experiments.report.front import spell
from elastream.experiments.report.standing import SHOWN, Overview
from elastream.experiments.statistics import Estimate
from elastream.experiments.store.folder import RUNS, StoredRun
from elastream.render.html import Html, element, joined

HEADINGS = {
    COST: "hours paid", "worker_hours_ready": "hours ready", KEPT: "records in SLO", "slo_kept": "runs in SLO",
    "delay_p50_s": "delay p50, s", "delay_p95_s": "p95, s", "delay_p99_s": "p99, s", "actions": "actions",
    "time_in_change": "time in change", "longest_violation_s": "longest violation, s",
    "size_ratio": "size / true minimum", "cost_to_bound": "cost / bound",
    "cost_to_clairvoyant": "cost / plan that knew",
}  # fmt: skip
MOST_ROWS = 3_000
"""Of a table in the file."""
OF_SITUATIONS = (COST, KEPT, "delay_p95_s", "actions")
OF_OPTIMUM = ("cost_to_bound", "cost_to_clairvoyant")
"""Beside them, where a plan asked for the optimum."""
SHARES = (KEPT, "slo_kept", "time_in_change")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A value of a table: for people, and for sorting and CSV."""

    shown: str
    raw: str | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    """Rows under headings."""

    name: str
    """Of its file, as CSV."""
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    ids: Sequence[str] = ()


def policy_table(overview: Overview) -> ReportTable:
    """A row for each policy: what it cost, what it kept."""
    shown = [name for name in SHOWN if any(one.mean(name) is not None for one in overview.standings)]
    rows = []
    for one in overview.standings:
        cost = one.estimate(COST)
        variation = cost.variation if cost is not None else None
        rows.append([
            text_cell(one.letter), text_cell(one.policy), number_cell(float(one.runs), "{:.0f}"),
            *(estimate_cell(one.estimate(name), name) for name in shown),
            number_cell(variation, "{:.2%}"),
        ])  # fmt: skip
    headings = ["", "policy", "runs", *(HEADINGS[name] for name in shown), "variation of cost"]
    return ReportTable(
        name="policies", headings=headings, rows=rows, ids=[f"policy-{one.letter}" for one in overview.standings]
    )


def situation_table(contents: Contents) -> ReportTable:
    """A row for each policy in each situation."""
    contests = contents.comparison.contests
    contenders = [one for contest in contests for one in contest.contenders]
    known = [number for number in OF_OPTIMUM if any(one.values(number) for one in contenders)]
    shown = [*OF_SITUATIONS, *known]
    rows = [
        [text_cell(name), text_cell(one.policy), number_cell(float(len(one.by_seed)), "{:.0f}"), _verdict(one),
         *(estimate_cell(one.estimate(number), number) for number in shown)]
        for name, contest in zip(name_situations(contests), contests, strict=True)
        for one in contest.contenders
    ]  # fmt: skip
    headings = ["situation", "policy", "runs", "promise", *(HEADINGS[name] for name in shown)]
    return ReportTable(name="situations", headings=headings, rows=rows)


def draw_table(table: ReportTable) -> Html:
    """The table; its buttons need a script, and are made by it."""
    if (left_out := len(table.rows) - MOST_ROWS) > 0:
        shown = replace(table, rows=table.rows[:MOST_ROWS])
        return joined(
            (draw_table(shown), element("p", f"{left_out:,} more rows: ", element("code", "--format csv"), " has all."))
        )
    # Over numbers, which stand at the right.
    columns = [[row[place] for row in table.rows] for place in range(len(table.headings))]
    head = element(
        "tr",
        *(
            element("th", heading, scope="col", class_="number" if _is_of_numbers(cells) else None)
            for heading, cells in zip(table.headings, columns, strict=True)
        ),
    )
    ids = [*table.ids, *[None] * (len(table.rows) - len(table.ids))]
    body = (
        element("tr", *(_draw_cell(cell) for cell in row), id=id_) for row, id_ in zip(table.rows, ids, strict=True)
    )
    made = element("table", element("thead", head), element("tbody", *body), data_name=table.name)
    return element("div", made, class_="wide", tabindex=0, role="region", aria_label=f"Table: {table.name}")


def _is_of_numbers(cells: Sequence[Cell]) -> bool:
    return any(isinstance(cell.raw, float) for cell in cells)


def made_by(contents: Contents, query: str, rows: str) -> Html:
    """How a figure was made: the commands, and where its rows stand."""
    folder = contents.folder
    commands = f"elastream experiment run PLAN --out {folder}\nelastream report {folder}"
    return element(
        "details",
        element("summary", "How this was made"),
        element("p", f"Rows: {rows}. The plan is {folder / 'plan.yaml'}."),
        element("pre", commands),
        element("p", "The same numbers, from the runs' own tables by another tool (DuckDB):"),
        element("pre", query),
        class_="source",
    )


def query_means(contents: Contents, overview: Overview, names: Sequence[str] = (COST, KEPT)) -> str:
    """SQL that makes numbers of the table of policies from the runs' own tables."""
    seeds = {seed for contest in overview.shared for one in contest.contenders for seed in one.by_seed}
    # Where every seed counts, none need be named.
    chosen = "" if seeds <= set(overview.seeds) else f" AND seed IN ({', '.join(map(str, overview.seeds))})"
    situation = ", ".join(axis for axis in AXES if axis != "policy")
    return (
        f"SELECT policy, count(*) AS runs, {', '.join(f'avg({name}) AS {name}' for name in names)}\n"
        f"FROM (SELECT *, count(*) OVER (PARTITION BY {situation}, seed) AS rivals\n"
        f"      {_from_runs(contents)})\n"
        f"WHERE rivals = {len(overview.standings)}{chosen}\nGROUP BY policy ORDER BY {names[0]}"
    )


def query_situations(contents: Contents) -> str:
    """SQL that makes the table of situations."""
    situation = ", ".join(axis for axis in AXES if axis != "policy")
    return (
        f"SELECT {situation}, policy, count(*) AS runs, avg({COST}) AS {COST}, avg({KEPT}) AS {KEPT}\n"
        f"{_from_runs(contents)}\nGROUP BY ALL"
    )


def query_moments(contents: Contents, run: StoredRun) -> str:
    """SQL for the moments of a run."""
    file = _quote(contents.folder / RUNS / str(run.identity) / "ticks.parquet")
    return f"SELECT t_s, ready, demand, arrived_rps, backlog, delay_p95_s\nFROM {file} ORDER BY t_s"


def _quote(file: Path) -> str:
    return "'" + str(file).replace("'", "''") + "'"


def _from_runs(contents: Contents) -> str:
    """The runs that count."""
    files = _quote(contents.folder / RUNS / "*" / "summary.parquet")
    codes = ", ".join(f"'{code}'" for code in sorted({run.identity.code for run in contents.runs}))
    return f"FROM {files} WHERE error IS NULL AND code IN ({codes})"


def text_cell(value: str) -> Cell:
    """A text."""
    return Cell(shown=value, raw=value)


def number_cell(value: float | None, form: str) -> Cell:
    """A number; empty where it is unknown."""
    return Cell(shown="" if value is None else form.format(value), raw=value)


def estimate_cell(found: Estimate | None, name: str) -> Cell:
    """A mean with its interval."""
    if found is None:
        return Cell(shown="", raw=None)
    return Cell(shown=spell(found, "{:.2%}" if name in SHARES else "{:.4g}"), raw=found.mean)


def _verdict(one: Contender) -> Cell:
    return text_cell({True: "kept", False: "broken", None: ""}[one.keeps_slo])


def _draw_cell(cell: Cell) -> Html:
    is_number = isinstance(cell.raw, float)
    raw = None if cell.raw == cell.shown else "" if cell.raw is None else str(cell.raw)
    return element("td", cell.shown, data_raw=raw, class_="number" if is_number else None)

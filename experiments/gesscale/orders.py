"""In which share of what the document leaves open each order of its table III holds, and what that depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean

from elastream.experiments.plan.reader import read_plan
from elastream.experiments.replication.published import PublishedNumber, read_published, read_value
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.statistics import Estimate, estimate, estimate_share
from experiments.gesscale.runs import Row, read_row

FOLDER = Path(__file__).parent
POLICIES = ("THR-NLUnaware", "THR-NLAware", "MDL-NLUnaware", "Gesscale")
HOLDS = PublishedNumber(title="share of worlds in which it is so, a tie being half", tolerance=0.0, floor=0.1, most=1.0)
LEAST = PublishedNumber(title="share of worlds", most=1.0)
NAMES = {
    "reconfigurations": "reconfigurations", "cost": "cost, worker-minutes", "excess_time": "excess time, share",
    "timeshare_over_pct": "time with too many workers, %",
}  # fmt: skip
ORDERS = {
    "reconfigurations": ("Gesscale", "MDL-NLUnaware", "THR-NLAware", "THR-NLUnaware"),
    "cost": ("Gesscale", "THR-NLAware", "THR-NLUnaware", "MDL-NLUnaware"),
    "excess_time": ("Gesscale", "THR-NLAware", "MDL-NLUnaware", "THR-NLUnaware"),
    "timeshare_over_pct": ("THR-NLAware", "Gesscale", "THR-NLUnaware", "MDL-NLUnaware"),
}
"""Least first, as table III has them."""
ONE_RUN = "one run, in a world that the document does not tell"
DOUBTS = {
    ("cost", "THR-NLAware below THR-NLUnaware"): "1193.75 and 1199.5 are half a percent apart, in one run of each",
}
"""Number and pair of what table III does not tell apart beyond doubt."""
TELLING = 0.3
"""So much more often on one side of the middle of an open value than on the other is told."""

World = tuple[str, int]
"""The draw, and the seed."""
Worlds = Mapping[World, Mapping[str, Row]]
"""What each autoscaler came to in each; all of them ran."""
Split = Mapping[str, Mapping[str, bool]]
"""Open value -> which draws have it above its middle."""


def score_orders(plan: str, results: PlanResults) -> list[TableScore]:
    """A table for each load and order, with its pairs."""
    split = find_split(FOLDER / f"{plan}.yaml")
    loads = dict.fromkeys(labels["workload"] for labels, _ in results.runs)
    return [
        score
        for load in loads
        for worlds in [gather(results, workload=load)]
        if worlds
        for score in judge(f"Table III, {load}", worlds, split)
    ]


def score_values(results: PlanResults, load: str) -> list[TableScore]:
    """What the numbers of table III are on average over all worlds: for their size only."""
    worlds, told = gather(results, workload=load), read_published(FOLDER / "tables" / "table3.csv")
    return [
        TableScore(
            table=f"Table III, {load}, mean of all worlds",
            quantity=PublishedNumber(title=title),
            claims=tuple(
                Claim(row=row["algorithm"], told=read_value(row, name), doubt=ONE_RUN,
                      found=_average(worlds, row["algorithm"], name))
                for row in told
            ),
        )
        for name, title in NAMES.items()
    ]  # fmt: skip


def score_downtimes(results: PlanResults) -> list[TableScore]:
    """What is left when changes stop the job for less: how often Gesscale has the least, and what all have."""
    times = dict.fromkeys(labels["model"].partition(", ")[2] for labels, _ in results.runs)
    found = {time: gather(results, model=[f"near, {time}", f"anywhere, {time}"]) for time in times}
    scores = []
    for name in ("cost", "excess_time", "reconfigurations"):
        least = tuple(
            Claim(row=f"changes of {time}", told=None, found=_count_least(worlds, name))
            for time, worlds in found.items()
        )
        scores.append(TableScore(table=f"Gesscale alone has the least {NAMES[name]}", quantity=LEAST, claims=least))
        every = tuple(
            Claim(row=f"{policy}, {time}", told=None, found=_average(worlds, policy, name))
            for policy in POLICIES
            for time, worlds in found.items()
        )
        scores.append(TableScore(table="Mean of all worlds", quantity=PublishedNumber(title=NAMES[name]), claims=every))
    return scores


def gather(results: PlanResults, *, workload: str | None = None, model: Sequence[str] | None = None) -> Worlds:
    """Worlds in which all four ran, among runs with these labels."""
    found: dict[World, dict[str, Row]] = {}
    for labels, run in results.runs:
        if workload in (None, labels["workload"]) and (model is None or labels["model"] in model):
            found.setdefault((labels["draw"], run.numbers["seed"]), {})[labels["policy"]] = read_row(run)
    return {world: rows for world, rows in found.items() if set(rows) == set(POLICIES)}


def judge(table: str, worlds: Worlds, split: Split) -> Iterator[TableScore]:
    """Every order, whole and by its pairs."""
    for name, order in ORDERS.items():
        whole = {world: float(_is_ordered([_read(rows, one, name) for one in order])) for world, rows in worlds.items()}
        claims = [_claim("the whole order", whole, split, "")]
        for low, high in combinations(order, 2):
            pairs = {world: compare(_read(rows, low, name), _read(rows, high, name)) for world, rows in worlds.items()}
            row = f"{low} below {high}"
            claims.append(_claim(row, pairs, split, DOUBTS.get((name, row), "")))
        yield TableScore(table=f"{table}: {NAMES[name]}", quantity=HOLDS, claims=tuple(claims))


def compare(low: float, high: float) -> float:
    """1 if the first is less, 0 if it is more; half if both are alike."""
    return 0.5 if low == high else float(low < high)


def find_split(plan: Path) -> Split:
    """Which draws of a plan have each open value above the middle of its range."""
    drawn = read_plan(plan).drawn
    found: dict[str, dict[str, bool]] = {}
    for name in next(iter(drawn.values())).values:
        values = {draw: float(one.values[name]) for draw, one in drawn.items()}
        middle = (min(values.values()) + max(values.values())) / 2
        found[name] = {draw: value > middle for draw, value in values.items()}
    return found


def _claim(row: str, cases: Mapping[World, float], split: Split, doubt: str) -> Claim:
    return Claim(row=row, told=1.0, found=_share(cases), reason=tell_telling(cases, split), doubt=doubt)


def _share(cases: Mapping[World, float]) -> Estimate:
    """Over the draws: what differs in the boards alone is one draw."""
    draws = dict.fromkeys(draw for draw, _ in cases)
    return estimate_share([fmean(case for (one, _), case in cases.items() if one == draw) for draw in draws])


def tell_telling(cases: Mapping[World, float], split: Split) -> str:
    """The open value that decides most, where one does."""
    apart = {}
    for name, is_above in split.items():
        sides = [[case for (draw, _), case in cases.items() if is_above[draw] == side] for side in (False, True)]
        if all(sides):
            apart[name] = (fmean(sides[0]), fmean(sides[1]))
    name, (low, high) = max(apart.items(), key=lambda one: abs(one[1][1] - one[1][0]), default=("", (0.0, 0.0)))
    if abs(high - low) < TELLING:
        return "no open value decides alone"
    return f"{name} decides most: {low:.0%} in the lower half of its range, {high:.0%} in the upper one"


def _is_ordered(values: Sequence[float]) -> bool:
    return all(low < high for low, high in pairwise(values))


def _read(rows: Mapping[str, Row], policy: str, name: str) -> float:
    return float(getattr(rows[policy], name))


def _count_least(worlds: Worlds, name: str) -> Estimate | None:
    cases = {
        world: float(
            all(_read(rows, "Gesscale", name) < _read(rows, one, name) for one in POLICIES if one != "Gesscale")
        )
        for world, rows in worlds.items()
    }
    return _share(cases) if cases else None


def _average(worlds: Worlds, policy: str, name: str) -> Estimate | None:
    return estimate([_read(rows, policy, name) for rows in worlds.values()], least=0.0) if worlds else None


assert {field.name for field in fields(Row)} == set(NAMES) == set(ORDERS)

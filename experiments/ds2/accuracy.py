"""Section 5.5: whether what DS2 chooses is the smallest size that keeps the rate, on Flink and on Timely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from elastream.experiments.replication.published import PublishedNumber, read_published, read_value
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.statistics import Estimate, estimate
from elastream.experiments.store.folder import StoredRun
from experiments.ds2.convergence import MAIN, MOST_STEPS, read_ends
from experiments.ds2.numbers import ENDS, PUT_IN, SHARE, TABLES, comes_to_rest, count_changes, find_end, keeps_rate

MORE = 4
"""So many instances beyond its choice, to see whether they help."""
ON_TIMELY = 4
NO_TIME = "records take no time in these models where nothing waits"

SMALLEST = PublishedNumber(title="smallest size that keeps the source rate", tolerance=0.0, floor=0.49)
GAIN = PublishedNumber(title=f"p95 of records' time that {MORE} more instances save, s", tolerance=0.0, floor=0.05)
LATE = PublishedNumber(title="share of data that takes longer than its epoch of 1 s", floor=0.02)


def score_accuracy(results: PlanResults) -> list[TableScore]:
    """On Flink: each query at every size, and DS2 from each."""
    told = read_ends()
    chosen = {query: _find_choice(results, query) for query in MAIN}

    def at(query: str, more: int, number: str | Callable[[StoredRun], float | None]) -> Estimate | None:
        return results.estimate(number, model=query, policy="fixed", start=str(chosen[query] + more))

    def save(query: str) -> Estimate | None:
        few, many = at(query, 0, "delay_p95_s"), at(query, MORE, "delay_p95_s")
        return estimate([round(few.mean - many.mean, 3)]) if few and many else None

    smallest = {query: _find_smallest(results, query) for query in MAIN}
    every = {query: (1.0, _share_ending(results, query, smallest[query])) for query in MAIN}
    kept = {query: (1.0, at(query, 0, keeps_rate)) for query in MAIN}
    lost = {query: (0.0, at(query, -1, keeps_rate)) for query in MAIN}
    return [
        _table("Flink, every size", SMALLEST, {query: (told[query], smallest[query]) for query in MAIN}, PUT_IN),
        _table("Flink, DS2 ends at the smallest such size, from 6 to 32", SHARE, every),
        _table("Flink, what DS2 chooses keeps the rate", SHARE, kept),
        _table("Flink, one instance less keeps the rate", SHARE, lost),
        _table("Flink, larger sizes", GAIN, {query: (0.0, save(query)) for query in MAIN}, NO_TIME),
    ]


def score_timely(results: PlanResults) -> list[TableScore]:
    """On Timely: from every start, and epochs that are late with four workers."""
    late = read_published(TABLES / "timely-epochs.csv")
    ends = {query: results.estimate(find_end("workers"), model=query, policy="DS2") for query in MAIN}
    steady = {query: results.estimate(_is_steady, model=query, policy="DS2") for query in MAIN}
    every = {query: _share_ending(results, query, estimate([ON_TIMELY])) for query in MAIN}
    claims = tuple(
        Claim(row=row["query"], told=read_value(row, "late_share"), found=_find_late(results, row["query"]),
              reason="there its window stashes records and gives them on at once; what that costs is not told")
        for row in late
    )  # fmt: skip
    return [
        _table("Timely, from every start", ENDS, {query: (ON_TIMELY, ends[query]) for query in MAIN}, PUT_IN),
        _table("Timely, ends with 4 workers, from 1 to 16", SHARE, {query: (1.0, every[query]) for query in MAIN}),
        _table("Timely, at rest after at most three changes", SHARE, {query: (1.0, steady[query]) for query in MAIN}),
        TableScore(table="Section 5.5, Timely, 4 workers", quantity=LATE, claims=claims),
    ]


def _table(
    name: str, quantity: PublishedNumber, cells: Mapping[str, tuple[float, Estimate | None]], doubt: str = ""
) -> TableScore:
    claims = (Claim(row=row, told=told, found=found, doubt=doubt) for row, (told, found) in cells.items())
    return TableScore(table=f"Section 5.5, {name}", quantity=quantity, claims=tuple(claims))


def _find_choice(results: PlanResults, query: str) -> int:
    """Where DS2 ends most often."""
    [(size, _)] = Counter(_ends(results, query)).most_common(1) or [(0, 0)]
    return int(size)


def _find_smallest(results: PlanResults, query: str) -> Estimate | None:
    sizes = [find_end(MAIN[query])(run) for run in results.find(model=query, policy="fixed") if keeps_rate(run)]
    known = [size for size in sizes if size is not None]
    return estimate([min(known)]) if known else None


def _share_ending(results: PlanResults, query: str, at: Estimate | None) -> Estimate | None:
    ends = _ends(results, query)
    return estimate([float(end == at.mean) for end in ends]) if ends and at else None


def _ends(results: PlanResults, query: str) -> list[float]:
    pool = "workers" if "timely" in results.name else MAIN[query]
    found = (find_end(pool)(run) for run in results.find(model=query, policy="DS2"))
    return [end for end in found if end is not None]


def _is_steady(run: StoredRun) -> float:
    return float(comes_to_rest(run) and count_changes(run) <= MOST_STEPS)


def _find_late(results: PlanResults, query: str) -> Estimate | None:
    found = results.estimate("records_within_slo", model=query, policy="fixed", start=str(ON_TIMELY))
    return estimate([1 - found.mean]) if found else None

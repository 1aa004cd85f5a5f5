"""Table 4 and what section 5.4 says of it in words: in how many steps DS2 comes to rest, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from elastream.experiments.replication.published import PublishedNumber, read_published
from elastream.experiments.replication.results import Measure, PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.replication.size_path import fold_repeated, read_path
from elastream.experiments.statistics import estimate
from elastream.experiments.store.folder import StoredRun
from experiments.ds2.numbers import CHANGES, ENDS, PUT_IN, SHARE, TABLES, comes_to_rest, count_changes, find_end

MAIN = {"Q1": "map", "Q2": "filter", "Q3": "join", "Q5": "window", "Q8": "window-join", "Q11": "session"}
"""The operator of each query that table 4 shows."""
MOST_STEPS = 3

COUNTED = "these are the cells above, counted"
FIRST = PublishedNumber(title="instances after the first change", tolerance=0.1, floor=1.0)
RUNS = PublishedNumber(title="runs", floor=0.49)


def score_convergence(results: PlanResults) -> list[TableScore]:
    """A table for each query, then the numbers of 5.4."""
    rows = read_published(TABLES / "convergence.csv")
    ends = tuple(
        Claim(row=query, told=end, found=results.estimate(find_end(MAIN[query]), model=query), doubt=PUT_IN)
        for query, end in read_ends().items()
    )
    return [
        *(score for query in MAIN for score in _score(query, rows, results)),
        TableScore(table="Table 4, from every start", quantity=ENDS, claims=ends),
        _score_steps(results),
        _score_words("Section 5.4 in words", results),
    ]


def score_drawn(results: PlanResults) -> list[TableScore]:
    """What 5.4 says in words, over all draws."""
    return [_score_words("Section 5.4 in words, whatever nobody tells", results)]


def read_ends() -> dict[str, int]:
    """Query -> the size that every path of table 4 ends with."""
    row = read_published(TABLES / "convergence.csv")[0]
    return {query: parse_path(int(row["initial"]), row[query])[-1] for query in MAIN}


def parse_path(start: int, cell: str) -> list[int]:
    """The sizes of a cell such as `12>16`, from the one it starts with."""
    return fold_repeated([start, *(int(size) for size in cell.split(">"))])


def _score(query: str, rows: list[dict[str, str]], results: PlanResults) -> Iterator[TableScore]:
    claims: dict[PublishedNumber, list[Claim]] = {CHANGES: [], FIRST: []}
    for row in rows:
        told, where = parse_path(int(row["initial"]), row[query]), {"model": query, "start": row["initial"]}
        name = f"from {told[0]}"
        changes = results.estimate(count_changes, **where)
        reason = _explain(told, changes.mean) if changes else ""
        claims[CHANGES].append(Claim(row=name, told=len(told) - 1, found=changes, reason=reason))
        if len(told) > 1:
            first = results.estimate(_find_first(MAIN[query]), **where)
            claims[FIRST].append(Claim(row=name, told=told[1], found=first, reason=reason))
    for quantity, cells in claims.items():
        yield TableScore(table=f"Table 4: {query}", quantity=quantity, claims=tuple(cells))


def _find_first(pool: str) -> Measure:
    def find(run: StoredRun) -> float | None:
        sizes = read_path(run).of(pool)
        return float(sizes[1]) if len(sizes) > 1 else None

    return find


def _explain(told: list[int], changes: float) -> str:
    """Why steps differ. From below the document's own steps say it."""
    start, end = told[0], told[-1]
    if start < end and len(told) - 1 > changes:
        return (
            f"there {start} instances seemed to do 1/{told[1]} of the load each, and {end} did 1/{end}; here each does "
            "as much whatever their number"
        )
    return (
        "here useful time misses a fifth of the work at low load in every query, which is ours" if start > end else ""
    )


def _score_steps(results: PlanResults) -> TableScore:
    """19, 14 and 3 of 36: told, and the same as the cells of table 4."""
    changes = [count_changes(run) for _, run in results.runs]
    counts: Mapping[str, tuple[int, int]] = {
        "none or one": (19, sum(one <= 1 for one in changes)),
        "two": (14, sum(one == 2 for one in changes)),
        "three": (3, sum(one == MOST_STEPS for one in changes)),
        "more": (0, sum(one > MOST_STEPS for one in changes)),
    }
    claims = (
        Claim(row=name, told=told, found=None if results.missing else estimate([found]), doubt=COUNTED)
        for name, (told, found) in counts.items()
    )
    return TableScore(table="Section 5.4: changes until rest", quantity=RUNS, claims=tuple(claims))


def _score_words(table: str, results: PlanResults) -> TableScore:
    ends = read_ends()
    said: Mapping[str, Measure] = {
        "comes to rest": comes_to_rest,
        "takes at most three changes": lambda run: float(count_changes(run) <= MOST_STEPS),
        "from below, never larger than in the end": _stays_below,
        "ends at the same size from every start": lambda run: float(
            find_end(MAIN[_find_query(run)])(run) == ends[_find_query(run)]
        ),
    }
    claims = (Claim(row=row, told=1.0, found=results.estimate(measure)) for row, measure in said.items())
    return TableScore(table=table, quantity=SHARE, claims=tuple(claims))


def _stays_below(run: StoredRun) -> float | None:
    """Accuracy and no overshoot, of runs that begin with too few."""
    sizes = read_path(run).of(MAIN[_find_query(run)])
    return float(max(sizes) == sizes[-1]) if sizes[0] < sizes[-1] else None


def _find_query(run: StoredRun) -> str:
    return str(run.document["labels"]["model"])

"""Table 7.19: who comes to rest, and after how many minutes and changes."""

from collections.abc import Iterator, Mapping
from itertools import groupby

from elastream.experiments.replication.published import PublishedNumber, read_published
from elastream.experiments.replication.rest import find_rest
from elastream.experiments.replication.results import Measure, PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.store.folder import StoredRun
from experiments.kanis.tables import NAMES, TABLES, add_not_run

STAGES_S = {"1": (600.0, 3000.0), "2": (3000.0, 5400.0)}
"""2 million and then 1 million records/s."""
CALM_S = 630.0
"""Who does not change in the time of two cool-downs and iterations has come to rest."""

RESTS = PublishedNumber(title="comes to rest within 40 minutes (share of runs)", tolerance=0.0, floor=0.49)
MINUTES = PublishedNumber(title="minutes to rest, of runs that come to it", floor=5.0)
CHANGES = PublishedNumber(title="changes on the way, of runs that come to rest", floor=1.0)


def score_convergence(results: PlanResults) -> list[TableScore]:
    """A table for each query and stage."""
    rows = read_published(TABLES / "convergence.csv")
    scores: list[TableScore] = []
    for (query, stage), group in groupby(rows, lambda row: (row["query"], row["stage"])):
        scores += _score(query, stage, add_not_run(list(group)), results)
    return scores


def _score(query: str, stage: str, rows: list[dict[str, str]], results: PlanResults) -> Iterator[TableScore]:
    table = f"Table 7.19: Q{query}, {float(rows[0]['input_rate']) / 1e6:g} million records/s"
    measures: Mapping[PublishedNumber, tuple[str, Measure]] = {
        RESTS: ("minutes_to_converge", lambda run: float(_find(run, stage)[0] is not None)),
        MINUTES: ("minutes_to_converge", lambda run: _find(run, stage)[0]),
        CHANGES: ("scaling_actions", lambda run: _find(run, stage)[1]),
    }
    for quantity, (column, measure) in measures.items():
        claims = []
        for row in rows:
            told = None if not row["minutes_to_converge"] else _tell(row[column], quantity)
            found = results.estimate(measure, model=f"Q{query}", policy=NAMES[row["autoscaler"]])
            if quantity is RESTS or told is not None:
                claims.append(Claim(row=NAMES[row["autoscaler"]], told=told, found=found))
        if claims:
            yield TableScore(table=table, quantity=quantity, claims=tuple(claims))


def _find(run: StoredRun, stage: str) -> tuple[float | None, float | None]:
    begin_s, end_s = STAGES_S[stage]
    rest = find_rest(run, begin_s, end_s, CALM_S)
    return rest.minutes, None if rest.minutes is None else float(rest.actions)


def _tell(text: str, quantity: PublishedNumber) -> float | None:
    """`40+` is: not within them."""
    rests = bool(text) and not text.endswith("+")
    if quantity is RESTS:
        return float(rests)
    return float(text) if rests else None

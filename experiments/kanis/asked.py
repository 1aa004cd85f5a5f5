"""What the thesis asks others to run (8.2, 8.3): numbers of ours with nothing beside them, and the true optimum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.replication.rest import Rest, find_rest
from elastream.experiments.replication.results import Measure, PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.replication.unscored import tabulate
from elastream.experiments.statistics import estimate
from elastream.experiments.store.folder import StoredRun
from experiments.kanis.rest import CALM_S, MINUTES
from experiments.kanis.tables import COLUMNS, LATENCY, WORKERS

KEPT = 0.999
"""Of all that came, what a size that keeps the rate has worked through in 20 minutes."""
LAST_S = 3600.0
STAGES_S = {"2 million/s": (600.0, 15_000.0), "1 million/s": (15_000.0, 29_400.0)}
"""Of asked-convergence.yaml, by the names that asked-sizes.yaml has for these loads."""
USUAL: Mapping[PublishedNumber, str] = {WORKERS: "mean_wanted", LATENCY: "age_sample_mean_s"}
LAG_P95 = COLUMNS["p95_latency_s"][1]
OF_WORKERS = PublishedNumber(title="task managers, mean, over those that it took as it ran")
OF_LATENCY = PublishedNumber(title="time in the log, mean, over that of it as it ran")
RESTING = PublishedNumber(title="share of runs that come to rest", most=1.0)
CHANGES_IN_ALL = PublishedNumber(title="changes")
IN_THE_END = PublishedNumber(title="workers in the last hour")
NEEDED = PublishedNumber(title="fewest instances that keep the rate")
BUSY = PublishedNumber(title="processor use, mean", most=1.0)


def tabulate_improvements(results: PlanResults) -> list[TableScore]:
    """Each autoscaler as it ran, and with what is proposed for it: both numbers, and their quotients seed by seed."""
    quotients = {OF_WORKERS: _compare(results, "mean_wanted"), OF_LATENCY: _compare(results, "age_sample_mean_s")}
    scores = [
        replace(score, claims=tuple(claim for claim in score.claims if claim.row != find_plain(claim.row)))
        for score in tabulate(results, quotients)
    ]
    return [*tabulate(results, USUAL), *scores]


def find_plain(policy: str) -> str:
    """What an autoscaler is called without improvements: what stands before the comma."""
    return policy.partition(",")[0]


def _compare(results: PlanResults, number: str) -> Measure:
    """A number of a run over that of the autoscaler as it ran, under the same load and the same seed."""
    known = {_pair(run, labels["policy"]): run.numbers.get(number) for labels, run in results.runs}

    def measure(run: StoredRun) -> float | None:
        value, plain = run.numbers.get(number), known.get(_pair(run, find_plain(run.document["labels"]["policy"])))
        return None if value is None or not plain else float(value) / float(plain)

    return measure


def _pair(run: StoredRun, policy: str) -> tuple[object, ...]:
    labels = run.document["labels"]
    return policy, labels["model"], labels["workload"], run.document["what"]["seed"]


def tabulate_damping(results: PlanResults) -> list[TableScore]:
    """By how long it is not asked, and how far it may step."""
    return tabulate(results, USUAL, rows=("guards",))


def tabulate_queries(results: PlanResults) -> list[TableScore]:
    """A table for each query."""
    return tabulate(results, USUAL)


def tabulate_starts(results: PlanResults) -> list[TableScore]:
    """By the size that it begins with."""
    numbers: Mapping[PublishedNumber, str | Measure] = {
        **USUAL,
        RESTING: lambda run: float(_find_minutes(run) is not None),
        MINUTES: _find_minutes,
    }
    return tabulate(results, numbers, rows=("start",))


def tabulate_skew(results: PlanResults) -> list[TableScore]:
    """By the share of the hottest key."""
    return tabulate(results, USUAL, rows=("model",))


def tabulate_spikes(results: PlanResults) -> list[TableScore]:
    """With and without them; what spikes do shows in the tail."""
    return tabulate(results, {**USUAL, LAG_P95: "age_sample_p95_s"}, rows=("policy", "workload"))


def tabulate_days(results: PlanResults) -> list[TableScore]:
    """Over the whole time."""
    return tabulate(results, {**USUAL, BUSY: "mean_cpu"})


def tabulate_sizes(results: PlanResults) -> list[TableScore]:
    """The smallest size that keeps each rate, operator by operator."""
    loads = list(dict.fromkeys(labels["workload"] for labels, _ in results.runs))
    parts = list(dict.fromkeys(labels["model"] for labels, _ in results.runs))
    return [
        TableScore(
            table=load,
            quantity=NEEDED,
            claims=tuple(_claim(part, find_least(results, part, load)) for part in parts),
        )
        for load in loads
    ]


def tabulate_convergence(results: PlanResults, sizes: PlanResults | None) -> list[TableScore]:
    """Whether and when each comes to rest, and how far from the smallest size that keeps the rate."""
    scores: list[TableScore] = []
    for load, (begin_s, end_s) in STAGES_S.items():
        for score in tabulate(results, _measure_stage(begin_s, end_s)):
            least = None if sizes is None or score.quantity is not IN_THE_END else _add_up(sizes, score.table, load)
            claims = score.claims if least is None else (*score.claims, _claim("the fewest that keep the rate", least))
            scores.append(TableScore(table=f"{score.table}, {load}", quantity=score.quantity, claims=claims))
    return scores


def _measure_stage(begin_s: float, end_s: float) -> Mapping[PublishedNumber, Measure]:
    def find(run: StoredRun) -> Rest:
        return find_rest(run, begin_s, end_s, CALM_S)

    return {
        RESTING: lambda run: float(find(run).minutes is not None),
        MINUTES: lambda run: find(run).minutes,
        CHANGES_IN_ALL: lambda run: float(find(run).actions),
        IN_THE_END: lambda run: find_mean_size(run, end_s - LAST_S, end_s),
    }


def find_least(sizes: PlanResults, part: str, load: str) -> int | None:
    """The smallest number of instances of an operator that keeps a rate; None if none of those that ran does."""
    kept = [
        int(run.document["labels"]["start"])
        for run in sizes.find(model=part, workload=load)
        if (ratio := run.numbers.get("throughput_ratio")) is not None and ratio >= KEPT
    ]
    return min(kept, default=None)


def find_mean_size(run: StoredRun, begin_s: float, end_s: float) -> float | None:
    """The mean of what was wanted over a part of a run; looks are equally far apart."""
    rows = pq.read_table(run.folder / "ticks.parquet", columns=["t_s", "wanted"]).to_pylist()
    found = [row["wanted"] for row in rows if begin_s <= row["t_s"] < end_s and row["wanted"] is not None]
    return sum(found) / len(found) if found else None


def _find_minutes(run: StoredRun) -> float | None:
    return find_rest(run, 0.0, float(run.document["what"]["duration_s"]), CALM_S).minutes


def _add_up(sizes: PlanResults, query: str, load: str) -> int | None:
    """Of all operators of a query: they are named after it."""
    parts = {labels["model"] for labels, _ in sizes.runs if labels["model"].startswith(f"{query} ")}
    least = [find_least(sizes, part, load) for part in parts]
    known = [number for number in least if number is not None]
    return sum(known) if known and len(known) == len(least) else None


def _claim(row: str, number: float | None) -> Claim:
    return Claim(row=row, told=None, found=None if number is None else estimate([number]))

"""Section 4.8: capacities as Daedalus estimates them, beside what each size does when it has more than enough to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.statistics import estimate_share
from elastream.experiments.store.folder import StoredRun
from experiments.daedalus.numbers import SHARE, read_decisions, read_ticks

ESTIMATED = "capacity_rps/workers"
TYPICAL, MOSTLY = 0.05, 0.03
FLOODED = (
    "flooded, workers with fewer partitions go on when the one with most is full, so that a size seems to do more than "
    "it can without falling behind, and that is what Daedalus estimates"
)


def score_capacity(saturated: PlanResults, results: Sequence[PlanResults]) -> list[TableScore]:
    """Less than 5 % off typically, less than 3 % in most cases."""
    truths = find_truths(saturated)
    errors: dict[str, list[float]] = {}
    for plan in results:
        for labels, run in plan.runs:
            if labels["policy"] == "Daedalus":
                errors.setdefault(labels["model"], []).extend(_find_errors(run, labels["model"], truths))
    near, most = [], []
    for model, off in errors.items():
        reason = FLOODED if model == "Kafka Streams" else ""
        within = [float(error < TYPICAL) for error in off]
        mostly = [float(error < MOSTLY) for error in off]
        near.append(Claim(row=model, told=1.0, found=estimate_share(within) if off else None, reason=reason))
        is_most = [float(sum(mostly) > len(mostly) / 2)]
        most.append(Claim(row=model, told=1.0, found=estimate_share(is_most) if off else None, reason=reason))
    return [
        TableScore(table="Section 4.8, capacity is less than 5 % off, when sizes changed", quantity=SHARE,
                   claims=tuple(near)),
        TableScore(table="Section 4.8, most estimates are less than 3 % off", quantity=SHARE, claims=tuple(most)),
    ]  # fmt: skip


def find_truths(saturated: PlanResults) -> Mapping[tuple[str, int], float]:
    """What each size of each job does in the end."""
    return {
        (labels["model"], int(labels["start"])): read_ticks(run, "committed_rps")[-1][1]
        for labels, run in saturated.runs
    }


def _find_errors(run: StoredRun, model: str, truths: Mapping[tuple[str, int], float]) -> Iterator[float]:
    for row in read_decisions(run):
        told, truth = row["evidence"].get(ESTIMATED), truths.get((model, row["workers_before"]))
        if told is not None and truth and row["workers_before"] != row["workers_after"]:
            yield abs(told / truth - 1)

"""Why HPA lags in these models: what the share of the most frequent key, its tolerance and longer stops do to it."""

from __future__ import annotations

from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from experiments.daedalus.numbers import LATENCY, WORKERS, find_latency


def score_skew(results: PlanResults) -> list[TableScore]:
    """Workers and latency for each skew; the document has none of it."""
    policies = list(dict.fromkeys(labels["policy"] for labels, _ in results.runs))
    models = list(dict.fromkeys(labels["model"] for labels, _ in results.runs))
    return [
        TableScore(
            table=policy,
            quantity=quantity,
            claims=tuple(
                Claim(row=model, told=None, found=results.estimate(number, model=model, policy=policy))
                for model in models
            ),
        )
        for policy in policies
        for quantity, number in ((WORKERS, "mean_wanted"), (LATENCY, find_latency))
    ]

"""The thesis' autoscalers on Spark: what each used, and how late the records were."""

from __future__ import annotations

from collections.abc import Mapping

from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import TableScore
from elastream.experiments.replication.unscored import tabulate

NUMBERS: Mapping[PublishedNumber, str] = {
    PublishedNumber(title="executors decided on, mean"): "mean_wanted",
    PublishedNumber(title="executors, most"): "max_workers",
    PublishedNumber(title="changes"): "actions",
    PublishedNumber(title="delay over looks, mean, s of the wall"): "delay_sample_mean_s",
    PublishedNumber(title="delay over looks, p95, s of the wall"): "delay_sample_p95_s",
}


def tabulate_live(results: PlanResults) -> list[TableScore]:
    """A table for each query and number."""
    return tabulate(results, NUMBERS)

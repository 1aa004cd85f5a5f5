"""What a sweep comes to, computed by Spark from the tables of its runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elastream.experiments.plan.document import AXES
from elastream.experiments.store.folder import RUNS, RunStore
from elastream.experiments.store.identity import Identity
from elastream.experiments.store.tables import NUMBERS, SUMMARY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "summary.parquet"
"""Beside the runs: a row for each experiment over its seeds."""
_TYPES = {"string": "STRING", "int64": "BIGINT", "double": "DOUBLE", "bool": "BOOLEAN"}
_MEANS = [name for name, kind in NUMBERS.items() if str(kind) in ("double", "int64")]


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """All runs of a policy, over everything else that a plan varies."""

    policy: str
    experiments: int
    failed: int
    worker_hours_paid: float | None
    """Means of the runs that did not fail and know it."""
    records_within_slo: float | None
    kept: float | None
    """Share of the runs with a promise that kept it."""


def summarise_sweep(spark: SparkSession, store: RunStore, runs: Iterable[Identity]) -> list[PolicySummary]:
    """Summarise these runs by policy, and write the table by experiment beside them."""
    wanted = spark.createDataFrame([(one.experiment, one.code) for one in runs], "experiment STRING, code STRING")
    columns = ", ".join(f"`{field.name}` {_TYPES[str(field.type)]}" for field in SUMMARY)
    # Runs of older code may be damaged; those of this plan were written a moment ago, or have been read.
    reader = spark.read.schema(columns).option("ignoreCorruptFiles", "true").option("recursiveFileLookup", "true")
    reader = reader.option("pathGlobFilter", "summary.parquet")
    found = reader.parquet((store.folder / RUNS).absolute().as_uri()).join(wanted, ["experiment", "code"], "left_semi")
    found.cache()
    try:
        axes, means = ", ".join(AXES), ", ".join(f"avg({name}) AS {name}" for name in _MEANS)
        by_experiment = spark.sql(
            f"SELECT {axes}, count(*) AS runs, count(error) AS failed, avg(CAST(slo_kept AS INT)) AS slo_kept, {means} "
            f"FROM {{runs}} GROUP BY {axes} ORDER BY {axes}",
            runs=found,
        )
        by_experiment.coalesce(1).write.mode("overwrite").parquet((store.folder / TABLE).absolute().as_uri())
        rows = spark.sql(
            "SELECT policy, count(*), count(error), avg(worker_hours_paid), avg(records_within_slo), "
            "avg(CAST(slo_kept AS INT)) FROM {runs} GROUP BY policy "
            "ORDER BY avg(worker_hours_paid) NULLS LAST, policy",
            runs=found,
        ).collect()
    finally:
        found.unpersist()
    return [PolicySummary(*row) for row in rows]

"""What a sweep comes to, computed by Spark from the tables of its runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]

from elastream.experiments.plan.document import AXES
from elastream.experiments.store.folder import RunStore
from elastream.experiments.store.identity import Identity
from elastream.experiments.store.stored_files import UNREADABLE, read_rows
from elastream.experiments.store.tables import NUMBERS, SUMMARY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "summary.parquet"
"""Beside the runs: a row for each experiment over its seeds."""
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
    # Thousands of files of a row each are read sooner here than by a job, which lists and opens them one by one too.
    tables = [table for one in runs if (table := _read(store.path(one) / "summary.parquet")) is not None]
    found = spark.createDataFrame(pa.concat_tables([SUMMARY.empty_table(), *tables]))
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
    return [PolicySummary(*row) for row in rows]


def _read(file: Path) -> pa.Table | None:
    """None where it is damaged: older runs may be, those of this plan were written a moment ago, or have been read."""
    try:
        return pa.Table.from_pylist(read_rows(file, SUMMARY), schema=SUMMARY)
    except UNREADABLE:
        return None

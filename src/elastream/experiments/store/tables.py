"""The tables of a run: its moments, its decisions, and one row of numbers. None is unknown, and never 0."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields

import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.tick import Tick
from elastream.evaluation.elasticity import Elasticity
from elastream.evaluation.predictions import PredictionLog, Predictions, judge_predictions
from elastream.evaluation.settling import Settling
from elastream.experiments.optimum.optimum import Optimum
from elastream.experiments.plan.document import AXES
from elastream.experiments.run import Run

TICKS = pa.schema([
    ("t_s", pa.float64()),
    ("offered_rps", pa.float64()),
    ("arrived_rps", pa.float64()),
    ("committed_rps", pa.float64()),
    ("backlog", pa.float64()),
    ("delay_p95_s", pa.float64()),
    ("wanted", pa.int32()),
    ("ready", pa.int32()),
    ("leaving", pa.int32()),
    ("paid", pa.int32()),
    ("actions", pa.int32()),
    ("demand", pa.int32()),
    ("within_slo", pa.bool_()),
    ("decision", pa.string()),
])  # fmt: skip

ADJUSTMENT = pa.struct([
    ("guard", pa.string()), ("pool", pa.string()), ("before", pa.int32()), ("after", pa.int32()),
    ("reason", pa.string()),
])  # fmt: skip
POOL_SIZE = pa.struct([("pool", pa.string()), ("workers", pa.int32())])
DECISIONS = pa.schema([
    ("t_s", pa.float64()),
    ("kind", pa.string()),
    ("workers_before", pa.int32()),
    ("workers_after", pa.int32()),
    ("proposed", pa.int32()),
    ("pools", pa.list_(POOL_SIZE)),
    ("reason", pa.string()),
    ("evidence", pa.string()),
    ("adjustments", pa.list_(ADJUSTMENT)),
])  # fmt: skip


class DecisionLog:
    """Decisions that changed the job, or its mind: of those that only restate another there is no row.

    Implements Journal.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []
        self._last: tuple[str, Mapping[str, int]] | None = None
        self._began_s: float | None = None

    def write(self, tick: Tick) -> None:
        """Take in one tick."""
        # Seconds since the first moment, as in the table of moments: the clock of a live run is that of its machine.
        self._began_s = tick.at_s if self._began_s is None else self._began_s
        decision, now = tick.decision, tick.observation
        if decision is None or now is None:
            return
        sizes = decision.allocation
        if self._last == (decision.kind, sizes):
            return
        before = now.wanted() if self._last is None else self._last[1]
        self._last = decision.kind, sizes
        self.rows.append({
            "t_s": tick.at_s - self._began_s,
            "kind": decision.kind,
            "workers_before": sum(before.values()),
            "workers_after": sum(sizes.values()),
            "proposed": sum(decision.proposed().values()),
            "pools": [{"pool": pool, "workers": workers} for pool, workers in sizes.items()],
            "reason": decision.reason,
            "evidence": json.dumps(decision.evidence),
            "adjustments": [
                {name: getattr(note, name) for name in ADJUSTMENT.names} for note in decision.adjustments
            ],
        })  # fmt: skip

    def close(self) -> None:
        """Nothing to close."""


def make_ticks(run: Run) -> pa.Table:
    """The moments of a run, and what would have been needed at each."""
    rows = [dict(row, t_s=row["t_seconds"]) for row in run.series.rows()]
    for name, told in (("offered_rps", run.offered_rps), ("demand", run.demand)):
        for row, value in zip(rows, told or [], strict=False):
            row[name] = value
    return pa.Table.from_pylist([{name: row.get(name) for name in TICKS.names} for row in rows], schema=TICKS)


def make_decisions(log: DecisionLog) -> pa.Table:
    """The decisions of a run."""
    return pa.Table.from_pylist(log.rows, schema=DECISIONS)


NUMBERS: dict[str, pa.DataType] = {
    "ticks": pa.int64(),
    "mean_workers": pa.float64(),
    "max_workers": pa.float64(),
    "mean_wanted": pa.float64(),
    "worker_hours_paid": pa.float64(),
    "worker_hours_ready": pa.float64(),
    "actions": pa.int64(),
    "grown": pa.int64(),
    "shrunk": pa.int64(),
    "holds": pa.int64(),
    "time_within_slo": pa.float64(),
    "max_delay_p95_s": pa.float64(),
    "max_backlog": pa.float64(),
    "last_backlog": pa.float64(),
    "longest_violation_s": pa.float64(),
    "delay_sample_mean_s": pa.float64(),
    "delay_sample_p50_s": pa.float64(),
    "delay_sample_p95_s": pa.float64(),
    "delay_sample_p99_s": pa.float64(),
    "delay_sample_max_s": pa.float64(),
    "delay_sample_variance_s2": pa.float64(),
    "age_sample_mean_s": pa.float64(),
    "age_sample_p50_s": pa.float64(),
    "age_sample_p95_s": pa.float64(),
    "mean_arrived_rps": pa.float64(),
    "mean_committed_rps": pa.float64(),
    "throughput_ratio": pa.float64(),
    "mean_cpu": pa.float64(),
    "mean_worker_memory_bytes": pa.float64(),
    "idle_share": pa.float64(),
    "time_in_change": pa.float64(),
    "excess_time": pa.float64(),
    "records_within_slo": pa.float64(),
    "slo_kept": pa.bool_(),
    "records": pa.float64(),
    "backlog_left": pa.float64(),
    "delay_p50_s": pa.float64(),
    "delay_p95_s": pa.float64(),
    "delay_p99_s": pa.float64(),
    "delay_max_s": pa.float64(),
    **{
        field.name: pa.float64()
        for kind in (Elasticity, Settling, Predictions)
        for field in fields(kind)
    },
    "least_workers": pa.int64(),
    "size_ratio": pa.float64(),
    "bound_hours": pa.float64(),
    "clairvoyant_hours": pa.float64(),
    "cost_to_bound": pa.float64(),
    "cost_to_clairvoyant": pa.float64(),
    "took_s": pa.float64(),
}  # fmt: skip
"""What a run comes to (`docs/metrics.md`); the last one is how long the run itself took on the machine that ran it."""

SUMMARY = pa.schema([
    ("experiment", pa.string()),
    ("code", pa.string()),
    ("seed", pa.int64()),
    *((axis, pa.string()) for axis in AXES),
    *NUMBERS.items(),
    ("form", pa.string()),
    ("error", pa.string()),
])  # fmt: skip


def make_summary(row: Mapping[str, object]) -> pa.Table:
    """One row; names that it does not have are unknown."""
    return pa.Table.from_pylist([{name: row.get(name) for name in SUMMARY.names}], schema=SUMMARY)


def find_numbers(
    run: Run, predicted: PredictionLog, least_workers: int | None, optimum: Optimum | None = None
) -> dict[str, object]:
    """Everything that is known of a run in one number."""
    series, mean = run.series, run.summary.mean_workers
    at = [moment - series.start for moment in series.at]
    horizon_s = run.experiment.policy.settings.get("horizon_s")
    return {
        **run.summary.as_json(),
        **(run.exact.as_json() if run.exact is not None else {}),
        **(asdict(run.elasticity) if run.elasticity is not None else {}),
        **(asdict(run.settling) if run.settling is not None else {}),
        **asdict(judge_predictions(predicted, at, series.column("arrived"), series.column("backlog"), horizon_s)),
        "least_workers": least_workers,
        "size_ratio": mean / least_workers if mean is not None and least_workers else None,
        **({} if optimum is None else optimum.as_numbers(run.summary.worker_hours_paid)),
        "form": run.form,
    }

"""What is measured of a run of this evaluation, and when it counts as what the document tells."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.store.folder import StoredRun

TABLES = Path(__file__).parent / "tables"

WORKERS = PublishedNumber(title="workers, mean", floor=0.5)
LATENCY = PublishedNumber(title="p95 of latency, mean over time, s", floor=0.5)
LONGEST = PublishedNumber(title="longest p95 of latency, s", floor=5.0)
SAVED = PublishedNumber(title="share of workers that Daedalus saves", floor=0.05, most=1.0)
SHARE = PublishedNumber(title="share of cases", tolerance=0.0, floor=0.1, most=1.0)
"""What a document says is so `almost always`, `typically` or in words without a number is told as 1."""


def find_latency(run: StoredRun) -> float | None:
    """The 95th percentile at each look, mean over those at which something had been committed."""
    column = pq.read_table(run.folder / "ticks.parquet", columns=["delay_p95_s"]).column(0).to_pylist()
    known = [value for value in column if value is not None]
    return fmean(known) if known else None


def read_ticks(run: StoredRun, *columns: str) -> list[tuple[Any, ...]]:
    """The moments of a run: when, and these columns."""
    table = pq.read_table(run.folder / "ticks.parquet", columns=["t_s", *columns])
    return list(zip(*(table.column(name).to_pylist() for name in ("t_s", *columns)), strict=True))


def read_decisions(run: StoredRun) -> list[dict[str, Any]]:
    """Its decisions, with what each rests on."""
    columns = ["t_s", "workers_before", "workers_after", "evidence"]
    rows = pq.read_table(run.folder / "decisions.parquet", columns=columns).to_pylist()
    return [{**row, "evidence": json.loads(row["evidence"])} for row in rows]

"""What is measured of a run of this evaluation, and when it counts as what the document tells."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.replication.results import Measure
from elastream.experiments.replication.size_path import read_path
from elastream.experiments.store.folder import StoredRun

TABLES = Path(__file__).parent / "tables"

CHANGES = PublishedNumber(title="changes of size until rest", tolerance=0.0, floor=0.49)
ENDS = PublishedNumber(title="instances in the end", tolerance=0.0, floor=0.49)
SHARE = PublishedNumber(title="share of runs", tolerance=0.0, floor=0.001)
PUT_IN = "this size was put into the model"

CALM_S = 400.0
"""Who changes nothing for so long has come to rest: a decision of 5.4 takes 180 s, and the next one 210 s more."""
MET = 0.99
"""Share of the source rate from which on it is kept; the first seconds fill buffers."""


def count_changes(run: StoredRun) -> float:
    """Decisions that changed a size; several pools at once are one."""
    return float(len(read_path(run).changes))


def find_end(pool: str) -> Measure:
    """The size of a pool in the end."""
    return lambda run: float(read_path(run).of(pool)[-1])


def comes_to_rest(run: StoredRun) -> float:
    """1 if nothing changes towards the end."""
    return float(read_path(run).last_change_s <= run.document["what"]["duration_s"] - CALM_S)


def find_rate_share(run: StoredRun) -> float | None:
    """Records that were worked through, as a share of what sources would have made had nothing held them back."""
    offered = pq.read_table(run.folder / "ticks.parquet", columns=["offered_rps"]).column(0).to_pylist()
    total = fmean(offered) * run.document["what"]["duration_s"]
    records = run.numbers["records"]
    return None if records is None or not total else float(records) / total


def keeps_rate(run: StoredRun) -> float | None:
    """1 if sources were held back at no time that counts."""
    share = find_rate_share(run)
    return None if share is None else float(share >= MET)

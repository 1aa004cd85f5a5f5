"""Rows behind the watermark are dropped, those and no others: what is left gives the answer of DuckDB over the rest."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pytest
from numpy.typing import NDArray

from elastream.jobs.catalogue import jobs
from elastream.jobs.judging import differences, inputs_of, judge
from elastream.jobs.output import written
from tests.jobs.lateness import (
    Lateness,
    dropped,
    itself,
    limits_of,
    run_and_watch,
    sessions_given_out,
    silence,
    window_end,
)

pytestmark = pytest.mark.needs("spark")

# Batches of 8 s. Bids are for any of the last 1,000 auctions: a late bid is then for one that its window knows, and
# can be what makes that auction the one with the most.
INPUT = {
    "workload": "constant(250)",
    "rows": "10000",
    "rowsPerBatch": "2000",
    "partitions": "2",
    "seed": "5",
    "inFlightAuctions": "1000",
    "hotAuctionRatio": "1",
}
# Up to 25 s late, which is behind a watermark of 4 s in most places.
LATE = {**INPUT, "lateShare": "30%", "lateBy": "25s"}
WATERMARK_S, GAP_S = 4, 3


def wanted_by_q3(name: str, table: pa.Table) -> NDArray[np.bool_]:
    """Filters stand before the watermark."""
    if name == "persons":
        return np.asarray(pc.is_in(table["state"], pa.array(["OR", "ID", "CA"])).to_numpy())
    return np.asarray(pc.equal(table["category"], 10).to_numpy())


CASES: dict[str, tuple[str, dict[str, object], Lateness]] = {
    "windows": (
        "nexmark-q5",
        {"window": 5, "slide": 5, "most": False},
        Lateness(watermark_s=WATERMARK_S, counts_until=window_end(5)),
    ),
    "windowed join": ("nexmark-q8", {"window": 5}, Lateness(watermark_s=WATERMARK_S, counts_until=window_end(5))),
    "maximum": (
        "nexmark-q5",
        {"window": 5, "slide": 5},
        Lateness(watermark_s=WATERMARK_S, counts_until=window_end(5)),
    ),
    "sessions": ("nexmark-q11", {"gap": GAP_S}, Lateness(watermark_s=WATERMARK_S, counts_until=silence(GAP_S))),
    "range join": (
        "nexmark-q3",
        {"ttl": 30},
        Lateness(watermark_s=WATERMARK_S, counts_until=itself, seen=wanted_by_q3),
    ),
}
IN_THE_DEFAULT_RUN = ("windows",)


def options_for(name: str, options: Mapping[str, str]) -> dict[str, str]:
    return {**options, **jobs.build(name).result.flush}


@pytest.mark.parametrize(
    "case",
    # What becomes of sessions depends on when they were given out too: see below.
    [
        name if name in IN_THE_DEFAULT_RUN else pytest.param(name, marks=pytest.mark.full)
        for name in CASES
        if name != "sessions"
    ],
)
def test_rows_behind_the_watermark_are_dropped_and_no_others(case: str, spark: Any, tmp_path: Path) -> None:
    name, settings, lateness = CASES[case]
    job, options = jobs.build(name, settings), options_for(name, LATE)
    progress = run_and_watch(spark, job, options, tmp_path)
    tables = inputs_of(job, options)
    kept = lateness.in_time(limits_of(job, options), tables)
    assert [batch["numInputRows"] for batch in progress][:5] == [2_000] * 5
    verdict = judge(job, kept, written(job.result, tmp_path))
    assert verdict.right, verdict.sentence
    late = sum(tables[stream].num_rows - kept[stream].num_rows for stream in tables)
    assert late > 100
    assert dropped(progress) > 0
    assert not judge(job, tables, written(job.result, tmp_path)).right


@pytest.mark.full
def test_a_session_that_was_given_out_is_not_taken_up_again(spark: Any, tmp_path: Path) -> None:
    """A row that is in time by itself may touch a session that is over: it begins another, and DuckDB knows but one."""
    name, settings, lateness = CASES["sessions"]
    job, options = jobs.build(name, settings), options_for(name, LATE)
    progress = run_and_watch(spark, job, options, tmp_path)
    tables, limits = inputs_of(job, options), limits_of(job, options)
    expected = sessions_given_out(tables["bids"], limits["bids"], lateness.watermarks(limits, tables), GAP_S)
    found = written(job.result, tmp_path)
    assert differences(expected, found) == (0, 0)
    assert dropped(progress) > 0
    assert not judge(job, lateness.in_time(limits, tables), found).right


@pytest.mark.parametrize(
    "case", [name if name in IN_THE_DEFAULT_RUN[:1] else pytest.param(name, marks=pytest.mark.full) for name in CASES]
)
def test_rows_that_are_late_but_within_the_watermark_are_all_there(case: str, spark: Any, tmp_path: Path) -> None:
    name, settings, lateness = CASES[case]
    job, options = jobs.build(name, settings), options_for(name, {**INPUT, "lateShare": "10%", "lateBy": "3s"})
    progress = run_and_watch(spark, job, options, tmp_path)
    tables = inputs_of(job, options)
    assert lateness.in_time(limits_of(job, options), tables) == tables
    verdict = judge(job, tables, written(job.result, tmp_path))
    assert verdict.right, verdict.sentence
    assert dropped(progress) == 0

"""Nexmark's queries with other settings than the published ones, and what their settings refuse."""

from pathlib import Path
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import stream_options
from elastream.jobs.judging import answered, inputs_of, judge
from elastream.jobs.output import written
from tests.jobs.running import run

# Event times in steps of 50 ms, so that windows and sessions begin and end exactly at events too.
INPUT = {"workload": "constant(20)", "rows": "3000", "rowsPerBatch": "1000", "partitions": "2", "seed": "4"}
PRESETS = [name for name in jobs.presets() if name.startswith("nexmark-")]
VARIANTS: list[tuple[str, dict[str, object]]] = [
    ("nexmark-q1", {"rate": 1.5}),
    ("nexmark-q1", {"rate": 0.908, "truncated": True}),
    ("nexmark-q2", {"multiples": (7, 11)}),
    ("nexmark-q3", {"category": None}),
    ("nexmark-q3", {"states": ("WA",), "ttl": 5}),
    ("nexmark-q4", {"longest": 10}),
    ("nexmark-q5", {"window": 7, "slide": 3}),
    ("nexmark-q5", {"most": False}),
    ("nexmark-q6", {"last": 2}),
    ("nexmark-q8", {"window": 60}),
    ("nexmark-q9", {"longest": 7}),
    ("nexmark-q11", {"gap": 1}),
    ("nexmark-q14", {"above": 100, "below": 10_000}),
    ("nexmark-q20", {"category": 12, "ttl": 20}),
]


@pytest.mark.full
@pytest.mark.needs("spark")
@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_its_rows_are_right_with_other_settings(
    name: str, settings: dict[str, object], spark: Any, tmp_path: Path
) -> None:
    job = jobs.build(name, settings)
    options = {**INPUT, **job.result.flush}
    run(spark, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence


@pytest.mark.parametrize(("name", "settings"), [*VARIANTS, *((name, {}) for name in PRESETS)], ids=str)
def test_settings_change_the_answer(name: str, settings: dict[str, object]) -> None:
    usual = jobs.build(name.removesuffix("-kanis"))
    changed = jobs.build(name, settings)
    assert answered(changed, inputs_of(changed, INPUT)).num_rows > 0
    assert not answered(changed, inputs_of(changed, INPUT)).equals(answered(usual, inputs_of(usual, INPUT)))


def test_the_thesis_has_no_hot_keys_and_a_caller_may_choose_otherwise_where_the_job_does_not() -> None:
    thesis, usual = jobs.build("nexmark-q11-kanis"), jobs.build("nexmark-q11")
    chosen = {**INPUT, "hotBiddersRatio": "8"}
    assert stream_options(thesis, chosen)["bids"]["hotBiddersRatio"] == "1"
    assert stream_options(usual, chosen)["bids"]["hotBiddersRatio"] == "8"


def test_a_person_comes_with_three_auctions_at_every_time() -> None:
    job = jobs.build("nexmark-q3")
    tables = inputs_of(job, INPUT)
    assert (tables["persons"].num_rows, tables["auctions"].num_rows) == (750, 2_250)
    seen = {row["id"]: row["event_time"] for row in tables["persons"].to_pylist()}
    for row in tables["auctions"].to_pylist():
        # At most ten ids ahead of the person of the same turn, and a turn, in which three auctions come, is 200 ms.
        if row["seller"] in seen:
            assert (seen[row["seller"]] - row["event_time"]).total_seconds() < 11 * 0.2


def test_money_is_exact() -> None:
    usual, cut = jobs.build("nexmark-q1"), jobs.build("nexmark-q1", {"truncated": True})
    bids = inputs_of(usual, INPUT)
    for bid, exact, whole in zip(
        bids["bids"].to_pylist(), answered(usual, bids).to_pylist(), answered(cut, bids).to_pylist(), strict=True
    ):
        assert exact["price"] * 1_000 == bid["price"] * 908
        assert whole["price"] == bid["price"] * 908 // 1_000


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("nexmark-q1", {"rate": 0}, "job nexmark-q1: rate: found 0.0; it must be between 0 and 1000"),
        ("nexmark-q1", {"rate": 0.1234567}, "with up to 6 places"),
        ("nexmark-q2", {"multiples": (0,)}, "job nexmark-q2: multiples: found (0,); there must be one, and all from 1"),
        ("nexmark-q3", {"ttl": "0s"}, "job nexmark-q3: ttl_s: found 0; it must be more than 0"),
        ("nexmark-q5", {"slide": 20}, "job nexmark-q5: slide_s: found 20; it may be up to window_s, which is 10"),
        ("nexmark-q6", {"last": 0}, "job nexmark-q6: last: found 0; it must be 1 or more"),
        ("nexmark-q8", {"watermark": -1}, "job nexmark-q8: watermark_s: found -1; it must be 0 or more"),
        ("nexmark-q11", {"gap": 0}, "job nexmark-q11: gap_s: found 0; it must be more than 0"),
    ],
)
def test_wrong_settings_are_told_in_one_line(name: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput) as wrong:
        jobs.build(name, settings)
    assert message in str(wrong.value)
    assert "\n" not in str(wrong.value)

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from elastream.core.errors import BadInput
from elastream.events.generators import GENERATORS, maker
from elastream.events.keyed import Keyed
from elastream.events.options import events, newest, parse_options
from elastream.events.timing import ArrivalStretch
from elastream.workloads import parse_workload

WAVE = {"workload": "cosine(1k..9k, period=60s, noise=500) + spike(20k, at=20s, for=5s)", "seed": "7"}


def recomputed(offset: int, *, seed: int, workload: str, keys: int, hot_share: float = 0.0) -> dict[str, object]:
    """One event from its definition, with whole numbers and the workload's own inverse."""

    def scrambled(seed: int) -> int:
        mixed = (offset + (seed + 1) * 0x9E3779B97F4A7C15) % 2**64
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) % 2**64
        return mixed ^ (mixed >> 31)

    high, low = divmod(scrambled(seed), 2**32)
    if hot_share:
        key = 0 if high < round(hot_share * 2**32) else 1 + low * (keys - 1) // 2**32
    else:
        key = low * keys // 2**32
    since_s = parse_workload(workload).series(duration_s=86_400, seed=seed).when(offset + 1)
    return {
        "offset": offset,
        "partition": offset % 4,
        "event_time": datetime.fromtimestamp(1_577_836_800 + round(since_s * 1e6) // 10**6, UTC).replace(
            microsecond=round(since_s * 1e6) % 10**6
        ),
        "key": key,
        "value": scrambled(seed + 1) % 1_000,
    }


@pytest.mark.parametrize("hot_share", [0.0, 0.3])
def test_events_are_those_of_an_independent_computation(hot_share: float) -> None:
    options = {**WAVE, "keys": "50", "hotShare": str(hot_share)}
    for first in (0, 16_380, 100_000):
        found = events(options, first, first + 8).to_pylist()
        assert found == [
            recomputed(n, seed=7, workload=WAVE["workload"], keys=50, hot_share=hot_share)
            for n in range(first, first + 8)
        ]


def test_an_event_is_the_same_whatever_else_is_made_with_it() -> None:
    whole = events(WAVE, 0, 50_000)
    assert whole.column("offset").to_pylist() == list(range(50_000))
    for first, end in ((0, 1), (12_345, 12_999), (49_999, 50_000)):
        assert events(WAVE, first, end).combine_chunks().equals(whole.slice(first, end - first).combine_chunks())


def test_no_events_are_a_table_without_rows() -> None:
    assert events(WAVE, 5, 5).num_rows == 0
    assert events(WAVE, 5, 5).schema == events(WAVE, 5, 6).schema


def test_another_seed_makes_other_events() -> None:
    one, two = (events({"workload": "constant(1k)", "seed": seed}, 0, 1_000) for seed in ("1", "2"))
    assert one.column("event_time").equals(two.column("event_time"))
    assert not one.column("key").equals(two.column("key"))


def test_keys_are_spread_evenly_and_the_hot_one_has_its_share() -> None:
    even = np.bincount(events({"workload": "constant(1k)", "keys": "10"}, 0, 100_000).column("key").to_numpy())
    assert len(even) == 10
    assert even.min() > 9_500
    assert even.max() < 10_500
    options = {"workload": "constant(1k)", "keys": "10", "hotShare": "40%"}
    skewed = np.bincount(events(options, 0, 100_000).column("key").to_numpy())
    assert abs(skewed[0] - 40_000) < 500
    assert skewed[1:].max() < 1.1 * skewed[1:].min()


@pytest.mark.parametrize(
    "workload",
    ["constant(1k)", WAVE["workload"], "step(0..5k, at=10s)", "spike(3k, at=2s, for=1s) + spike(3k, at=9s, for=1s)"],
)
def test_times_for_many_records_equal_those_for_one(workload: str) -> None:
    parsed = parse_options({"workload": workload, "duration": "60s"})
    records = np.arange(1, min(parsed.total or 0, 40_000), 7, dtype=np.float64)
    one_by_one = [parsed.series.when(float(n)) for n in records]
    assert parsed.stretch.when(records).tolist() == one_by_one
    part = parsed.stretch.of(int(records[100]) - 1, int(records[200]))
    assert len(part.times_s) <= len(parsed.stretch.times_s)
    assert part.when(records[100:201]).tolist() == one_by_one[100:201]


def test_a_stretch_is_as_small_as_the_batch() -> None:
    stretch = parse_options(WAVE).stretch
    assert len(stretch.times_s) > 1_000
    assert len(stretch.of(50_000, 60_000).times_s) < 20
    assert isinstance(stretch.of(0, 0), ArrivalStretch)


def test_event_times_never_fall_and_do_not_depend_on_the_start() -> None:
    early, late = (events({**WAVE, "start": start}, 0, 30_000) for start in ("0", "1700000000"))
    assert early.equals(late)
    assert (np.diff(early.column("event_time").cast("int64").to_numpy()) >= 0).all()


def test_an_event_has_arrived_when_the_newest_offset_says_so() -> None:
    options = {**WAVE, "start": "0"}
    times = events(options, 0, 50_000).column("event_time").cast("int64").to_numpy() / 1e6 - 1_577_836_800
    for now_s in (0.0, 0.5, 1.7, 3.3, 5.001):
        assert newest(options, now_s) == (times <= now_s).sum()


def test_compressed_time_keeps_the_rates_and_shortens_the_day() -> None:
    options = {"workload": "step(1k..3k, at=60s)", "start": "0"}
    fast = {**options, "timeFactor": "10"}
    assert [newest(fast, second) for second in (1, 6, 7)] == [1_000, 6_000, 9_000]
    last = events(fast, 5_999, 6_000).column("event_time").to_pylist()[0]
    assert last == datetime(2020, 1, 1, 0, 1, tzinfo=UTC)


def test_arrivals_end_with_the_duration_and_with_the_rows() -> None:
    options = {"workload": "constant(100)", "start": "0"}
    assert newest(options, 1_000_000) == 100_000_000
    assert newest({**options, "duration": "10s"}, 1_000) == 1_000
    assert newest({**options, "duration": "10s", "timeFactor": "2"}, 1_000) == 500
    assert newest({**options, "duration": "10s", "rows": "70"}, 1_000) == 70
    assert newest(options, -5) == 0


def test_the_newest_offset_needs_a_start_or_an_offset_that_carries_it() -> None:
    with pytest.raises(BadInput, match="the start is not known"):
        newest({"workload": "10"}, 100.0)
    offset = json.loads('{"offset": 0, "start_ms": 90000, "events": "x"}')
    assert newest({"workload": "10"}, 100.0, offset) == 100
    assert newest({"Workload": "10", "START": "90"}, 100.0) == 100


def test_a_generator_is_found_by_name_or_by_its_place() -> None:
    assert maker("keyed") is Keyed
    assert maker("elastream.events.keyed:Keyed") is Keyed
    assert all(maker(name).options is not None for name in GENERATORS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "source: the option workload is missing; give a rate over time, such as 'constant(1k)'"),
        (
            {"workload": "constant(1k)", "rowsperbach": "5"},
            "source: no option 'rowsperbach'; did you mean 'rowsPerBatch'?",
        ),
        ({"workload": "constnt(1k)"}, "workload: column 1: unknown workload 'constnt'; did you mean 'constant'?"),
        ({"workload": "1k", "generator": "keyd"}, "source: unknown generator 'keyd'; did you mean 'keyed'?"),
        (
            {"workload": "1k", "generator": "elastream.events.genrators:Keyed"},
            "No module named 'elastream.events.genrators'",
        ),
        ({"workload": "1k", "partitions": "0"}, "source: partitions: found 0; it must be a whole number from 1"),
        (
            {"workload": "1k", "rowsPerBatch": "1.5"},
            "source: rowsPerBatch: found 1.5; it must be a whole number from 1",
        ),
        ({"workload": "1k", "rows": "many"}, "source: rows: 'many' is not a number"),
        ({"workload": "1k", "timeFactor": "0"}, "source: timeFactor: found 0; it must be more than 0"),
        ({"workload": "1k", "hotShare": "1.5"}, "source: hotShare: found 1.5; it must be between 0 and 1"),
        ({"workload": "1k", "keys": "0"}, "source: keys: found 0; it must be a whole number from 1"),
        ({"workload": "1k", "keys": "ten"}, "source: keys: 'ten' is not a number"),
    ],
)
def test_wrong_options_are_told_in_one_line(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as wrong:
        parse_options(options)
    assert message in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_what_decides_the_events_is_in_the_fingerprint_and_what_paces_them_is_not() -> None:
    base = parse_options(WAVE).fingerprint
    for changed in ({"seed": "8"}, {"partitions": "5"}, {"keys": "9"}, {"timeFactor": "2"}, {"workload": "1k"}):
        assert parse_options({**WAVE, **changed}).fingerprint != base
    assert parse_options({**WAVE, "rows": "5", "rowsPerBatch": "5", "start": "5"}).fingerprint == base


IN_ORDER = {"workload": "constant(100)", "rows": "1000"}


def seconds(options: dict[str, str], first: int, end: int) -> np.ndarray[Any, Any]:
    """Event times since the workload's time zero."""
    return np.asarray(events(options, first, end).column("event_time").cast("int64").to_numpy() / 1e6 - 1_577_836_800)


def test_out_of_order_events_have_the_same_times_in_another_order() -> None:
    mixed = seconds({**IN_ORDER, "disorder": "40"}, 0, 1_000)
    assert sorted(mixed) == seconds(IN_ORDER, 0, 1_000).tolist()
    late = np.maximum.accumulate(mixed) - mixed
    assert 0.3 < late.max() < 0.4
    assert seconds({**IN_ORDER, "disorder": "40"}, 333, 555).tolist() == mixed[333:555].tolist()


def test_late_events_are_as_many_and_as_late_as_they_should_be() -> None:
    late = seconds(IN_ORDER, 0, 1_000) - seconds({**IN_ORDER, "lateShare": "20%", "lateBy": "5s"}, 0, 1_000)
    assert 150 < (late > 0).sum() < 250
    assert late.min() == 0
    assert 4.5 < late.max() <= 5


def test_at_the_end_one_event_per_partition_is_far_ahead() -> None:
    options = {**IN_ORDER, "flush": "1h", "partitions": "3", "disorder": "7"}
    assert parse_options(options).total == 1_003
    found = seconds(options, 990, 1_003)
    assert found[:10].max() <= 10.0
    assert (found[10:] > 3_600).all()
    assert events(options, 1_000, 1_003).column("partition").to_pylist() == [1, 2, 0]
    assert seconds(options, 1_001, 1_003).tolist() == found[11:].tolist()
    assert [newest({**options, "start": "0"}, now_s) for now_s in (9.98, 10.01)] == [998, 1_003]


def test_where_no_event_has_come_those_that_flush_are_an_hour_after_the_beginning() -> None:
    options = {**IN_ORDER, "rows": "0", "flush": "1h", "partitions": "3", "disorder": "7"}
    assert seconds(options, 0, 3).tolist() == [3_600.0] * 3
    assert newest(options, 0.0, {"start_ms": 0}) == 3

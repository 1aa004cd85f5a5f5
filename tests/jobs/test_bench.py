"""What `elastream bench` measures."""

from pathlib import Path
from typing import Any

import pytest

from elastream.core.errors import UnknownName
from elastream.jobs.batches import Batch, State
from elastream.jobs.benching import BenchPlan, bench, checked, state_of, throughput_of
from elastream.jobs.catalogue import jobs
from elastream.jobs.job import Result
from elastream.jobs.json_rows import read_results
from elastream.jobs.output import arrow_schema, as_messages


def batch(number: int, rows: int, began_s: float, committed_s: float, state_rows: int = 0) -> Batch:
    state = State(rows=state_rows, bytes=100 * state_rows, commit_s=0.5) if state_rows else None
    return Batch(number=number, began_s=began_s, committed_s=committed_s, rows=rows, spans=(), state=state)


def test_throughput_is_told_with_and_without_the_first_batch() -> None:
    found = throughput_of([batch(0, 100, 0.0, 8.0), batch(1, 100, 8.0, 9.0), batch(2, 100, 9.0, 10.0)])
    assert (found.with_first_rps, found.rps) == (30.0, 100.0)


def test_batches_that_read_nothing_are_no_part_of_the_throughput() -> None:
    found = throughput_of([batch(0, 100, 0.0, 2.0), batch(1, 100, 2.0, 4.0), batch(2, 0, 4.0, 60.0)])
    assert (found.with_first_rps, found.rps, found.batches) == (50.0, 50.0, 2)


def test_of_one_batch_nothing_is_known_without_it() -> None:
    assert throughput_of([batch(0, 100, 0.0, 2.0)]).rps is None


def test_the_most_state_is_told() -> None:
    found = state_of(
        [batch(0, 1, 0, 1, state_rows=5), batch(1, 1, 1, 2, state_rows=9), batch(2, 1, 2, 3, state_rows=1)]
    )
    assert found is not None
    assert (found.rows, found.bytes, found.commit_s) == (9, 900, 0.5)
    assert state_of([batch(0, 1, 0, 1)]) is None


def test_options_that_no_events_can_be_made_with_are_told_before_anything_starts() -> None:
    with pytest.raises(UnknownName, match="did you mean 'disorder'"):
        checked(BenchPlan(job=jobs.build("pass"), events=10, options={"disordr": "4"}))


@pytest.mark.needs("spark")
def test_no_digit_of_a_row_is_lost_in_json(spark: Any) -> None:
    rows = spark.sql("""
        SELECT CAST('12345678901234567890.123456' AS DECIMAL(38, 6)) AS price, CAST(0.1 AS DOUBLE) + 0.2 AS mean,
               timestamp_micros(1577836800000001) AS at, CAST(NULL AS STRING) AS nothing, 'a "b" \\n' AS name, 7 AS n
    """)
    schema = arrow_schema(rows)
    for result in (Result(), Result(mode="update", key=("at", "n"))):
        (found,) = as_messages(rows, result).collect()
        assert read_results([found["value"].encode()], schema).to_pylist() == rows.toArrow().to_pylist()
        if result.key:
            assert found["key"] == '{"at":"2020-01-01T00:00:00.000001Z","n":7}'


@pytest.mark.needs("spark")
def test_a_job_is_measured_and_judged(spark: Any, tmp_path: Path) -> None:
    plan = BenchPlan(job=jobs.build("wordcount"), events=2_000, rate_rps=500, paced_s=2.0)
    parts: list[str] = []
    found = bench(spark, plan, tmp_path, lambda part, done: parts.append(part))
    assert found.throughput.events == 2_000
    assert found.throughput.batches == 10
    assert found.state is not None
    assert found.state.rows > 0
    assert [verdict.right for verdict in found.verdicts] == [True, True]
    assert found.delay is not None
    assert found.delay.count == 1_000
    assert found.results is not None
    assert found.results.last is not None
    assert 0 < found.results.last.p50_s <= found.delay.max_s
    assert list(dict.fromkeys(parts)) == ["throughput", "latency"]

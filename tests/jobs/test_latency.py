"""Delay and result latency: numbers made by hand, and a run of which every time is known twice."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from elastream.events.options import EPOCH_S
from elastream.jobs.batches import Batch, BatchLog, Span, batch_of
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.job import Job
from elastream.jobs.judging import answered, inputs_of
from elastream.jobs.latency import delay, result_latency, sources_of
from elastream.jobs.output import CAME_OUT_IN, told, writer
from elastream.jobs.running import events_to_come, run_to_the_end

START_S = 1_000.0
TEN_A_SECOND = {"workload": "constant(10)", "rows": "100", "partitions": "2"}
PASS, WORDS = jobs.build("pass"), jobs.build("wordcount")


def batches(job: Job, options: dict[str, str], *found: tuple[int, int, float]) -> list[Batch]:
    """First and last offset, and time of commit after the start."""
    (events,) = sources_of(job, options)
    return [
        Batch(
            number=number,
            began_s=START_S,
            committed_s=START_S + committed_s,
            rows=end - first,
            spans=(Span(first=first, end=end, start_s=START_S, events=events),),
            state=None,
        )
        for number, (first, end, committed_s) in enumerate(found)
    ]


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(EPOCH_S, UTC) + timedelta(seconds=seconds)


def test_delays_of_one_batch_are_spread_evenly_from_its_first_to_its_last_arrival() -> None:
    found = delay(sources_of(PASS, TEN_A_SECOND), batches(PASS, TEN_A_SECOND, (0, 100, 12.0)))
    assert found is not None
    assert found.count == 100
    # The first arrives at 0 s and waits 12 s, the last at 10 s and waits 2 s.
    assert (found.p50_s, found.p95_s, found.p99_s, found.max_s) == pytest.approx((7.0, 11.5, 11.9, 12.0))


def test_delays_of_several_batches_are_one_distribution() -> None:
    found = delay(sources_of(PASS, TEN_A_SECOND), batches(PASS, TEN_A_SECOND, (0, 50, 5.0), (50, 100, 11.0)))
    assert found is not None
    # Half of the records wait 0 to 5 s, the others 1 to 6 s.
    assert found.max_s == pytest.approx(6.0)
    assert found.p50_s == pytest.approx(3.0)


def test_events_that_only_flush_have_no_delay() -> None:
    options = {**TEN_A_SECOND, "flush": "1h"}
    found = delay(sources_of(PASS, options), batches(PASS, options, (0, 102, 12.0)))
    assert found is not None
    assert found.count == 100


def test_offsets_of_another_source_give_no_delay() -> None:
    assert delay({}, batches(PASS, TEN_A_SECOND, (0, 100, 12.0))) is None


def test_an_appended_result_takes_from_its_inputs_to_the_commit_of_its_batch() -> None:
    rows = {"offset": [0, 1], "partition": [0, 1], "key": [7, 7], "value": [1, 1]}
    answer = pa.table({**rows, "first_time": [at(1), at(2)], "last_time": [at(3), at(4)]})
    came = pa.table({**rows, CAME_OUT_IN: [0, 1]})
    seen = batches(PASS, TEN_A_SECOND, (0, 50, 5.0), (50, 100, 11.0))
    found = result_latency(PASS, sources_of(PASS, TEN_A_SECOND), seen, answer, came)
    assert found is not None
    assert found.first is not None
    assert found.last is not None
    # 5 - 1 and 11 - 2; 5 - 3 and 11 - 4.
    assert (found.first.p50_s, found.first.max_s) == pytest.approx((6.5, 9.0))
    assert (found.last.p50_s, found.last.max_s) == pytest.approx((4.5, 7.0))


def test_rows_that_are_alike_are_counted_one_by_one() -> None:
    rows = {"offset": [0, 0], "partition": [0, 0], "key": [7, 7], "value": [1, 1]}
    answer = pa.table({**rows, "first_time": [at(1), at(6)], "last_time": [at(1), at(6)]})
    came = pa.table({**rows, CAME_OUT_IN: [1, 0]})
    seen = batches(PASS, TEN_A_SECOND, (0, 50, 5.0), (50, 100, 11.0))
    found = result_latency(PASS, sources_of(PASS, TEN_A_SECOND), seen, answer, came)
    assert found is not None
    assert found.first is not None
    assert found.first.count == 2
    assert found.first.max_s == pytest.approx(5.0)


def test_an_updated_result_counts_from_its_first_input_to_its_first_row_and_from_its_last_to_its_last() -> None:
    options = {"workload": "constant(10)", "rows": "100", "partitions": "2"}
    answer = pa.table({"word": ["a"], "count": [9], "first_time": [at(1)], "last_time": [at(8)]})
    came = pa.table({"word": ["a", "a"], "count": [4, 9], CAME_OUT_IN: [0, 1]})
    seen = batches(WORDS, options, (0, 50, 5.0), (50, 100, 11.0))
    found = result_latency(WORDS, sources_of(WORDS, options), seen, answer, came)
    assert found is not None
    assert found.first is not None
    assert found.last is not None
    assert (found.first.max_s, found.last.max_s) == pytest.approx((4.0, 3.0))


def test_the_workloads_time_may_pass_faster_than_the_walls() -> None:
    options = {**TEN_A_SECOND, "timeFactor": "10"}
    rows = {"offset": [0], "partition": [0], "key": [7], "value": [1]}
    answer = pa.table({**rows, "first_time": [at(10)], "last_time": [at(20)]})
    seen = batches(PASS, options, (0, 100, 12.0))
    found = result_latency(PASS, sources_of(PASS, options), seen, answer, pa.table({**rows, CAME_OUT_IN: [0]}))
    assert found is not None
    assert found.first is not None
    assert found.last is not None
    assert (found.first.max_s, found.last.max_s) == pytest.approx((11.0, 10.0))


def test_a_progress_becomes_a_batch() -> None:
    offset = '{"offset": %d, "start_ms": 1000500, "events": "abc"}'
    batch = batch_of(
        {
            "batchId": 3,
            "timestamp": "1970-01-01T00:20:00.250Z",
            "durationMs": {"triggerExecution": 1500, "addBatch": 1000},
            "sources": [{"numInputRows": 20, "startOffset": offset % 10, "endOffset": offset % 30}],
            "stateOperators": [{"numRowsTotal": 5, "memoryUsedBytes": 600, "commitTimeMs": 40}],
        }
    )
    assert (batch.number, batch.rows) == (3, 20)
    assert batch.committed_s == pytest.approx(1_201.75)
    assert batch.spans == (Span(first=10, end=30, start_s=1_000.5, events="abc"),)
    assert batch.state is not None
    assert (batch.state.rows, batch.state.bytes) == (5, 600)
    assert batch.state.commit_s == pytest.approx(0.04)


def test_offsets_of_topics_are_counted_together_and_kept_apart() -> None:
    batch = batch_of(
        {
            "batchId": 1,
            "timestamp": "1970-01-01T00:20:00.250Z",
            "durationMs": {"triggerExecution": 1500, "addBatch": 1000},
            "sources": [
                {"numInputRows": 20, "startOffset": '{"ads":{"0":5,"1":7}}', "endOffset": '{"ads":{"0":15,"1":17}}'},
                {"numInputRows": 0, "startOffset": None, "endOffset": '{"users":{"0":3}}'},
            ],
            "stateOperators": [
                {"numRowsTotal": 5, "memoryUsedBytes": 600, "numRowsDroppedByWatermark": 2},
                {"numRowsTotal": 5, "memoryUsedBytes": 600, "numRowsDroppedByWatermark": 1},
            ],
        }
    )
    assert [(span.first, span.end) for span in batch.spans] == [(12, 32), (0, 3)]
    assert [span.ends for span in batch.spans] == [{"ads": {0: 15, 1: 17}}, {"users": {0: 3}}]
    assert batch.dropped == 3


def test_batches_that_ended_between_two_looks_are_all_found() -> None:
    def progress(number: int) -> dict[str, Any]:
        source = {"numInputRows": 1, "startOffset": None, "endOffset": {"offset": number + 1}}
        durations = {"triggerExecution": 10, "addBatch": 5}
        return {
            "batchId": number, "timestamp": "1970-01-01T00:20:00.250Z", "durationMs": durations, "sources": [source],
        }  # fmt: skip

    def query(*found: dict[str, Any]) -> Any:
        return SimpleNamespace(lastProgress=found[-1] if found else None, recentProgress=list(found))

    log = BatchLog()
    log.take(query())
    log.take(query(progress(0)))
    log.take(query(*(progress(number) for number in range(4))))
    assert [batch.number for batch in log.batches] == [0, 1, 2, 3]
    assert log.read == 4


@pytest.mark.needs("spark")
def test_of_a_real_run_every_row_has_the_delay_of_its_batch(spark: Any, tmp_path: Path) -> None:
    options = {"workload": "constant(1000)", "duration": "2s", "partitions": "2"}
    streams = sound(embedded(spark, PASS, options))
    query = writer(PASS.query(streams), PASS.result, "parquet", name="delays", folder=tmp_path).start()
    log = run_to_the_end(query, events_to_come(PASS, options), patience_s=300.0)
    sources = sources_of(PASS, options)
    delayed = delay(sources, log.batches)
    came = told(PASS.result, tmp_path)
    found = result_latency(PASS, sources, log.batches, answered(PASS, inputs_of(PASS, options)), came)
    assert delayed is not None
    assert found is not None
    assert found.last is not None
    assert delayed.count == found.last.count == 2_000
    # Here a result is a record. Arrivals are curves in one, whole events in the other: a thousandth of a second apart.
    for one, other in ((delayed.p50_s, found.last.p50_s), (delayed.max_s, found.last.max_s)):
        assert one == pytest.approx(other, abs=0.005)

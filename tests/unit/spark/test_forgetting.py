"""What is over is forgotten, so that a driver that runs for months stays as small as it was."""

import gc
from typing import Any

from elastream.spark.jvm.snapshot import QueryEvent, QuerySeen, Snapshot, SourceSeen, StageSeen
from elastream.spark.observe.batch_work import BatchStages
from elastream.spark.observe.query_tracker import QueryTracker
from tests.unit.spark.reading import fold, observing

UTC_S = 1_700_000_000.0


def alive(kind: type) -> int:
    """How many objects of a class there are in this process."""
    gc.collect()
    return sum(type(one) is kind for one in gc.get_objects())


def query(name: str, batch: int = 0) -> QuerySeen:
    return QuerySeen(
        id=name,
        run="run",
        name=name,
        trigger="ProcessingTimeTrigger(0)",
        active=True,
        message=None,
        trigger_active=True,
        data_available=True,
        error=None,
        batch=batch,
        constructed=True,
        triggered_s=UTC_S,
        watermark_s=None,
        committed=(),
        available=(),
        latest=(),
        sources=(SourceSeen(kind="some.FileStreamSource"),),
        leaves=(0,),
    )


def stage(name: str, batch: int, *, submitted_s: float, ended_s: float) -> StageSeen:
    return StageSeen(
        id=batch,
        attempt=0,
        job=batch,
        query=name,
        batch=batch,
        submitted_s=submitted_s,
        ended_s=ended_s,
        failed=False,
        tasks=1,
        running=0,
        done=1,
        run_s=1.0,
        deserialise_s=0.0,
        serialise_s=0.0,
        fetch_s=0.0,
        lost_s=0.0,
        read=1.0,
        fetched=0.0,
        shuffled=0.0,
        written=0.0,
        matches=(),
    )


def look(at_s: float, *queries: QuerySeen, **more: Any) -> Snapshot:
    return Snapshot(utc_s=UTC_S + at_s, application="a", note=0, busy_s=0.0, other_busy_s=0.0, queries=queries, **more)


def progress(name: str, batch: int, *, took_ms: int) -> QueryEvent:
    told = {
        "batchId": batch,
        "timestamp": "2023-11-14T22:13:20.000Z",
        "durationMs": {"triggerExecution": took_ms},
        "sources": [],
    }
    return QueryEvent(kind="progress", query=name, run="run", progress=told)


def test_queries_that_have_ended_are_forgotten() -> None:
    before, known = alive(QueryTracker), observing()
    for number in range(200):
        fold(known, look(float(number), query(f"query {number}")), float(number))
    # One runs, and of those that have ended the last are known again if they come back.
    assert alive(QueryTracker) - before <= 65
    fold(known, look(5_000.0), 5_000.0)
    fold(known, look(9_000.0), 9_000.0)
    assert alive(QueryTracker) - before == 0


def test_batches_are_forgotten_when_they_have_ended_and_when_their_end_was_never_told() -> None:
    before, known = alive(BatchStages), observing()
    for number in range(500):
        work = stage("orders", number, submitted_s=UTC_S, ended_s=UTC_S + 1)
        fold(known, look(float(number), query("orders", number), stages=(work,)), float(number))
    assert alive(BatchStages) - before <= 64
    told = look(500.0, query("orders", 500), events=(progress("orders", 499, took_ms=1_000),))
    fold(known, told, 500.0)
    assert alive(BatchStages) - before == 0


def test_a_batch_whose_stages_took_longer_than_itself_by_the_clock_takes_no_driver_time_back() -> None:
    known, spent_s = observing(), []
    for number, stage_s in enumerate((1.0, 3_600.0, 1.0)):
        work = stage("orders", number, submitted_s=UTC_S, ended_s=UTC_S + stage_s)
        told = look(
            10.0 * number, query("orders", number), stages=(work,), events=(progress("orders", number, took_ms=3_000),)
        )
        (seen,) = fold(known, told, 10.0 * number).queries
        assert seen.driver_s is not None
        spent_s.append(seen.driver_s.value)
    assert spent_s == [2.0, 2.0, 4.0]

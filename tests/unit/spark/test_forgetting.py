"""What is over is forgotten, so that a driver that runs for months stays as small as it was."""

import gc
from dataclasses import replace
from typing import Any

from elastream.spark.jvm.snapshot import QueryEvent, QuerySeen, Snapshot, SourceSeen, StageSeen
from elastream.spark.observe.batch_work import BatchStages
from elastream.spark.observe.query_tracker import QueryTracker, SnapshotTime
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


def progress(name: str, batch: int, *, took_ms: int, run: str = "run") -> QueryEvent:
    told = {
        "batchId": batch,
        "timestamp": "2023-11-14T22:13:20.000Z",
        "durationMs": {"triggerExecution": took_ms},
        "sources": [],
    }
    return QueryEvent(kind="progress", query=name, run=run, progress=told)


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


def test_of_a_batch_that_comes_again_after_a_restart_only_its_last_run_counts() -> None:
    known = observing()
    for run, number in (("run", 0.0), ("again", 10.0)):
        work = stage("orders", 7, submitted_s=UTC_S, ended_s=UTC_S + 1)
        seen = replace(query("orders", 7), run=run)
        fold(known, look(number, seen, stages=(work,)), number)
    told = look(20.0, seen, events=(progress("orders", 7, took_ms=3_000, run="again"),))
    finished = fold(known, told, 20.0).queries[0].finished
    assert finished is not None
    assert finished.busy_s == 1.0


def test_what_a_run_has_lost_its_successor_has_not() -> None:
    tracker = QueryTracker("orders", None)
    tracker.started("run", "orders")
    tracker.lose_events(7)
    tracker.started("again", "orders")
    told = progress("orders", 7, took_ms=3_000).progress
    assert told is not None
    tracker.take_progress(told, SnapshotTime(at_s=10.0, utc_s=UTC_S + 10.0, ahead_s=UTC_S))
    assert not tracker.has_lost_driver_time


def test_a_batch_that_is_told_of_does_not_run_any_more() -> None:
    known = observing()
    (before,) = fold(known, look(1.0, query("orders", 7)), 1.0).queries
    told = look(2.0, query("orders", 7), events=(progress("orders", 7, took_ms=1_000),))
    (after,) = fold(known, told, 2.0).queries
    assert (before.phase, after.phase) == ("running", "between-triggers")


def test_tasks_of_a_stage_that_is_passed_over_do_not_wait() -> None:
    known = observing()
    work = stage("orders", 7, submitted_s=UTC_S, ended_s=UTC_S + 1)
    skipped = replace(work, id=1, submitted_s=None, ended_s=None, tasks=200, done=0)
    runs = replace(work, id=2, ended_s=None, tasks=4, running=1, done=0)
    for passed, tasks in (((), 4), ((skipped,), 4), ((replace(skipped, id=3),), 204)):
        seen = look(5.0 + tasks + len(passed), query("orders", 7), stages=(*passed, runs))
        running = fold(known, seen, seen.utc_s - UTC_S).queries[0].running
        assert running is not None
        assert running.tasks == tasks

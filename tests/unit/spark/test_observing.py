"""Recorded looks at real queries, folded into observations."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from elastream.core.credible import credible
from elastream.core.observation import Observation, Query, Reading
from elastream.core.readings import readings
from elastream.spark.jvm.snapshot import QueryEvent, QuerySeen, SourceSeen
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from tests.unit.spark.reading import NAMES, fold, folded, lines, observing, queries

TOTALS = ("arrived", "committed", "records-in", "busy-time", "driver-time", "batches", "busy-slots")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_a_recording_is_impossible_or_ahead_of_its_time(name: str) -> None:
    for _, _, now in folded(name):
        assert credible(now, max_age_s=60.0) == now
        assert all(reading is None or reading.at_s <= now.at_s for _, _, reading in readings(now))
        for query in now.queries:
            if query.topology.operators:
                query.topology.check({"executors"})


@pytest.mark.parametrize("name", NAMES)
def test_totals_never_fall(name: str) -> None:
    last: dict[tuple[str, str], float] = {}
    for _, _, now in folded(name):
        for signal, subject, reading in readings(now):
            if reading is not None and signal in TOTALS:
                assert reading.value >= last.get((signal, subject), 0.0), (signal, subject, now.at_s)
                last[signal, subject] = reading.value


def test_backlog_is_right_in_the_middle_of_a_long_batch_without_a_read_limit() -> None:
    checked = 0
    for truth, look, now in folded("long-batch"):
        for query in now.queries:
            if query.running is None or not query.sources or query.running.rows is None:
                continue
            source = query.sources[0]
            assert source.committed is not None
            arrived = int((look.utc_s - truth["start_s"]) * truth["rate"])
            assert source.backlog == pytest.approx(arrived - source.committed.value, abs=2)
            assert source.arrived_from == "probe"
            assert source.backlog is not None
            # The running batch is backlog, and what came since it was planned is more of it.
            assert source.backlog >= query.running.rows
            checked += 1
    assert checked >= 10


def test_tasks_that_run_and_tasks_that_wait_for_a_slot_are_seen_in_the_middle_of_a_batch() -> None:
    running = [query.running for query in queries("long-batch", "long-batch") if query.running is not None]
    counts = {(sum(stage.running for stage in batch.stages or ()), batch.tasks_waiting) for batch in running}
    # Before its first task, and with four tasks on two slots.
    assert {(0, 0), (2, 2)} <= counts


def test_a_batch_whose_tasks_have_all_ended_says_since_when() -> None:
    over = [
        query.running
        for query in queries("foreach-batch", "foreach-batch")
        if query.running is not None and query.running.tasks_done and query.running.stages == ()
    ]
    assert over
    assert all(batch.last_task_s is not None and batch.last_task_s > batch.started_s for batch in over)
    drivers = [query.finished for query in queries("foreach-batch", "foreach-batch") if query.finished is not None]
    assert all(batch.driver_s is not None and 0 < batch.driver_s < batch.duration_s for batch in drivers)


def test_the_last_progress_alone_would_have_hidden_that_backlog() -> None:
    hidden = 0.0
    for query in queries("long-batch", "long-batch"):
        if query.running and query.running.rows and query.sources[0].backlog:
            hidden = max(hidden, query.sources[0].backlog - query.running.rows)
    assert hidden > 300


def test_between_triggers_is_a_phase_of_its_own_in_which_the_source_is_still_probed() -> None:
    both = [*queries("two-queries", "first"), *queries("two-queries", "second")]
    between = [query for query in both if query.phase == "between-triggers"]
    assert between
    assert all(query.running is None and query.sources[0].arrived_from == "probe" for query in between)


def stable(seen: list[Query]) -> set[tuple[str, ...]]:
    return {tuple(sorted(work.name for work in query.operators)) for query in seen if query.operators}


def test_a_windowed_count_is_a_read_and_an_aggregate_before_and_after_a_restart() -> None:
    seen = queries("windowed", "windowed")
    assert stable(seen) == {("aggregate-0", "read-0")}
    # On its way down and up again it is never taken for one that has nothing to do.
    assert "no-data" not in {query.phase for query in seen}
    assert "terminated" in {query.phase for query in seen}
    last = seen[-1]
    assert last.topology.operators
    assert {(edge.upstream, edge.downstream) for edge in last.topology.edges} == {("read-0", "aggregate-0")}
    assert {one.name: one.stateful for one in last.topology.operators} == {"aggregate-0": True, "read-0": False}
    assert last.state is not None
    assert last.state.store == "rocksdb"


def busy_and_records(query: Query) -> dict[str, tuple[float, float]]:
    return {
        work.name: (work.busy_s.value, work.records_in.value)
        for work in query.operators
        if work.busy_s is not None and work.records_in is not None
    }


def test_every_operator_has_a_true_rate() -> None:
    last = busy_and_records(queries("windowed", "windowed")[-1])
    assert all(busy_s > 0 and records > 0 for busy_s, records in last.values()), last


def test_records_read_are_the_rows_of_committed_batches() -> None:
    last = queries("windowed", "windowed")[-1]
    read = busy_and_records(last)["read-0"][1]
    committed = last.sources[0].committed
    assert committed is not None
    # A batch that was stopped in its middle has read records and committed none.
    assert read >= committed.value > 0


def test_rows_of_foreach_batch_come_from_offsets_and_nearly_all_of_its_time_is_matched() -> None:
    seen = queries("foreach-batch", "foreach-batch")
    finished = {query.finished.id: query.finished.rows for query in seen if query.finished}
    assert len(finished) >= 2
    assert all(rows is not None and rows % 100 == 0 for rows in finished.values())
    last = seen[-1]
    # Batches that are not cached are read once per action, and each of their rows counts once.
    assert busy_and_records(last)["read-0"][1] <= sum(rows for rows in finished.values() if rows) + 900
    assert last.other_s is not None
    assert last.other_s.value <= 0.2 * sum(busy_s for busy_s, _ in busy_and_records(last).values())


def test_two_queries_and_a_job_of_none_are_told_apart() -> None:
    seen = [now for _, _, now in folded("two-queries")]
    assert {query.name for now in seen for query in now.queries} == {"first", "second"}
    assert max(now.other_busy_slots.value for now in seen if now.other_busy_slots) >= 1
    assert seen[0].other_busy_slots == Reading(0.0, seen[0].at_s)
    assert stable(queries("two-queries", "second")) == {("read-0",)}
    first = busy_and_records(queries("two-queries", "first")[-1])
    assert set(first) == {"read-0", "work-0"}


def test_a_join_and_a_union_keep_their_operators_when_a_source_runs_dry() -> None:
    assert stable(queries("joined", "join")) == {("join-0", "read-0", "read-1")}
    assert len(stable(queries("joined", "union"))) == 1


def test_a_read_limit_that_binds_is_seen_and_the_end_of_data_is_no_data() -> None:
    seen = queries("no-data", "no-data")
    limited = {query.finished.id: query.finished.limited for query in seen if query.finished and query.finished.rows}
    assert True in limited.values()
    idle = [query for query in seen if query.phase == "no-data"]
    assert idle
    assert idle[-1].backlog == 0
    assert idle[-1].sources[0].backlog_age_s == Reading(0.0, idle[-1].sources[0].backlog_age_s.at_s)  # type: ignore[union-attr]


def test_delay_is_a_distribution_that_is_at_least_the_time_of_its_batch() -> None:
    for query in queries("long-batch", "long-batch"):
        if query.delay and query.finished and query.finished.rows:
            assert 0 <= query.delay.p50_s <= query.delay.p95_s <= query.delay.p99_s <= query.delay.max_s
            assert query.delay.max_s >= query.finished.duration_s


@pytest.mark.parametrize("name", NAMES)
def test_the_same_looks_without_any_one_event_still_fold(name: str) -> None:
    """A late or lost event costs its own information alone."""
    known = observing()
    for place, line in enumerate(lines(name)):
        raw: dict[str, Any] = line["look"]
        for key in ("events", "stages", "queries"):
            raw[key] = [item for number, item in enumerate(raw[key]) if (number + place) % 3]
        look = parse_snapshot(json.dumps(raw))
        credible(fold(known, look, look.utc_s - 1.0), max_age_s=60.0)


def source(kind: str = "com.example.Log") -> SourceSeen:
    return SourceSeen(kind=kind, table="log")


def active(**fields: Any) -> QuerySeen:
    plain: dict[str, Any] = {
        "id": "q", "run": "r1", "name": "q", "trigger": "ProcessingTimeTrigger(0)", "active": True,
        "message": "Processing new data", "trigger_active": True, "data_available": True, "error": None, "batch": 1,
        "constructed": True, "triggered_s": 100.0, "watermark_s": None, "committed": ({"offset": 10},),
        "available": ({"offset": 30},), "latest": ({"offset": 30},), "sources": (source(),), "leaves": (0,),
    }  # fmt: skip
    return QuerySeen(**{**plain, **fields})


def seen_at(utc_s: float, *given: QuerySeen, events: tuple[QueryEvent, ...] = ()) -> Any:
    empty = parse_snapshot(json.dumps({"at_ms": utc_s * 1000, "application": "a"}))
    return replace(empty, queries=given, events=events)


def observe(*looks: Any) -> list[Observation]:
    known = observing()
    return [fold(known, look, look.utc_s) for look in looks]


def test_a_source_that_reports_is_carried_on_at_its_rate_and_marked() -> None:
    now = observe(
        seen_at(100.5, active()),
        seen_at(110.5, active(triggered_s=110.0, batch=2, committed=({"offset": 30},), latest=({"offset": 130},))),
        seen_at(120.0, active(triggered_s=110.0, batch=2, committed=({"offset": 30},), latest=({"offset": 130},))),
    )
    assert [one.queries[0].sources[0].arrived_from for one in now] == ["reported", "reported", "extrapolated"]
    # Ten records per second between the two reports.
    assert now[2].queries[0].sources[0].backlog == pytest.approx(200.0)


def test_what_was_extrapolated_too_far_does_not_fall_back() -> None:
    now = observe(
        seen_at(100.5, active()),
        seen_at(110.5, active(triggered_s=110.0, latest=({"offset": 130},))),
        seen_at(120.0, active(triggered_s=110.0, latest=({"offset": 130},))),
        seen_at(120.5, active(triggered_s=120.0, latest=({"offset": 140},))),
    )
    arrived = [one.queries[0].sources[0].arrived for one in now]
    assert all(one is not None for one in arrived)
    assert all(later.value >= earlier.value for earlier, later in pairwise(arrived) if earlier and later)


def test_a_source_whose_offsets_count_nothing_has_an_unknown_lag() -> None:
    files = source("org.apache.spark.sql.execution.streaming.runtime.FileStreamSource")
    now = observe(seen_at(100.5, active(sources=(files,), committed=({"logOffset": 1},), latest=(None,))))
    assert now[0].queries[0].backlog is None
    assert now[0].queries[0].sources[0].arrived is None


def test_a_new_run_of_a_known_query_is_restarting_and_one_never_seen_is_starting() -> None:
    beginning = {"batch": -1, "constructed": False, "trigger_active": False, "message": "Initializing sources"}
    first, later = active(**beginning), active(**beginning, run="r2")
    now = observe(seen_at(100.0, first), seen_at(101.0, active()), seen_at(102.0), seen_at(103.0, later))
    assert [one.queries[0].phase for one in now] == ["starting", "running", "terminated", "restarting"]


def test_an_empty_source_from_the_start_is_no_data_and_not_a_start_without_end() -> None:
    waiting: dict[str, Any] = {"batch": 0, "constructed": False, "data_available": False, "trigger_active": False}
    waiting |= {"message": "Waiting for data to arrive", "committed": (), "available": (), "latest": ()}
    assert observe(seen_at(100.0, active(**waiting)))[0].queries[0].phase == "no-data"


def test_a_query_that_failed_says_why() -> None:
    ended = QueryEvent(kind="terminated", query="q", run="r1", error="the sink refused the batch")
    now = observe(seen_at(100.0, active()), seen_at(101.0, events=(ended,)))
    assert (now[1].queries[0].phase, now[1].queries[0].error) == ("terminated", "the sink refused the batch")


def test_a_query_that_has_ended_is_shown_for_a_while_and_then_no_more() -> None:
    now = observe(seen_at(100.0, active()), seen_at(101.0), seen_at(200.0), seen_at(300.0))
    assert [len(one.queries) for one in now] == [1, 1, 1, 0]


def test_a_progress_without_sources_is_a_batch_of_unknown_rows() -> None:
    progress = {"id": "q", "runId": "r1", "batchId": 1, "timestamp": "1970-01-01T00:01:40.000Z", "sources": []}
    event = QueryEvent(
        kind="progress", query="q", run="r1", progress={**progress, "durationMs": {"triggerExecution": 900}}
    )
    broken = QueryEvent(kind="progress", query="q", run="r1", progress={**progress, "durationMs": None})
    finished = observe(seen_at(102.0, active(batch=2), events=(broken, event)))[0].queries[0].finished
    assert finished is not None
    assert finished.duration_s == pytest.approx(0.9)
    assert finished.rows == 0


def test_a_clock_that_is_set_back_moves_no_time_ahead_of_the_look() -> None:
    known = observing()
    fold(known, seen_at(1000.0, active(triggered_s=999.0)), 50.0)
    now = fold(known, seen_at(400.0, active(triggered_s=999.0)), 51.0)
    assert now.queries[0].running is not None
    assert now.queries[0].running.started_s <= 51.0


@pytest.mark.parametrize("set_by_s", [3600.0, -3600.0, 0.8])
def test_after_the_clock_was_set_a_batch_ended_when_it_did(set_by_s: float) -> None:
    """Times of the JVM are UTC, those of the loop are not: who sets the clock of a machine changes one of them."""
    known = observing()
    fold(known, seen_at(10_000.0, active(triggered_s=9_999.0)), 50.0)
    began_s = 10_007.0 + set_by_s
    progress = {
        "id": "q", "runId": "r1", "batchId": 1, "sources": [], "durationMs": {"triggerExecution": 2000},
        "timestamp": datetime.fromtimestamp(began_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }  # fmt: skip
    event = QueryEvent(kind="progress", query="q", run="r1", progress=progress)
    now = fold(known, seen_at(10_010.0 + set_by_s, active(batch=2, triggered_s=began_s + 2.5), events=(event,)), 60.0)
    query = now.queries[0]
    assert query.finished is not None
    assert query.running is not None
    # A second before the look, and half a second before it.
    assert query.finished.ended_s == pytest.approx(59.0, abs=0.01)
    assert query.finished.duration_s == pytest.approx(2.0, abs=0.01)
    assert query.running.started_s == pytest.approx(59.5, abs=0.01)

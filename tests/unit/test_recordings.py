"""What the product makes of recordings of real queries, held against what they were."""

from datetime import datetime
from functools import cache
from itertools import pairwise

import pytest

from elastream.core.credible import credible
from elastream.core.needs import fit
from elastream.core.observation import Reading, ReadLimit
from elastream.core.readings import readings
from elastream.core.signals import Signal
from elastream.loop.planner import Planner
from elastream.policies import policies
from tests.recordings.replaying import (
    FAST,
    FOREACH,
    JOIN,
    NAMES,
    UDF,
    WINDOW,
    finished,
    last_work,
    looks,
    progresses,
    queries,
    replay,
    value,
)

# The default of the loop: three ticks of 5 s.
MAX_AGE_S = 15.0
FAST_STEPS = ((20.0, 20.0), (8.0, 0.0), (90.0, 1500.0))
"""Of the source of `as-fast-as-possible`: so many seconds, records per second."""


PHASES = {
    FOREACH: {"running", "between-triggers", "terminated"},
    FAST: {"starting", "running", "no-data", "terminated"},
    # Batches of this and of the last one take longer than their interval.
    WINDOW: {"running", "terminated"},
    JOIN: {"starting", "running", "between-triggers", "no-data", "terminated"},
    UDF: {"running", "terminated"},
}

LEVELS = {
    Signal.BACKLOG_AGE,
    Signal.DELAY,
    Signal.STATE_BYTES,
    Signal.QUEUE,
    Signal.WORKER_CPU,
    Signal.WORKER_MEMORY,
    Signal.READY,
}

each_recording = pytest.mark.parametrize("name", NAMES)


@cache
def provided(name: str) -> frozenset[Signal]:
    return frozenset(signal for now in looks(name) for signal, _, reading in readings(now) if reading is not None)


@each_recording
def test_all_that_is_filled_is_credible_and_not_ahead_of_its_look(name: str) -> None:
    assert all(earlier.at_s < later.at_s for earlier, later in pairwise(looks(name)))
    for now in looks(name):
        assert credible(now, MAX_AGE_S) == now
        assert all(reading.at_s <= now.at_s for _, _, reading in readings(now) if reading is not None)


@each_recording
def test_totals_never_decrease_and_nor_do_the_times_at_which_they_were_true(name: str) -> None:
    last: dict[tuple[str, str], Reading] = {}
    for now in looks(name):
        totals = [(signal, of, reading) for signal, of, reading in readings(now) if signal not in LEVELS]
        for signal, of, reading in [*totals, *(("other", "", query.other_s) for query in now.queries)]:
            if reading is not None:
                before = last.setdefault((signal, of), reading)
                assert reading.value >= before.value, (signal, of)
                assert reading.at_s >= before.at_s, (signal, of)
                last[signal, of] = reading


@each_recording
def test_what_finished_batches_have_read_is_committed_and_has_arrived(name: str) -> None:
    rows: dict[int, float] = {}
    for query in queries(name):
        if query.finished is not None:
            rows[query.finished.id] = query.finished.rows or 0.0
            assert sum(rows.values()) <= sum(value(source.committed) for source in query.sources)
        for source in query.sources:
            if source.arrived is not None and source.committed is not None:
                assert source.committed.value <= source.arrived.value


@pytest.mark.parametrize(("name", "truth", "place"), [(FAST, "arrived", 0), (JOIN, "payments", 1)])
def test_what_a_source_reports_is_never_more_than_has_arrived(name: str, truth: str, place: int) -> None:
    """What is extrapolated may be, by what a rate that has changed makes of the seconds since the last report."""
    behind = [
        one.truth[truth] - source.arrived.value
        for one in replay(name)
        for query in one.now.queries
        for source in query.sources[place : place + 1]
        if source.arrived is not None and source.arrived_from == "reported"
    ]
    assert min(behind) >= 0


@each_recording
def test_phases_are_those_that_were_recorded(name: str) -> None:
    assert {query.phase for query in queries(name)} == PHASES[name]


@each_recording
def test_a_query_ends_once_and_stays_ended(name: str) -> None:
    ended = [query.phase == "terminated" for query in queries(name)]
    assert ended == sorted(ended)
    assert ended[-1]


@each_recording
def test_a_running_batch_is_recognised_in_the_middle_of_it(name: str) -> None:
    known: dict[int, int] = {}
    in_the_middle = 0
    for now in looks(name):
        for query in now.queries:
            batch = query.running
            assert (batch is not None) == (query.phase == "running")
            if batch is None:
                continue
            assert batch.started_s <= now.at_s
            assert query.finished is None or query.finished.id == batch.id - 1
            tasks, done = batch.tasks or 0, batch.tasks_done or 0
            # More tasks may become known, and none is forgotten.
            assert tasks >= known.get(batch.id, 0)
            assert done <= tasks
            known[batch.id] = tasks
            in_the_middle += 0 < done < tasks
    assert in_the_middle


def test_stages_that_are_skipped_have_no_tasks() -> None:
    tasks = {query.running.tasks for query in queries(FAST) if query.running}
    # Four that read and three behind the exchange; adaptive execution lists the first four again, to skip them.
    assert tasks <= {None, 4, 7}
    assert 7 in tasks


def test_a_batch_that_only_cleans_up_state_has_no_rows() -> None:
    cleaning = [batch for batch in finished(JOIN).values() if batch.rows == 0.0]
    assert cleaning
    assert all(batch.limited is not True for batch in cleaning)


def test_rows_of_a_foreach_batch_are_not_doubled() -> None:
    counted = {progress["batchId"]: progress["numInputRows"] for progress in progresses(FOREACH)}
    assert set(counted.values()) == {2000, 4000}
    assert {batch.rows for batch in finished(FOREACH).values()} == {2000.0}
    assert value(queries(FOREACH)[-1].sources[0].committed) == 2000 * len(counted)


def test_rows_of_files_are_counted_though_their_offsets_count_nothing() -> None:
    orders, payments = queries(JOIN)[-1].sources
    truth = replay(JOIN)[-1].truth
    # Of a file that is read, its bytes are known exactly and its records by what bytes held so far.
    assert value(orders.committed) == pytest.approx(truth["orders"], rel=0.05)
    assert value(payments.committed) == truth["payments"]


@each_recording
def test_the_parts_of_a_batch_make_up_its_duration(name: str) -> None:
    for batch in finished(name).values():
        assert sum(batch.parts_s.values()) == pytest.approx(batch.duration_s, abs=0.05)
        assert batch.driver_s is not None
        assert 0 < batch.driver_s <= batch.duration_s


@each_recording
def test_busy_time_of_operators_is_positive_and_fits_into_the_slots(name: str) -> None:
    first = looks(name)[0]
    slots = max(pool.ready + pool.leaving for now in looks(name) for pool in now.pools)
    for now in looks(name):
        for query in now.queries:
            busy_s = sum(work.busy_s.value for work in query.operators if work.busy_s) + value(query.other_s)
            # What is busy in time of tasks is so in time of slots, which count while a task runs.
            assert busy_s <= value(now.pools[0].busy_slot_s) + 0.5
            assert busy_s <= slots * (now.at_s - first.at_s + 1.5)
    assert all(value(work.busy_s) > 0 for work in queries(name)[-1].operators)


@each_recording
def test_hardly_any_work_belongs_to_no_operator(name: str) -> None:
    last = queries(name)[-1]
    worked_s = sum(value(work.busy_s) for work in last.operators)
    assert value(last.other_s) <= 0.1 * worked_s


def test_a_job_of_no_query_shows_as_other_work_and_in_no_operator() -> None:
    assert max(value(now.other_busy_slots) for now in looks(FOREACH)) >= 1
    assert {value(now.other_busy_slots) for now in looks(UDF)} == {0}
    # Its 3,000,000 records are not in here, and those that two writes without a cache read are in once.
    read = value(last_work(FOREACH)["read-0"].records_in)
    batches = len(progresses(FOREACH))
    assert 2000 * batches <= read <= 2000 * (batches + 1)


def test_operators_pass_on_what_they_read() -> None:
    fast, window, join = last_work(FAST), last_work(WINDOW), last_work(JOIN)
    assert value(fast["read-0"].records_out) == value(fast["work-0"].records_in)
    # The batch that was stopped in its middle has read its records too.
    assert value(window["read-0"].records_in) in (3000 * len(progresses(WINDOW)), 3000 * (len(progresses(WINDOW)) + 1))
    # Fifty keys in each of three windows at most: a partial aggregate hands on groups.
    assert value(window["read-0"].records_out) < value(window["read-0"].records_in) / 10
    assert value(join["read-0"].records_out) + value(join["read-1"].records_out) == value(join["join-0"].records_in)


def test_the_join_has_two_sources_and_an_operator_fed_by_two() -> None:
    query = queries(JOIN)[-1]
    assert [source.read_limit for source in query.sources] == [ReadLimit(4, "files"), None]
    operators = {operator.name: operator for operator in query.topology.operators}
    assert set(query.topology.upstream("join-0")) == {"read-0", "read-1"}
    assert (operators["join-0"].stateful, operators["join-0"].partitions) == (True, 2)
    assert [operators[name].reads for name in ("join-0", "read-0", "read-1")] == [(), ("source-0",), ("source-1",)]
    assert [operators[name].partitions for name in ("read-0", "read-1")] == [None, 4]


@each_recording
def test_a_topology_makes_sense_as_soon_as_there_is_one_and_never_changes(name: str) -> None:
    known = [query.topology for query in queries(name) if query.topology.operators]
    for topology in known:
        topology.check(["executors"])
    assert len({(tuple(op.name for op in topology.operators), topology.edges) for topology in known}) == 1


def test_requested_ready_and_leaving_are_different_numbers() -> None:
    pools = [now.pools[0] for now in looks(UDF)]
    sizes = [(pool.requested, pool.ready, pool.leaving) for pool in pools]
    # Each time it is seen for seconds: one is asked for, it is there, one is told to leave, it has left.
    assert list(dict.fromkeys(sizes)) == [(2, 2, 0), (3, 2, 0), (3, 3, 0), (2, 2, 1)]
    assert sizes[-1] == (2, 2, 0)
    states = [[worker.state for worker in pool.workers] for pool in pools]
    assert ["ready", "ready", "starting"] in states
    assert any(sorted(state) == ["leaving", "ready", "ready"] for state in states)
    assert states[-1] == ["ready", "ready"]


def test_a_read_limit_that_binds_is_told_from_one_that_does_not() -> None:
    limited = {batch.rows: batch.limited for batch in finished(FAST).values() if batch.rows}
    assert limited[300.0] is True
    assert {verdict for rows, verdict in limited.items() if rows < 300} == {False}


def test_state_and_watermark_are_those_of_the_last_batches() -> None:
    window, join = queries(WINDOW)[-1], queries(JOIN)[-1]
    assert window.state is not None
    assert join.state is not None
    last = {name: progresses(name)[-1]["stateOperators"][0]["numRowsTotal"] for name in (WINDOW, JOIN)}
    assert (window.state.store, value(window.state.rows)) == ("rocksdb", last[WINDOW])
    assert (join.state.store, value(join.state.rows)) == ("hdfs", last[JOIN])
    # Event time may have nothing to do with the clock.
    marks = [query.watermark_utc_s.value for query in queries(WINDOW) if query.watermark_utc_s]
    assert 0 < marks[-1] < 1000


def true_delays() -> list[float]:
    """Of the records of `as-fast-as-possible`: its source counts by the clock."""
    started_utc_s = replay(FAST)[-1].truth["started_utc_s"]
    delays: list[float] = []
    for progress in progresses(FAST):
        batch_s = progress["durationMs"]["triggerExecution"] / 1000
        ended_utc_s = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp() + batch_s
        source = progress["sources"][0]
        # When the first batch was planned its records were there already, and nobody had seen them come.
        first = source["startOffset"]["records"] if source["startOffset"] else source["endOffset"]["records"]
        numbers = range(first + 1, source["endOffset"]["records"] + 1)
        delays += [ended_utc_s - started_utc_s - arrived_s(number, FAST_STEPS) for number in numbers]
    return sorted(delays)


def arrived_s(number: float, steps: tuple[tuple[float, float], ...]) -> float:
    """When a record arrived, for steps of (lasts seconds, records per second)."""
    before, at_s = 0.0, 0.0
    for lasts_s, per_s in steps:
        if per_s and before + lasts_s * per_s >= number:
            return at_s + (number - before) / per_s
        before, at_s = before + lasts_s * per_s, at_s + lasts_s
    raise ValueError(number)


def test_the_delay_from_reported_offsets_is_close_to_the_true_one() -> None:
    delay, true = queries(FAST)[-1].delay, true_delays()
    assert delay is not None
    assert delay.records == pytest.approx(len(true), rel=0.01)
    assert delay.p50_s == pytest.approx(true[len(true) // 2], abs=0.5)
    assert delay.p95_s == pytest.approx(true[int(len(true) * 0.95)], abs=0.5)
    assert delay.max_s == pytest.approx(true[-1], abs=0.5)


@each_recording
@pytest.mark.parametrize("policy", policies.names())
def test_every_look_is_planned_by_every_policy(policy: str, name: str) -> None:
    # At every look, where a policy lets us: a recording is shorter than most intervals.
    has_interval = any(setting.name == "interval_s" for setting in policies.settings(policy))
    built = policies.build(policy, {"interval_s": 0.1} if has_interval else {})
    planner = Planner(built, {}, provided(name))
    lacks = fit(built.needs, provided(name)).missing
    for now in looks(name):
        plan = planner.plan(credible(now, MAX_AGE_S))
        assert plan.troubles == ()
        assert plan.decision.reason
        if lacks and now.queries and now.queries[0].phase != "terminated":
            assert plan.decision.kind == "hold"


def test_a_policy_decides_where_all_it_needs_is_known_and_says_what_is_not() -> None:
    planner = Planner(policies.build("lag-proportional", {"interval_s": 0.1}), {}, provided(FAST))
    decisions = [planner.plan(now).decision for now in looks(FAST)]
    assert decisions[0].kind == "hold"
    assert "of as-fast-as-possible is not known" in decisions[0].reason
    assert "set" in {decision.kind for decision in decisions}

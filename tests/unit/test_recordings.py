"""Every field of an observation held against recordings of real queries: filled, or None for a reason."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest

from elastream.core.credible import credible
from elastream.core.needs import fit
from elastream.core.observation import Observation, OperatorWork, Query, Reading, ReadLimit, readings
from elastream.core.signals import GLOSSARY, Signal
from elastream.loop.planner import Planner
from elastream.policies import policies
from tests.recordings import filling
from tests.recordings.filling import Part, Recording, part_with, parts_of, read_limit, rows_between, united_s

FOREACH, FAST, WINDOW, JOIN, UDF = NAMES = (
    "foreach-batch",
    "as-fast-as-possible",
    "stateful-window",
    "stream-join",
    "python-udf",
)
# The default of the loop: three ticks of 5 s.
MAX_AGE_S = 15.0


class Unknown(NamedTuple):
    """Why a field is None, or empty, in every look of a recording."""

    why: str


FILLED = "filled"
Entry = dict[str, str | Unknown]
EVERYWHERE: Entry = dict.fromkeys(NAMES, FILLED)


def nowhere(why: str) -> Entry:
    return dict.fromkeys(NAMES, Unknown(why))


def only(*names: str, otherwise: str) -> Entry:
    return {name: FILLED if name in names else Unknown(otherwise) for name in NAMES}


NO_REPORT = "rate-micro-batch does not report its newest offset"
NO_TASKS = "single tasks were not recorded; live they are seen"
NO_STATE = "no stateful operator"
NO_DELAY = "needs the newest offsets of all sources"
ONE_PART = "no exchange, so one operator"

FIELDS: dict[str, Entry] = {
    "Observation.at_s": EVERYWHERE,
    "Observation.utc_s": EVERYWHERE,
    "Observation.application": EVERYWHERE,
    "Observation.pools": EVERYWHERE,
    "Observation.queries": EVERYWHERE,
    "Observation.other_busy_slots": EVERYWHERE,
    "Observation.cluster_workers": nowhere("the cluster's master was not asked"),
    "Pool.name": EVERYWHERE,
    "Pool.slots_per_worker": EVERYWHERE,
    "Pool.min_workers": EVERYWHERE,
    "Pool.max_workers": EVERYWHERE,
    "Pool.wanted": EVERYWHERE,
    "Pool.requested": EVERYWHERE,
    "Pool.ready": EVERYWHERE,
    "Pool.leaving": EVERYWHERE,
    "Pool.workers": EVERYWHERE,
    "Pool.worker_memory_bytes": nowhere("a setting of the application that was not recorded"),
    "Pool.busy_slot_s": EVERYWHERE,
    "Worker.id": EVERYWHERE,
    "Worker.state": EVERYWHERE,
    "Worker.since_s": EVERYWHERE,
    "Worker.pid": nowhere("not recorded; live it comes from /proc"),
    "Worker.node": EVERYWHERE,
    "Worker.delays_ms": nowhere("Spark measures no network"),
    "Worker.running_tasks": EVERYWHERE,
    "Worker.cpu": EVERYWHERE,
    "Worker.cpu_from": EVERYWHERE,
    "Worker.memory_bytes": EVERYWHERE,
    "Worker.records": nowhere("an executor's summary counts bytes and no records"),
    "Query.id": EVERYWHERE,
    "Query.name": EVERYWHERE,
    "Query.phase": EVERYWHERE,
    "Query.topology": EVERYWHERE,
    "Query.trigger": EVERYWHERE,
    "Query.sources": EVERYWHERE,
    "Query.operators": EVERYWHERE,
    "Query.running": EVERYWHERE,
    "Query.finished": EVERYWHERE,
    "Query.batches": EVERYWHERE,
    "Query.driver_s": EVERYWHERE,
    "Query.other_s": EVERYWHERE,
    "Query.state": only(WINDOW, JOIN, otherwise=NO_STATE),
    "Query.delay": only(FAST, otherwise=NO_DELAY),
    "Query.slo": nowhere("the owner's promise, not Spark's"),
    "Query.on_time": nowhere("counted where something was promised"),
    "Query.watermark_utc_s": only(WINDOW, JOIN, otherwise="no watermark"),
    "Query.error": only(FOREACH, otherwise="it did not fail"),
    "Topology.operators": EVERYWHERE,
    "Topology.edges": only(FAST, WINDOW, JOIN, otherwise=ONE_PART),
    "Operator.name": EVERYWHERE,
    "Operator.pool": EVERYWHERE,
    "Operator.parallel": EVERYWHERE,
    "Operator.partitions": EVERYWHERE,
    "Operator.stateful": EVERYWHERE,
    "Edge.upstream": only(FAST, WINDOW, JOIN, otherwise=ONE_PART),
    "Edge.downstream": only(FAST, WINDOW, JOIN, otherwise=ONE_PART),
    "Trigger.interval_s": only(FOREACH, WINDOW, JOIN, UDF, otherwise="as fast as possible"),
    "Source.name": EVERYWHERE,
    "Source.read_limit": EVERYWHERE,
    "Source.arrived": only(FAST, JOIN, otherwise=NO_REPORT),
    "Source.arrived_from": only(FAST, JOIN, otherwise=NO_REPORT),
    "Source.committed": EVERYWHERE,
    "Source.backlog_age_s": only(FAST, JOIN, otherwise=NO_REPORT),
    "Source.partitions": EVERYWHERE,
    "Source.partition_backlogs": nowhere("an offset is one number for all partitions"),
    "Source.problem": nowhere("no log is asked, so none fails to answer"),
    "RunningBatch.id": EVERYWHERE,
    "RunningBatch.started_s": EVERYWHERE,
    "RunningBatch.rows": EVERYWHERE,
    "RunningBatch.tasks": EVERYWHERE,
    "RunningBatch.tasks_done": EVERYWHERE,
    "RunningBatch.stages": nowhere(NO_TASKS),
    "RunningBatch.last_task_s": nowhere(NO_TASKS),
    **{
        f"RunningStage.{name}": nowhere(NO_TASKS) for name in ("name", "tasks", "done", "running", "mean_s", "oldest_s")
    },
    "FinishedBatch.id": EVERYWHERE,
    "FinishedBatch.started_s": EVERYWHERE,
    "FinishedBatch.ended_s": EVERYWHERE,
    "FinishedBatch.rows": EVERYWHERE,
    "FinishedBatch.busy_s": EVERYWHERE,
    "FinishedBatch.limited": only(FOREACH, FAST, WINDOW, UDF, otherwise="nothing counts the files of a batch"),
    "FinishedBatch.driver_s": nowhere(NO_TASKS),
    "FinishedBatch.critical_s": nowhere(NO_TASKS),
    "FinishedBatch.longest": nowhere(NO_TASKS),
    "FinishedBatch.parts_s": EVERYWHERE,
    **{
        f"LongestTask.{name}": nowhere(NO_TASKS)
        for name in ("stage", "tasks", "task_s", "mean_s", "records", "mean_records")
    },
    "OperatorWork.name": EVERYWHERE,
    "OperatorWork.tasks": EVERYWHERE,
    "OperatorWork.records_in": EVERYWHERE,
    "OperatorWork.records_out": only(FAST, WINDOW, JOIN, UDF, otherwise="jobs on the cache write too"),
    "OperatorWork.busy_s": EVERYWHERE,
    "OperatorWork.backpressure_s": nowhere("a stage waits for the whole of the one before, not for a buffer"),
    "OperatorWork.queue": nowhere("records wait in the log, not in front of stages"),
    "KeyedState.store": only(WINDOW, JOIN, otherwise=NO_STATE),
    "KeyedState.rows": only(WINDOW, JOIN, otherwise=NO_STATE),
    "KeyedState.bytes": only(WINDOW, JOIN, otherwise=NO_STATE),
    "KeyedState.commit_s": only(WINDOW, JOIN, otherwise=NO_STATE),
    "Delay.at_s": only(FAST, otherwise=NO_DELAY),
    "Delay.window_s": only(FAST, otherwise=NO_DELAY),
    "Delay.records": only(FAST, otherwise=NO_DELAY),
    "Delay.p50_s": only(FAST, otherwise=NO_DELAY),
    "Delay.p95_s": only(FAST, otherwise=NO_DELAY),
    "Delay.p99_s": only(FAST, otherwise=NO_DELAY),
    "Delay.max_s": only(FAST, otherwise=NO_DELAY),
    "Slo.delay_s": nowhere("the owner's promise, not Spark's"),
    "OnTime.records": nowhere("counted where something was promised"),
    "OnTime.within": nowhere("counted where something was promised"),
    "Slo.share": nowhere("the owner's promise, not Spark's"),
}

PHASES = {
    FOREACH: {"starting", "running", "between-triggers", "terminated"},
    # Between two batches for a moment: the progress of one is there, and the next has not been planned.
    FAST: {"starting", "running", "between-triggers", "no-data", "terminated"},
    # The first look came when the first batch was being planned.
    WINDOW: {"running", "between-triggers", "terminated"},
    JOIN: {"starting", "running", "between-triggers", "no-data", "terminated"},
    UDF: {"starting", "running", "between-triggers", "terminated"},
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
def recording(name: str) -> Recording:
    return filling.read(Path(filling.__file__).with_name(f"{name}.jsonl"))


@cache
def looks(name: str) -> list[Observation]:
    return filling.observations(recording(name))


def queries(name: str) -> list[Query]:
    return [now.queries[0] for now in looks(name)]


def finished(name: str) -> dict[int, Any]:
    return {query.finished.id: query.finished for query in queries(name) if query.finished is not None}


def last_work(name: str) -> dict[str, OperatorWork]:
    return {work.name: work for work in queries(name)[-1].operators}


def dataclasses_in(cls: type) -> Iterator[type]:
    """A dataclass and all that are in its fields."""
    yield cls
    for hint in get_type_hints(cls).values():
        for part in _types(hint):
            if is_dataclass(part):
                yield from dataclasses_in(part)


def _types(hint: Any) -> Iterator[type]:
    if isinstance(hint, type):
        yield hint
    for argument in get_args(hint):
        yield from _types(argument)


def filled_paths(value: Any) -> Iterator[str]:
    """Fields of a dataclass, and of all in it, that say something."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        for item in value:
            yield from filled_paths(item)
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            inner = getattr(value, each.name)
            if inner is not None and inner not in ((), {}):
                yield f"{type(value).__name__}.{each.name}"
                yield from filled_paths(inner)


@cache
def provided(name: str) -> frozenset[Signal]:
    return frozenset(signal for now in looks(name) for signal, _, reading in readings(now) if reading is not None)


def test_the_table_speaks_of_every_field_and_of_no_other() -> None:
    paths = {f"{cls.__name__}.{each.name}" for cls in dataclasses_in(Observation) for each in fields(cls)}
    assert sorted(FIELDS) == sorted(paths)


@each_recording
def test_fields_are_filled_from_a_real_query_or_none_for_a_reason(name: str) -> None:
    found = {path for now in looks(name) for path in filled_paths(now)}
    expected = {path for path, entry in FIELDS.items() if entry[name] == FILLED}
    assert found - expected == set(), "filled, though the table says it cannot be"
    assert expected - found == set(), "never filled, though the table says it can be"


@each_recording
def test_all_that_is_filled_is_credible(name: str) -> None:
    for now in looks(name):
        assert credible(now, MAX_AGE_S) == now


@each_recording
def test_nothing_is_read_ahead_of_its_look_and_looks_do_not_go_back(name: str) -> None:
    assert all(earlier.at_s < later.at_s for earlier, later in pairwise(looks(name)))
    for now in looks(name):
        assert all(reading.at_s <= now.at_s + 0.001 for _, _, reading in readings(now) if reading is not None)


@each_recording
def test_totals_never_decrease_and_nor_do_the_times_at_which_they_were_true(name: str) -> None:
    last: dict[tuple[str, str], Reading] = {}
    for now in looks(name):
        totals = [(signal, of, reading) for signal, of, reading in readings(now) if signal not in LEVELS]
        for signal, of, reading in [*totals, ("other", "", now.queries[0].other_s)]:
            if reading is not None:
                before = last.setdefault((signal, of), reading)
                assert (reading.value, reading.at_s) >= (before.value, before.at_s), (signal, of)
                assert reading.at_s >= before.at_s
                last[signal, of] = reading


def test_the_glossary_agrees_on_what_is_a_total() -> None:
    totals = {signal for signal, meaning in GLOSSARY.items() if "total" in meaning.unit}
    assert totals == {signal for signal in GLOSSARY if GLOSSARY[signal].unit not in ("-", "ms")} - LEVELS


@each_recording
def test_committed_never_exceeds_arrived(name: str) -> None:
    for query in queries(name):
        for source in query.sources:
            if source.arrived is not None and source.committed is not None:
                assert source.committed.value <= source.arrived.value


@each_recording
def test_what_finished_batches_have_read_is_committed(name: str) -> None:
    rows: dict[int, float] = {}
    for query in queries(name):
        if query.finished is not None:
            rows[query.finished.id] = query.finished.rows or 0.0
            assert sum(rows.values()) <= sum(_value(source.committed) for source in query.sources)


@pytest.mark.parametrize(("name", "truth", "place"), [(FAST, "arrived", 0), (JOIN, "payments", 1)])
def test_what_a_source_reports_is_never_more_than_has_arrived_and_mostly_less(
    name: str, truth: str, place: int
) -> None:
    behind = []
    for query, look in zip(queries(name), recording(name).looks, strict=True):
        if query.sources and (arrived := query.sources[place].arrived) is not None:
            behind.append(look["truth"][truth] - arrived.value)
    assert min(behind) >= 0
    assert max(behind) > 100


@each_recording
def test_phases_are_those_that_were_recorded(name: str) -> None:
    assert {query.phase for query in queries(name)} == PHASES[name]


@each_recording
def test_a_query_ends_once_and_stays_ended(name: str) -> None:
    ended = [query.phase == "terminated" for query in queries(name)]
    assert ended == sorted(ended)
    assert all(query.running is None for query in queries(name) if query.phase == "terminated")


@each_recording
def test_a_running_batch_is_recognised_in_the_middle_of_it(name: str) -> None:
    for now, query in zip(looks(name), queries(name), strict=True):
        assert (query.running is not None) == (query.phase == "running")
        if query.running is not None:
            assert query.running.started_s <= now.at_s
            assert query.finished is None or query.finished.id == query.running.id - 1
    in_the_middle = [
        batch
        for query in queries(name)
        if (batch := query.running) and batch.tasks and 0 < (batch.tasks_done or 0) < batch.tasks
    ]
    assert in_the_middle


@each_recording
def test_the_tasks_known_of_a_running_batch_never_become_fewer(name: str) -> None:
    known: dict[int, int] = {}
    for query in queries(name):
        if query.running is not None and query.running.tasks is not None:
            assert query.running.tasks >= known.get(query.running.id, 0)
            assert (query.running.tasks_done or 0) <= query.running.tasks
            known[query.running.id] = query.running.tasks


def test_stages_that_are_skipped_have_no_tasks() -> None:
    tasks = {query.running.tasks for query in queries(FAST) if query.running}
    # Four that read and three behind the exchange; adaptive execution lists the first four again, to skip them.
    assert tasks == {None, 4, 7}


def test_a_batch_runs_from_the_moment_its_offsets_are_chosen() -> None:
    planned = queries(WINDOW)[0]
    assert recording(WINDOW).looks[0]["query"]["status"]["message"] == "Writing offsets to log"
    assert planned.phase == "running"
    assert planned.running is not None
    assert (planned.running.rows, planned.running.tasks) == (3000.0, None)


def test_a_batch_that_only_cleans_up_state_runs_without_rows() -> None:
    assert {query.running.rows for query in queries(JOIN) if query.running and query.running.id == 6} == {0.0}
    assert finished(JOIN)[6].rows == 0.0


def test_rows_of_a_foreach_batch_are_not_doubled() -> None:
    counted = {
        progress["batchId"]: progress["numInputRows"]
        for look in recording(FOREACH).looks
        for progress in look["query"].get("progress", [])
    }
    assert set(counted.values()) == {2000, 4000}
    assert {batch.rows for batch in finished(FOREACH).values()} == {2000.0}
    committed = queries(FOREACH)[-1].sources[0].committed
    assert committed is not None
    assert committed.value == 2000 * len(counted)


def test_rows_of_files_are_counted_though_their_offsets_count_nothing() -> None:
    assert {source.arrived for query in queries(JOIN) for source in query.sources[:1]} == {None}
    orders, payments = queries(JOIN)[-1].sources
    assert orders.committed is not None
    assert payments.committed is not None
    assert orders.committed.value == recording(JOIN).looks[-1]["truth"]["orders"]
    assert payments.committed.value == recording(JOIN).looks[-1]["truth"]["payments"]


@each_recording
def test_the_parts_of_a_batch_make_up_its_duration(name: str) -> None:
    for batch in finished(name).values():
        assert sum(batch.parts_s.values()) == pytest.approx(batch.duration_s, abs=0.05)


@each_recording
def test_driver_time_is_a_part_of_the_time_of_batches(name: str) -> None:
    last = queries(name)[-1]
    assert last.driver_s is not None
    assert last.finished is not None
    assert 0 < last.driver_s.value < last.finished.ended_s - looks(name)[0].at_s


@each_recording
def test_busy_time_of_operators_is_positive_and_fits_into_the_slots(name: str) -> None:
    first = looks(name)[0]
    for now, query in zip(looks(name), queries(name), strict=True):
        busy_s = sum(work.busy_s.value for work in query.operators if work.busy_s)
        other_s = query.other_s.value if query.other_s else 0.0
        # Until it has left, an executor that is leaving holds its slots.
        slots = max((pool.ready + pool.leaving) * pool.slots_per_worker for look in looks(name) for pool in look.pools)
        assert busy_s + other_s <= slots * (now.at_s - first.at_s + 0.5)
        before, after = first.pools[0].busy_slot_s, now.pools[0].busy_slot_s
        assert before is not None
        assert after is not None
        # The pool's own count is of whole tasks, and hears of them at the same time.
        assert busy_s + other_s <= after.value - before.value + 0.1
    assert all(work.busy_s and work.busy_s.value > 0 for work in queries(name)[-1].operators)


@each_recording
def test_what_a_batch_cost_is_the_work_of_its_operators_and_the_rest(name: str) -> None:
    query = queries(name)[-1]
    costs = [batch.busy_s for batch in finished(name).values() if batch.busy_s is not None]
    worked = sum(work.busy_s.value for work in query.operators if work.busy_s)
    assert query.other_s is not None
    # The batch that was running when the query was stopped was never finished; batches between two looks are lost.
    assert sum(costs) <= worked + query.other_s.value + 0.1


def test_work_on_a_cache_and_of_batches_missed_between_looks_belongs_to_no_operator() -> None:
    other = {name: query.other_s.value for name in NAMES if (query := queries(name)[-1]).other_s}
    assert other == {
        FOREACH: pytest.approx(3.84, abs=0.01),
        FAST: pytest.approx(3.40, abs=0.01),
        WINDOW: 0,
        JOIN: 0,
        UDF: 0,
    }


def test_a_job_of_no_query_shows_as_other_work_and_in_no_operator() -> None:
    slots = [now.other_busy_slots.value for now in looks(FOREACH) if now.other_busy_slots]
    assert max(slots) >= 1
    assert {now.other_busy_slots.value for now in looks(UDF) if now.other_busy_slots} == {0}
    read = last_work(FOREACH)["read-0"].records_in
    assert read is not None
    # Its 3,000,000 records are not in here; those that two writes without a cache read are in twice.
    assert read.value == 7 * 2000 + 3 * 2000


def test_operators_pass_on_what_they_read() -> None:
    fast, window, join = last_work(FAST), last_work(WINDOW), last_work(JOIN)
    assert _value(fast["read-0"].records_out) == _value(fast["work-0"].records_in)
    assert _value(window["read-0"].records_in) == 10 * 3000
    assert _value(window["read-0"].records_out) == 10 * 150
    assert _value(join["read-0"].records_out) + _value(join["read-1"].records_out) == _value(join["join-0"].records_in)


def _value(reading: Reading | None) -> float:
    assert reading is not None
    return reading.value


def test_the_join_has_two_sources_and_an_operator_fed_by_two() -> None:
    query = queries(JOIN)[-1]
    assert [source.name for source in query.sources] == ["source-0", "source-1"]
    assert [source.read_limit for source in query.sources] == [ReadLimit(4, "files"), None]
    assert query.topology.upstream("join-0") == ("read-0", "read-1")
    join, orders, payments = query.topology.operators
    assert (join.stateful, join.partitions) == (True, 2)
    assert (orders.partitions, payments.partitions) == (None, 4)


@each_recording
def test_a_topology_makes_sense_as_soon_as_there_is_one_and_never_changes(name: str) -> None:
    known = [query.topology for query in queries(name) if query.topology.operators]
    for topology in known:
        topology.check([filling.POOL])
    assert len({(tuple(op.name for op in topology.operators), topology.edges) for topology in known}) == 1


def test_requested_ready_and_leaving_are_different_numbers() -> None:
    pools = [now.pools[0] for now in looks(UDF)]
    sizes = [(pool.requested, pool.ready, pool.leaving) for pool in pools]
    # Each time it is seen for seconds: one is asked for, it is there, one is told to leave, it has left.
    assert list(dict.fromkeys(sizes)) == [(2, 2, 0), (3, 2, 0), (3, 3, 0), (2, 2, 1)]
    assert sizes[-1] == (2, 2, 0)
    states = [{worker.id: worker.state for worker in pool.workers} for pool in pools]
    assert {"1": "ready", "2": "ready", "3": "starting"} in states
    assert {"1": "leaving", "2": "ready", "3": "ready"} in states
    assert states[-1] == {"2": "ready", "3": "ready"}


def test_a_read_limit_that_binds_is_told_from_one_that_does_not() -> None:
    limited = {number: batch.limited for number, batch in finished(FAST).items()}
    # Batch 4 read 99 records when 100 had arrived: the last came between two questions.
    assert (limited[1], limited[4], limited[8]) == (True, False, True)


def test_state_and_watermark_are_those_of_the_last_batches() -> None:
    window, join = queries(WINDOW)[-1], queries(JOIN)[-1]
    assert window.state is not None
    assert join.state is not None
    assert (window.state.store, _value(window.state.rows)) == ("rocksdb", 100)
    assert (join.state.store, _value(join.state.rows)) == ("hdfs", 1480)
    # Event time may have nothing to do with the clock.
    assert _value(window.watermark_utc_s) == 12.0


@dataclass(frozen=True)
class Truth:
    """When the records of `as-fast-as-possible` really arrived: its source counts by the clock."""

    steps: list[list[float]]
    started_utc_s: float

    def arrived_utc_s(self, number: float) -> float:
        before, at_s = 0.0, self.started_utc_s
        for lasts_s, per_s in self.steps:
            if per_s and before + lasts_s * per_s >= number:
                return at_s + (number - before) / per_s
            before, at_s = before + lasts_s * per_s, at_s + lasts_s
        raise ValueError(number)


def true_delays() -> list[float]:
    lines = [look["query"] for look in recording(FAST).looks]
    options = next(line["sources"][0]["options"] for line in lines if "sources" in line)
    truth = Truth(json.loads(options["steps"]), float(options["started_utc_s"]))
    delays = []
    for progress in (progress for line in lines for progress in line.get("progress", [])):
        ended = filling.utc_s(progress["timestamp"]) + progress["durationMs"]["triggerExecution"] / 1000
        source = progress["sources"][0]
        # When the first batch was planned its records were there already, and nobody had seen them come.
        first = source["startOffset"]["records"] if source["startOffset"] else source["endOffset"]["records"]
        numbers = range(first + 1, source["endOffset"]["records"] + 1)
        delays += [ended - truth.arrived_utc_s(number) for number in numbers]
    return sorted(delays)


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
        if lacks and now.queries[0].phase != "terminated":
            assert plan.decision.kind == "hold"


def test_a_policy_decides_where_all_it_needs_is_known_and_says_what_is_not() -> None:
    planner = Planner(policies.build("lag-proportional", {"interval_s": 0.1}), {}, provided(FAST))
    decisions = [planner.plan(now).decision for now in looks(FAST)]
    assert decisions[0].kind == "hold"
    assert decisions[0].reason == "arrival rate of as-fast-as-possible is not known"
    assert decisions[-5].kind == "set"


def test_a_plan_is_cut_at_its_exchanges() -> None:
    nodes = [(0, "Write"), (1, "Exchange"), (2, "Project"), (3, "Scan a"), (1, "Exchange"), (2, "Scan b")]
    top, left, right = parts = parts_of(nodes, [[1], [2], [3], [], [4], [5]])
    assert [(part.name, part.feeds) for part in parts] == [("work-0", None), ("read-0", top), ("read-1", top)]
    assert (left.own, right.own, top.reads) == ({3}, {5}, {2, 4})


@pytest.mark.parametrize(("ids", "name"), [({2, 3}, "read-0"), ({2}, "work-0"), ({9}, None)])
def test_a_stage_is_known_by_its_metrics_and_a_reader_by_its_exchange_alone(ids: set[int], name: str | None) -> None:
    parts = parts_of([(0, "Write"), (1, "Exchange"), (2, "Scan a")], [[1], [2], [3]])
    found: Part | None = part_with(ids, parts)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("MaxRows: 2000", ReadLimit(2000)),
        ("MaxFiles: 4", ReadLimit(4, "files")),
        ('PythonStreamingSourceReadLimit({"max_rows": 300, "_type": "ReadMaxRows"})', ReadLimit(300)),
        ('PythonStreamingSourceReadLimit({"_type": "ReadAllAvailable"})', None),
        (None, None),
    ],
)
def test_read_limits_are_read_from_their_text(text: str | None, limit: ReadLimit | None) -> None:
    assert read_limit(text) == limit


def test_rows_are_known_between_offsets_that_count_and_between_equal_ones() -> None:
    assert rows_between({"records": 5}, {"records": 8}) == 3
    assert rows_between(None, {"offset": 8, "timestamp": 1}) == 8
    assert rows_between({"logOffset": 1}, {"logOffset": 1}) == 0
    assert rows_between({"logOffset": 1}, {"logOffset": 2}) is None


def test_time_covered_by_overlapping_spans_counts_once() -> None:
    assert united_s([(5.0, 6.0), (0.0, 2.0), (1.0, 3.0)]) == 4.0

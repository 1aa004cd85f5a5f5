from dataclasses import replace
from typing import Any

import pytest

from elastream.core.bottleneck import Bottleneck, find_bottlenecks
from elastream.core.knowledge import Knowledge
from elastream.core.observation import (
    FinishedBatch,
    LongestTask,
    Observation,
    Query,
    Reading,
    ReadLimit,
    RunningBatch,
    RunningStage,
    Source,
    Trigger,
    Worker,
)
from elastream.core.slo import Slo
from elastream.core.topology import Operator, Topology
from elastream.testing import observation, query

INTERVAL_S = 10.0


def batch(number: int, *, took: float = 14.0, every: float = 15.0, **more: Any) -> FinishedBatch:
    """A batch that took longer than its trigger, with tasks that share its time."""
    start = number * every
    given: dict[str, Any] = {"rows": 1000.0, "busy_s": 24.0, "driver_s": 1.0, "critical_s": 4.0, "limited": False}
    return FinishedBatch(id=number, started_s=start, ended_s=start + took, **{**given, **more})


def hot(task_s: float = 12.0, mean_s: float = 1.0, **more: Any) -> LongestTask:
    return LongestTask(stage="in-executors", tasks=24, task_s=task_s, mean_s=mean_s, **more)


def after(
    batches: list[FinishedBatch], *, running: RunningBatch | None = None, interval_s: float | None = INTERVAL_S,
    at_s: float | None = None, **changes: Any,
) -> tuple[Observation, Knowledge]:  # fmt: skip
    """What is seen and known when these batches have ended."""
    known = Knowledge()
    now = observation(0.0, ready=4)
    for one in batches:
        seen = replace(query(partitions=24), trigger=Trigger(interval_s=interval_s), finished=one, **changes)
        now = observation(one.ended_s, ready=4, queries=(seen,))
        known.fold(now)
    last: Query = now.queries[0]
    at_s = now.at_s + 1.0 if at_s is None else at_s
    now = observation(at_s, ready=4, queries=(replace(last, running=running),))
    known.fold(now)
    return now, known


def only(seen: tuple[Observation, Knowledge]) -> Bottleneck | None:
    found = find_bottlenecks(*seen)
    assert len(found) <= 1
    return found[0] if found else None


def quiet(started_s: float, last_task_s: float | None, **more: Any) -> RunningBatch:
    return RunningBatch(id=4, started_s=started_s, stages=(), last_task_s=last_task_s, **more)


def test_a_batch_in_which_no_task_runs_or_waits_is_held_by_its_sink() -> None:
    waiting = (Source(name="s", backlog_age_s=Reading(70.0, 99.0)),)
    found = only(after([batch(1), batch(2)], running=quiet(45.0, 50.0), at_s=99.0, sources=waiting))
    assert found is not None
    assert (found.kind, found.query, found.useful_slots) == ("blocked-sink", "q", 0)
    assert found.sentence == (
        "q: a batch has run for 54 s, and for 49 s no task runs or waits: its sink or the driver holds it, and "
        "executors cannot help; what waits has waited 70 s, and its delay will be longer"
    )


@pytest.mark.parametrize(
    "running",
    [
        quiet(45.0, 95.0),
        RunningBatch(id=4, started_s=45.0),
        RunningBatch(id=4, started_s=45.0, stages=(RunningStage(name="a", tasks=4, done=0, running=0),)),
    ],
)
def test_a_short_pause_unknown_tasks_and_tasks_without_a_slot_are_no_blocked_sink(running: RunningBatch) -> None:
    assert only(after([batch(1), batch(2)], running=running, at_s=99.0)) is None


def test_a_driver_that_always_takes_long_is_not_blocked_yet_and_a_first_batch_has_more_time() -> None:
    slow = [batch(n, took=20.0, every=20.0, driver_s=8.0) for n in (1, 2)]
    assert only(after(slow, running=quiet(61.0, None), at_s=80.0)) is None
    assert only(after([batch(0)], running=quiet(20.0, None), at_s=45.0)) is None
    assert only(after([batch(0)], running=quiet(20.0, None), at_s=51.0)) is not None


def test_the_last_task_of_a_stage_that_outlasts_all_others_is_named_while_slots_are_idle() -> None:
    def last(**changes: Any) -> Bottleneck | None:
        stage = RunningStage(name="agg", tasks=24, done=23, running=1, mean_s=2.0, oldest_s=40.0)
        running = RunningBatch(id=4, started_s=45.0, stages=(replace(stage, **changes),))
        return only(after([batch(1)], running=running, at_s=99.0))

    found = last()
    assert found is not None
    assert (found.kind, found.useful_slots) == ("hot-key", 1)
    assert "the last of 24 tasks of agg has run for 40 s" in found.sentence
    # Half-empty waves, tasks that still wait, and a start are no evidence.
    assert last(oldest_s=7.0) is None
    assert last(running=3, done=21) is None
    assert last(done=22) is None
    assert last(done=1, tasks=2) is None


@pytest.mark.parametrize(("stage", "kind"), [("in-executors", "hot-partition"), ("aggregate-0", "hot-key")])
def test_batches_as_long_as_one_task_with_most_records_name_it(stage: str, kind: str) -> None:
    task = replace(hot(records=900.0, mean_records=60.0), stage=stage)
    found = only(after([batch(n, critical_s=12.5, longest=task) for n in (1, 2, 3)]))
    assert found is not None
    assert (found.kind, found.useful_slots) == (kind, 4)
    assert f"one of 24 tasks of {stage} takes 12.0 s of a batch of 14.0 s" in found.sentence


def test_one_late_batch_that_waited_for_a_task_with_most_of_its_records_is_enough() -> None:
    task = hot(records=900.0, mean_records=60.0)
    found = only(after([batch(1, critical_s=12.5, longest=task)]))
    assert found is not None
    assert found.kind == "hot-partition"
    assert only(after([batch(0, critical_s=12.5, longest=task)])) is None
    assert only(after([batch(1, critical_s=12.5, longest=hot())])) is None
    assert only(after([batch(1, critical_s=8.0, took=9.5, longest=replace(task, task_s=8.0))])) is None
    # A batch that is in time speaks for itself, whatever the one before it showed.
    assert only(after([batch(1, critical_s=12.5, longest=task), batch(2, took=6.0, longest=hot(1.5))])) is None


def test_slow_tasks_without_more_records_or_on_new_executors_are_no_hot_key() -> None:
    slow = hot(records=60.0, mean_records=60.0)
    assert only(after([batch(n, critical_s=12.5, longest=slow) for n in (1, 2, 3)])) is None
    now, known = after([batch(n, critical_s=12.5, longest=hot()) for n in (1, 2, 3)])
    assert only((now, known)) is not None
    fresh = replace(now.pools[0], workers=(Worker(id="9", state="ready", since_s=20.0),))
    assert only((replace(now, pools=(fresh,)), known)) is None


@pytest.mark.parametrize(
    "batches",
    [
        [batch(n, critical_s=12.5, longest=hot()) for n in (2, 3)],
        [batch(n, critical_s=12.5, longest=hot()) for n in (0, 1, 2)],
        [batch(n, critical_s=8.0, longest=hot(7.0)) for n in (1, 2, 3)],
        [batch(n, critical_s=7.0, took=8.0, longest=hot(7.0)) for n in (1, 2, 3)],
    ],
    ids=["too few", "a first one", "slots are busy", "in time"],
)
def test_less_evidence_than_that_finds_nothing(batches: list[FinishedBatch]) -> None:
    assert only(after(batches)) is None


def test_a_longer_batch_with_tasks_that_wait_speaks_against_the_last_ones() -> None:
    batches = [batch(n, critical_s=12.5, longest=hot()) for n in (1, 2, 3)]
    waiting = RunningStage(name="in-executors", tasks=24, done=4, running=4, mean_s=3.0, oldest_s=1.0)
    running = RunningBatch(id=4, started_s=60.0, stages=(waiting,))
    assert only(after(batches, running=running, at_s=75.0)) is not None
    assert only(after(batches, running=running, at_s=85.0)) is None


def test_a_stage_of_fewer_tasks_than_slots_is_named_with_the_remedy() -> None:
    task = LongestTask(stage="read-0", tasks=1, task_s=12.0, mean_s=12.0)
    found = only(after([batch(n, busy_s=12.0, critical_s=12.5, longest=task) for n in (1, 2, 3)]))
    assert found is not None
    assert (found.kind, found.useful_slots) == ("few-partitions", 1)
    assert "more than 1 slot cannot help it; raise its partitions" in found.sentence


def test_a_stage_that_is_cut_into_as_many_tasks_as_there_are_slots_has_no_ceiling() -> None:
    task = LongestTask(stage="read-0", tasks=2, task_s=12.0, mean_s=12.0)
    batches = [batch(n, busy_s=24.0, critical_s=12.5, longest=task) for n in (1, 2, 3)]
    topology = Topology(operators=(Operator(name="read-0", pool="executors"),))
    assert only(after(batches, topology=topology)) is None


def test_batches_that_are_mostly_the_driver_are_named_unless_the_next_one_has_more_rows() -> None:
    batches = [batch(n, busy_s=6.0, driver_s=11.0) for n in (1, 2, 3)]
    found = only(after(batches))
    assert found is not None
    assert (found.kind, found.useful_slots) == ("driver", 2)
    assert "for 11.0 s of a batch of 14.0 s no task runs" in found.sentence
    more = RunningBatch(id=4, started_s=60.0, rows=2000.0, stages=())
    assert only(after(batches, running=more)) is None
    assert only(after([batch(n, driver_s=8.0) for n in (1, 2, 3)])) is None


def test_a_promise_says_when_batches_as_fast_as_possible_are_late() -> None:
    batches = [batch(n, took=6.0, busy_s=6.0, driver_s=5.0) for n in (1, 2, 3)]
    assert only(after(batches, interval_s=None)) is None
    assert only(after(batches, interval_s=None, slo=Slo(delay_s=8.0))) is not None


def test_a_read_limit_that_binds_in_batches_that_are_in_time_is_named() -> None:
    sources = (Source(name="s", read_limit=ReadLimit(1000)),)
    limited = [batch(n, took=4.0, every=10.0, limited=True) for n in (1, 2, 3)]
    found = only(after(limited, sources=sources))
    assert found is not None
    assert found.kind == "read-limit"
    assert "lets 1,000 records into a batch every 10 s, 100/s," in found.sentence
    free = [batch(n, took=4.0, every=10.0, limited=n != 2) for n in (1, 2, 3)]
    assert only(after(free, sources=sources)) is None
    late = [batch(n, took=9.5, every=10.0, limited=True) for n in (1, 2, 3)]
    assert only(after(late, sources=sources)) is None


def test_a_query_that_has_ended_has_no_bottleneck() -> None:
    assert only(after([batch(1)], running=quiet(45.0, 50.0), at_s=99.0, phase="terminated")) is None

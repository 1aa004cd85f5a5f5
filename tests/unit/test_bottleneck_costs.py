"""What tasks spend their slots on instead of records, planted one at a time and named; healthy batches have no name."""

from dataclasses import replace
from typing import Any

import pytest

from elastream.core.bottleneck import Bottleneck, find_bottlenecks
from elastream.core.guards.bottleneck import BottleneckGuard
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Delay, FinishedBatch, Observation, Pool, Query, Reading, Trigger, Worker
from elastream.core.slo import Slo
from elastream.core.task_cost import TaskCost
from elastream.core.topology import Operator, Topology
from elastream.testing import asking, observation, query, size

MIB = 2.0**20


def batch(number: int, cost: TaskCost | None, *, took: float = 14.0, **more: Any) -> FinishedBatch:
    """Late for its trigger of ten seconds, with 40 slot-seconds of even tasks on four slots."""
    start = 15.0 * number
    given: dict[str, Any] = {"rows": 1000.0, "busy_s": 40.0, "driver_s": 1.0, "critical_s": 4.0, "limited": False}
    return FinishedBatch(id=number, started_s=start, ended_s=start + took, cost=cost, **{**given, **more})


def pool(now_s: float, *, cpu: float = 0.8, busy: float = 0.95, host: float = 0.5, **more: Any) -> Pool:
    """Four executors of one slot, that were seen as processes."""
    workers = tuple(
        Worker(
            id=str(name), state="ready", since_s=0.0, cpu=Reading(cpu, now_s), cpu_from=more.get("cpu_from", "proc"),
            heap_bytes=Reading(480 * MIB, now_s),
        )
        for name in range(4)
    )  # fmt: skip
    pages = more.get("pages_per_s", 0.0)
    return replace(
        observation(now_s, ready=4).pools[0], workers=workers, busy_slot_s=Reading(4 * busy * now_s, now_s),
        system_s=Reading(0.0, now_s), page_faults=Reading(pages * now_s, now_s), host_cpu=Reading(host, now_s),
        worker_memory_bytes=512 * MIB, leaving=more.get("leaving", 0),
    )  # fmt: skip


def seen(
    cost: TaskCost | None, *, batches: int = 3, took: float = 14.0, **of_pool: Any
) -> tuple[Observation, Knowledge]:
    """What is seen and known after so many batches that were like that."""
    known, now = Knowledge(), observation(0.0)
    for number in range(1, batches + 1):
        ended = batch(number, cost, took=took)
        one = replace(query(partitions=24), trigger=Trigger(interval_s=10.0), finished=ended)
        now = observation(ended.ended_s, pools=(pool(ended.ended_s, **of_pool),), queries=(one,))
        known.fold(now)
    return now, known


def named(cost: TaskCost | None, **more: Any) -> Bottleneck | None:
    found = find_bottlenecks(*seen(cost, **more))
    return found[0] if found else None


PLANTED: dict[str, tuple[TaskCost, dict[str, Any]]] = {
    "garbage-collection": (TaskCost(gc_s=18.0), {}),
    "memory": (TaskCost(gc_s=4.0, spilled_bytes=3000 * MIB), {}),
    "page-faults": (TaskCost(), {"cpu": 0.2, "pages_per_s": 900.0}),
    "state-store": (TaskCost(state_s=26.0), {}),
    "network": (TaskCost(fetch_s=24.0), {}),
    "disk": (TaskCost(write_s=24.0), {}),
    "waiting": (TaskCost(cpu_s=2.0), {"cpu": 0.06}),
    "locality": (TaskCost(unplaced_s=6.0), {"busy": 0.5}),
    "scheduler-delay": (TaskCost(scheduled_s=60.0, undispatched_s=1.0), {"busy": 0.5}),
}
HEALTHY = TaskCost(
    cpu_s=30.0, gc_s=4.0, fetch_s=2.0, write_s=3.0, scheduled_s=2.0, state_s=6.0, spilled_bytes=20 * MIB,
    unplaced_s=0.5, undispatched_s=0.3,
)  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
def test_what_was_planted_is_named_with_its_numbers(kind: str) -> None:
    cost, of_pool = PLANTED[kind]
    found = named(cost, **of_pool)
    assert found is not None
    assert found.kind == kind
    assert found.sentence.startswith("q: ")
    assert any(character.isdigit() for character in found.sentence)


@pytest.mark.parametrize("kind", PLANTED)
def test_it_takes_three_batches_and_late_ones(kind: str) -> None:
    cost, of_pool = PLANTED[kind]
    assert named(cost, batches=2, **of_pool) is None
    assert named(cost, took=8.0, **of_pool) is None


# The other two are read of executors over a window, and of no batch.
@pytest.mark.parametrize("kind", sorted(PLANTED.keys() - {"page-faults", "waiting"}))
def test_one_batch_that_was_healthy_speaks_against_it(kind: str) -> None:
    cost, of_pool = PLANTED[kind]
    now, known = seen(cost, **of_pool)
    ended = batch(4, HEALTHY)
    now = replace(now, at_s=ended.ended_s, queries=(replace(now.queries[0], finished=ended),))
    known.fold(now)
    assert find_bottlenecks(now, known) == ()


def test_healthy_batches_and_batches_of_which_nothing_was_told_have_no_name() -> None:
    assert named(HEALTHY) is None
    assert named(None) is None
    # Processors that are busy are what more executors help.
    assert named(HEALTHY, cpu=1.0, busy=1.0) is None


def test_only_slots_that_stand_free_while_tasks_wait_stop_growth() -> None:
    stops = {
        kind for kind, (cost, of_pool) in PLANTED.items() if (found := named(cost, **of_pool)) and found.stops_growth
    }
    assert stops == {"locality", "scheduler-delay"}


@pytest.mark.parametrize(("kind", "workers"), [("garbage-collection", 9), ("waiting", 9), ("locality", 4)])
def test_growth_goes_on_where_executors_may_help_and_stops_where_slots_stand_free(kind: str, workers: int) -> None:
    cost, of_pool = PLANTED[kind]
    now, known = seen(cost, **of_pool)
    now = replace(now, pools=(replace(now.pools[0], wanted=4),))
    assert size(BottleneckGuard().adjust(asking(9), now, known, None)) == workers


def test_garbage_is_told_with_its_share_and_how_full_heaps_are() -> None:
    found = named(TaskCost(gc_s=18.0))
    assert found is not None
    assert found.sentence == (
        "q: 45% of its tasks' time goes into collecting garbage, with heaps up to 94% full: more memory for each "
        "executor, or fewer records in a batch, helps more than executors do"
    )
    spilled = named(TaskCost(gc_s=4.0, spilled_bytes=3000 * MIB))
    assert spilled is not None
    assert "its tasks spill 3,000 MiB to disk in a batch, and 10% of their time" in spilled.sentence


def test_a_collector_that_is_busy_in_a_heap_with_room_wants_no_memory() -> None:
    now, known = seen(TaskCost(gc_s=18.0))
    workers = tuple(replace(one, heap_bytes=Reading(50 * MIB, now.at_s)) for one in now.pools[0].workers)
    (found,) = find_bottlenecks(replace(now, pools=(replace(now.pools[0], workers=workers),)), known)
    assert "with heaps up to 10% full: there is room, so that another collector" in found.sentence


def test_tasks_that_compute_nothing_wait_for_something_outside() -> None:
    found = named(TaskCost(cpu_s=2.0), cpu=0.06)
    assert found is not None
    assert "its tasks hold 3.8 of 4 slots and compute for 6% of that" in found.sentence
    # Others may have taken the processors; slots that sleep on purpose tell nothing; nor does what tasks alone tell.
    assert named(TaskCost(cpu_s=2.0), cpu=0.06, host=0.95) is None
    assert named(TaskCost(cpu_s=2.0), cpu=0.06, cpu_from="busy-slots") is None
    assert named(TaskCost(cpu_s=2.0), cpu=0.06, cpu_from="tasks") is None
    # What explains the waiting is no wait for something outside.
    assert named(TaskCost(fetch_s=15.0), cpu=0.06) is None


def test_free_slots_of_executors_that_leave_or_have_just_come_and_a_full_host_are_no_locality() -> None:
    cost, of_pool = PLANTED["locality"]
    assert named(cost, leaving=1, **of_pool) is None
    assert named(cost, host=0.95, **of_pool) is None
    now, known = seen(cost, **of_pool)
    fresh = replace(now.pools[0].workers[0], since_s=40.0)
    now = replace(now, pools=(replace(now.pools[0], workers=(fresh,)),))
    assert find_bottlenecks(now, known) == ()


def chained(*, held_s: float = 90.0, stateful: int = 2, late_s: float = 4.0) -> tuple[Observation, Knowledge]:
    """A query that keeps up, with results that wait for watermarks."""
    operators = tuple(Operator(name=f"aggregate-{n}", pool="executors", stateful=True) for n in range(stateful))
    one: Query = replace(
        query(), topology=Topology(operators=operators), trigger=Trigger(interval_s=10.0), slo=Slo(delay_s=30.0),
        delay=Delay(at_s=100.0, window_s=60.0, records=10.0, p50_s=1.0, p95_s=late_s, p99_s=late_s, max_s=late_s),
        watermark_utc_s=Reading(1.7e9 - held_s, 100.0), event_utc_s=Reading(1.7e9, 100.0),
    )  # fmt: skip
    now, known = observation(100.0, queries=(one,)), Knowledge()
    known.fold(now)
    return now, known


def test_results_that_wait_for_watermarks_one_after_the_other_are_told_and_stop_nothing() -> None:
    (found,) = find_bottlenecks(*chained())
    assert (found.kind, found.stops_growth) == ("watermarks", False)
    assert "2 stateful operators wait for watermarks that are 90 s behind what was read" in found.sentence
    assert find_bottlenecks(*chained(stateful=1)) == ()
    assert find_bottlenecks(*chained(held_s=20.0)) == ()
    # One that is late has other reasons to be.
    assert find_bottlenecks(*chained(late_s=60.0)) == ()


@pytest.mark.parametrize(
    ("parts", "kind", "told"),
    [
        ({"latestOffset": 9.0, "addBatch": 3.0}, "source", "for 9.0 s of a batch of 14.0 s its source is asked"),
        ({"addBatch": 13.0, "queryPlanning": 0.2}, "sink", "for 11.0 s of a batch of 14.0 s its sink is at work"),
        ({"addBatch": 5.0, "queryPlanning": 5.0}, "driver", "the driver plans and commits"),
        ({}, "driver", "the driver plans and commits"),
    ],
)
def test_what_the_driver_does_while_no_task_runs_is_told_apart(parts: dict[str, float], kind: str, told: str) -> None:
    known, now = Knowledge(), observation(0.0)
    for number in (1, 2, 3):
        ended = batch(number, HEALTHY, driver_s=12.0, busy_s=6.0, critical_s=1.0, parts_s=parts)
        one = replace(query(partitions=24), trigger=Trigger(interval_s=10.0), finished=ended)
        now = observation(ended.ended_s, ready=4, queries=(one,))
        known.fold(now)
    (found,) = find_bottlenecks(now, known)
    assert (found.kind, found.useful_slots) == (kind, 3)
    assert told in found.sentence

"""Executors as workers."""

import json
from typing import Any

import pytest

from elastream.core.observation import Pool
from elastream.spark.jvm.snapshot import Snapshot
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.host_usage import Usage
from elastream.spark.observe.pool_tracker import PoolSeen, PoolTracker

SIZES = {"slots_per_worker": 2, "min_workers": 1, "max_workers": 4, "wanted": 2, "requested": 2}


def look(**executors: dict[str, Any]) -> Snapshot:
    return parse_snapshot(json.dumps({"at_ms": 1000, "busy_ms": 4000, "executors": executors}))


def pool(
    pooling: PoolTracker,
    at_s: float,
    seen: Snapshot,
    *,
    ready: tuple[str, ...],
    leaving: tuple[str, ...] = (),
    **used: Usage,
) -> Pool:
    return pooling.pool(PoolSeen(**SIZES, ready=ready, leaving=leaving), seen, used, at_s)


def used(cpu_s: float, pid: int = 1, **more: float) -> Usage:
    return Usage(pid=pid, cpu_s=cpu_s, memory_bytes=300.0, **more)


def test_processor_use_is_the_share_of_an_executors_slots_between_two_looks() -> None:
    pooling, seen = PoolTracker(), look(a={"busy_ms": 0})
    assert pool(pooling, 10.0, seen, ready=("a",), a=used(5.0)).workers[0].cpu is None
    worker = pool(pooling, 14.0, seen, ready=("a",), a=used(9.0)).workers[0]
    assert worker.cpu is not None
    assert worker.cpu.value == pytest.approx(0.5)
    assert (worker.cpu_from, worker.memory_bytes) == ("proc", (300.0, 14.0))
    # A Python worker that was killed takes its time with it.
    assert pool(pooling, 15.0, seen, ready=("a",), a=used(3.0)).workers[0].cpu is None


def test_emulated_slots_are_judged_by_their_busy_time_and_named_so() -> None:
    pooling = PoolTracker(emulated=True)
    pool(pooling, 10.0, look(a={"busy_ms": 1000}), ready=("a",), a=used(5.0))
    worker = pool(pooling, 12.0, look(a={"busy_ms": 5000}), ready=("a",), a=used(5.0)).workers[0]
    assert worker.cpu is not None
    assert worker.cpu.value == pytest.approx(1.0)
    assert worker.cpu_from == "busy-slots"


def test_executors_elsewhere_have_no_known_use() -> None:
    worker = pool(PoolTracker(), 10.0, look(a={"host": "far", "running": 1, "other_running": 1}), ready=("a",)).workers[
        0
    ]
    assert (worker.cpu, worker.cpu_from, worker.memory_bytes) == (None, None, None)
    assert (worker.node, worker.running_tasks) == ("far", 2)


def test_ready_leaving_and_starting_are_told_apart_and_one_that_has_gone_is_none_of_them() -> None:
    pooling, seen = PoolTracker(), look(a={}, b={}, gone={"removed_ms": 900})
    now = pool(pooling, 10.0, seen, ready=("a",), leaving=("b",), gone=used(1.0), new=used(0.1))
    assert {worker.id: worker.state for worker in now.workers} == {"a": "ready", "b": "leaving", "new": "starting"}
    assert (now.ready, now.leaving) == (1, 1)
    assert now.busy_slot_s == (4.0, 10.0)


def test_time_in_the_kernel_and_page_faults_of_all_executors_never_fall_and_are_unknown_if_one_is_not_seen() -> None:
    pooling, seen = PoolTracker(), look(a={}, b={})

    def at(at_s: float, **each: Usage) -> tuple[float | None, float | None]:
        now = pooling.pool(PoolSeen(**SIZES, ready=("a", "b"), leaving=()), seen, each, at_s)
        return now.system_s and now.system_s.value, now.page_faults and now.page_faults.value

    a = used(1.0, 1, system_s=5.0, page_faults=100.0, host_cpu=0.4)
    assert at(10.0, a=a, b=used(1.0, 2, system_s=1.0, page_faults=7.0)) == (0.0, 0.0)
    more = used(2.0, 2, system_s=1.5, page_faults=9.0)
    assert at(11.0, a=used(2.0, 1, system_s=6.0, page_faults=100.0), b=more) == (1.5, 2.0)
    # A Python worker that was killed takes its own with it.
    assert at(12.0, a=used(2.0, 1, system_s=4.0, page_faults=90.0), b=more) == (1.5, 2.0)
    assert at(13.0, a=a) == (None, None)
    assert pool(PoolTracker(emulated=True), 14.0, seen, ready=("a",), a=a).host_cpu is None


def test_the_heap_of_an_executor_is_as_of_its_last_heartbeat_with_a_task() -> None:
    workers = pool(PoolTracker(), 10.0, look(a={"heap_bytes": 4096}, b={"heap_bytes": 0}), ready=("a", "b")).workers
    assert [worker.heap_bytes for worker in workers] == [(4096.0, 10.0), None]

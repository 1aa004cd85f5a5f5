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


def used(cpu_s: float) -> Usage:
    return Usage(pid=1, cpu_s=cpu_s, memory_bytes=300.0)


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

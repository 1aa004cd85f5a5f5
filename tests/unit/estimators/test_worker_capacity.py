"""Capacity of workers from processor use and throughput, and the load it is measured against."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.observation import Pool, Reading, Worker
from elastream.estimators import load
from elastream.estimators.worker_capacity import WorkerCapacity
from elastream.testing import pool, query

Use = Callable[[float], Sequence[float | None]]


def seen(at_s: float, cpu: Sequence[float | None], records: Sequence[float], since_s: float = 0.0) -> Pool:
    workers = tuple(
        Worker(
            id=str(number),
            state="ready",
            since_s=since_s,
            cpu=None if use is None else Reading(use, at_s),
            records=Reading(total, at_s),
        )
        for number, (use, total) in enumerate(zip(cpu, records, strict=True))
    )
    return replace(pool(ready=len(cpu)), workers=workers)


def watched(model: WorkerCapacity, use: Use, rps: Use, *, seconds: int = 61, per_record: float = 1.0) -> dict[str, Any]:
    """One look per second; what workers take in is `per_record` records for each one of the load."""
    state = model.start()
    totals = [0.0] * len(rps(0.0))
    for second in range(seconds):
        state = model.after(json.loads(json.dumps(state)), seen(float(second), use(second), totals), second,
                            sum(totals) / per_record)  # fmt: skip
        totals = [total + (rate or 0.0) for total, rate in zip(totals, rps(second + 1.0), strict=True)]
    return state


def test_steady_use_gives_throughput_over_use() -> None:
    model = WorkerCapacity()
    state = watched(model, lambda _: (0.5, 0.5), lambda _: (400.0, 400.0))
    assert model.capacity_rps(state, 2) == pytest.approx(1_600.0)
    assert model.capacity_rps(state, 3) == pytest.approx(2_400.0)


def test_a_line_counts_what_a_worker_uses_while_it_does_nothing() -> None:
    # Idle at 0.1, 1,000/s more per 0.1 of use: full at 9,000/s, where throughput over use would say 7,500 or less.
    def use(second: float) -> list[float]:
        return [0.3 + 0.1 * (second // 10 % 4)]

    state = watched(WorkerCapacity(), use, lambda s: [10_000 * (use(s)[0] - 0.1)])
    assert WorkerCapacity().capacity_rps(state, 1) == pytest.approx(9_000, rel=0.01)


def test_a_worker_with_fewer_keys_never_gets_as_busy_as_the_busiest() -> None:
    def use(_: float) -> tuple[float, ...]:
        return (0.8, 0.4)

    def rps(_: float) -> tuple[float, ...]:
        return (800.0, 400.0)

    assert WorkerCapacity().each(watched(WorkerCapacity(), use, rps)) == pytest.approx({"0": 1_000.0, "1": 500.0})
    code = WorkerCapacity(skew="difference")
    assert code.each(watched(code, use, rps)) == pytest.approx({"0": 1_000.0, "1": 600.0})


def test_records_of_several_operators_are_records_of_the_load_again() -> None:
    state = watched(WorkerCapacity(), lambda _: (0.5,), lambda _: (600.0,), per_record=3.0)
    assert WorkerCapacity().capacity_rps(state, 1) == pytest.approx(400.0)


def test_a_limit_below_full_use_is_respected() -> None:
    model = WorkerCapacity(full_use=0.9)
    assert model.capacity_rps(watched(model, lambda _: (0.5,), lambda _: (500.0,)), 1) == pytest.approx(900.0)


def test_a_worker_that_hardly_works_is_taken_for_busier_than_it_is() -> None:
    state = watched(WorkerCapacity(), lambda _: (0.001,), lambda _: (100.0,))
    assert WorkerCapacity().capacity_rps(state, 1) == pytest.approx(100 / 0.05)


def test_without_processor_use_or_records_nothing_is_known() -> None:
    blind = watched(WorkerCapacity(), lambda _: (None,), lambda _: (500.0,))
    idle = watched(WorkerCapacity(), lambda _: (0.1,), lambda _: (0.0,))
    assert WorkerCapacity().capacity_rps(blind, 1) is None
    assert WorkerCapacity().capacity_rps(idle, 1) is None
    assert not WorkerCapacity().is_seen(blind)
    assert WorkerCapacity().is_seen(idle)


def test_lines_start_anew_when_the_number_of_workers_changes() -> None:
    model = WorkerCapacity()
    state = watched(model, lambda _: (0.5, 0.5), lambda _: (400.0, 400.0))
    assert state["workers"]["0"]["line"][0] == 60
    assert model.is_whole(state, seen(61.0, (0.5, 0.5), (0.0, 0.0)))
    after = model.after(state, seen(61.0, (0.5,) * 3, (24_400.0, 24_400.0, 0.0)), 61.0, 48_800.0)
    assert [worker["line"][0] for worker in after["workers"].values()] == [0, 0, 0]
    assert not model.is_whole(after, seen(61.0, (0.5,) * 3, (0.0,) * 3))


def test_a_standstill_keeps_the_line_but_not_the_minute() -> None:
    model = WorkerCapacity()
    state = watched(model, lambda _: (0.5,), lambda _: (400.0,))
    down = model.after(state, seen(61.0, (None,), (24_000.0,)), 61.0, 24_000.0)
    assert (down["workers"]["0"]["ring"], down["workers"]["0"]["line"][0]) == ([], 60)


def test_young_workers_are_left_out_while_they_warm_up() -> None:
    model = WorkerCapacity(warm_up_s=120.0)
    assert not model.is_seen(watched(model, lambda _: (0.5,), lambda _: (400.0,)))


def test_load_is_added_up_over_sources_that_come_and_restart() -> None:
    state = load.start()
    for at_s, arrived, committed in ((0.0, 1_000, 900), (10.0, 2_000, 1_900), (20.0, 0, 0), (30.0, 500, 100)):
        one = query(at_s, name="a", arrived=arrived, committed=committed)
        both = (one, query(at_s, name="b", arrived=50_000, committed=0)) if at_s >= 20 else (one,)
        state = load.after(json.loads(json.dumps(state)), both, at_s, keep_s=60.0)
    assert [point[1] for point in state["points"]] == [0.0, 1_000.0, 1_000.0, 1_500.0]
    assert load.rates(state, 0.0) == (50.0, 10.0)
    assert load.rates(state, 60.0) == pytest.approx((50.0, 1_100 / 30))
    assert load.arrivals(state)[0] == (5.0, 100.0)


def test_a_silent_source_makes_the_load_unknown_until_it_speaks_again() -> None:
    state = load.after(load.start(), (query(0.0, arrived=0, committed=0),), 0.0, keep_s=60.0)
    state = load.after(state, (query(10.0, committed=0),), 10.0, keep_s=60.0)
    assert state["unknown"] == "arrival rate of q is not known"
    state = load.after(state, (query(20.0, arrived=200, committed=0),), 20.0, keep_s=60.0)
    assert (state["unknown"], load.rates(state, 60.0)) == (None, (10.0, 0.0))
    assert load.after(state, (), 30.0, keep_s=60.0)["unknown"] == "no source is known"

"""Phoebe: the larger of two sizes, by a profile that was given or is made in place."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.observation import Observation
from elastream.core.signals import Signal
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.policies.phoebe import Phoebe, Profiled, latency_s
from elastream.testing import delay, pool, size
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing

# Each worker takes in 1,000/s; latency does not depend on size.
EVEN = tuple((float(n), 800.0 * n, 1_000.0 * n, 1.0) for n in (2, 6, 12))


def flow(workers: int = 4, rps: float = 3_000.0, **doing: Any) -> Dataflow:
    return Dataflow(Doing("count", in_rps=rps, **doing), shared=workers, most=12, tick_s=5.0)


def decides(rps: float, workers: int, **settings: Any) -> Decision:
    watching = flow(workers, rps)
    watching.passes(300)
    return watching.decides(Phoebe(**{"profile": EVEN, **settings}))


def test_the_least_size_that_recovers_in_time_is_chosen_where_latency_is_the_same() -> None:
    # 40 s of 3,000/s wait when it starts again: 120,000 records; four workers need 120 s more, three never do it.
    decision = decides(3_000.0, 10)
    assert size(decision) == 4
    assert decision.evidence["by_recovery"] == 4
    assert "4 workers recover within 180 s" in decision.reason
    assert size(decides(3_000.0, 10, recovery_target_s=120.0)) == 5


def test_the_size_with_the_least_latency_wins_where_it_is_larger() -> None:
    # At six workers results are five times as fast as at two.
    profile = ((2.0, 1_000.0, 2_000.0, 5.0), (6.0, 3_000.0, 6_000.0, 1.0), (12.0, 6_000.0, 12_000.0, 1.0))
    decision = decides(1_000.0, 3, profile=profile)
    assert decision.evidence["by_recovery"] == 2
    assert 6 <= size(decision) <= 12
    assert size(decision) == decision.evidence["by_latency"]


def test_one_or_two_workers_fewer_are_not_worth_a_change() -> None:
    assert decides(3_000.0, 6).kind == "keep"
    assert "2 fewer than now is not worth a shrink" in decides(3_000.0, 6).reason
    assert size(decides(3_000.0, 7)) == 4
    assert size(decides(3_000.0, 3)) == 4


def test_where_no_size_is_enough_it_is_the_greatest() -> None:
    assert size(decides(50_000.0, 3)) == 12


def test_a_point_at_which_the_job_fell_behind_says_nothing_about_latency() -> None:
    rows = [Profiled(4, 2_000, 4_000, 1.0), Profiled(4, 5_000, 4_000, 300.0)]
    assert latency_s(rows, 4, 0.9) == pytest.approx(1.0)
    assert latency_s(rows[1:], 4, 0.9) == math.inf


def test_the_nearest_point_says_most_about_latency() -> None:
    rows = [Profiled(2, 1_000, 2_000, 1.0), Profiled(8, 7_200, 8_000, 9.0)]
    assert latency_s(rows, 2, 0.5) == pytest.approx(1.0, rel=0.01)
    assert latency_s(rows, 8, 0.9) == pytest.approx(9.0, rel=0.01)
    assert 1.0 < latency_s(rows, 4, 0.7) < 9.0


def test_what_the_profile_cost_is_told_with_every_decision() -> None:
    assert decides(3_000.0, 10, profile_cost=7.5).evidence["profiling_worker_h"] == 7.5


def test_latency_and_processor_use_are_needed_only_to_make_a_profile() -> None:
    assert {need.signal for need in Phoebe(profile=EVEN).needs} == {Signal.ARRIVED, Signal.COMMITTED}
    assert {need.signal for need in Phoebe().needs} >= {Signal.DELAY, Signal.WORKER_CPU}


def delayed(look: Observation, workers: int) -> Observation:
    query = replace(look.queries[0], delay=delay(look.at_s, 2.0))
    sized = replace(pool(ready=workers, most=12), workers=look.pools[0].workers[:workers])
    return replace(look, queries=(query,), pools=(sized,))


def test_without_a_profile_it_makes_one_in_place_and_counts_the_cost() -> None:
    watching = Dataflow(Doing("count", in_rps=3_000.0, cpu=0.5), shared=12, most=12, tick_s=15.0)
    watching.passes(600 * 6)
    planner, workers, sizes = Planner(Phoebe(), {}, EVERYTHING), 5, []
    for look in watching.looks:
        decision, troubles, _ = planner.plan(delayed(look, workers))
        assert not troubles
        workers = size(decision)
        sizes.append(workers)
        if len(sizes) % 50 == 0:
            planner.restore(json.loads(json.dumps(planner.snapshot())))
    held = [sizes[number] for number in range(0, len(sizes), 40)]
    assert held[:4] == [12, 9, 6, 3]
    rows = planner.snapshot()["memory"]["rows"]
    assert sorted(row[0] for row in rows) == [3.0, 6.0, 9.0, 12.0]
    # Half busy at 3,000/s, whatever the size.
    assert all(row[2] == pytest.approx(6_000.0) and row[3] == 2.0 for row in rows)
    assert planner.last is not None
    assert planner.last.evidence["profiling_worker_h"] == pytest.approx((12 + 9 + 6 + 3) / 6, rel=0.05)


def test_it_can_be_built_from_a_file_of_settings() -> None:
    built = policies.build("phoebe", {"profile": [[2, 1_000, 2_000, 1.5]], "recovery_target": "10m"})
    assert built == Phoebe(profile=((2.0, 1_000.0, 2_000.0, 1.5),), recovery_target_s=600.0)
    with pytest.raises(BadInput, match=r"policy phoebe: profile: found the row \(0\.0"):
        Phoebe(profile=((0.0, 1.0, 1.0, 1.0),))
    with pytest.raises(BadInput, match="must be above 0"):
        Phoebe(profile_sizes=0)
    with pytest.raises(BadInput, match="full_cpu 0 must be above 0"):
        Phoebe(full_cpu=0.0)


def test_a_profile_made_in_place_goes_by_the_busiest_worker_and_by_what_use_is_full() -> None:
    trial = {"workers": 4, "n": 2, "sums": [6_000.0, 6_000.0], "uses": {"a": [2, 1.2], "b": [2, 0.6]}, "delay_s": 1.0}
    assert Phoebe()._row(trial) == pytest.approx([4.0, 3_000.0, 5_000.0, 1.0])
    assert Phoebe(full_cpu=0.9)._row(trial) == pytest.approx([4.0, 3_000.0, 4_500.0, 1.0])
    # One that falls behind takes in what it can.
    assert Phoebe()._row({**trial, "sums": [12_000.0, 6_000.0]}) == pytest.approx([4.0, 6_000.0, 3_000.0, 1.0])

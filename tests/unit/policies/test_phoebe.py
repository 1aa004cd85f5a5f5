"""Phoebe: the larger of two sizes, by a profile that was given or is made in place."""

import math
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.needs import Need
from elastream.core.signals import Signal
from elastream.policies import policies
from elastream.policies.phoebe.models import Profiled, capacity_of, latency_s, worth_of_workers
from elastream.policies.phoebe.policy import Phoebe
from elastream.testing import size
from tests.unit.policies.observing import Dataflow, Doing

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


def test_how_long_a_recovery_takes_at_the_chosen_size_is_told_so_that_it_can_be_compared() -> None:
    # 30 s of standing still, and then 120,000 records by which 4,000/s exceed 3,000/s.
    assert decides(3_000.0, 10).evidence["recovery_s"] == pytest.approx(150.0, rel=0.02)
    assert decides(3_000.0, 6).evidence["recovery_s"] == pytest.approx(70.0, rel=0.02)
    assert decides(50_000.0, 3).evidence["recovery_s"] is None


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


def test_latency_and_how_busy_the_job_is_are_needed_only_to_make_a_profile() -> None:
    assert {need.signal for need in Phoebe(profile=EVEN).needs} == {Signal.ARRIVED, Signal.COMMITTED}
    assert Need(Signal.DELAY) in Phoebe().needs
    # Processor use serves continuous queries; batches tell by themselves how much of their time they need.
    assert Need(Signal.WORKER_CPU, stand_ins=(Signal.BATCHES, Signal.BUSY_SLOTS)) in Phoebe().needs


def test_it_can_be_built_from_a_file_of_settings() -> None:
    built = policies.build("phoebe", {"profile": [[2, 1_000, 2_000, 1.5]], "recovery_target": "10m"})
    assert built == Phoebe(profile=((2.0, 1_000.0, 2_000.0, 1.5),), recovery_target_s=600.0)
    with pytest.raises(BadInput, match=r"policy phoebe: profile: found the row \(0\.0"):
        Phoebe(profile=((0.0, 1.0, 1.0, 1.0),))
    with pytest.raises(BadInput, match="must be above 0"):
        Phoebe(profile_sizes=0)
    with pytest.raises(BadInput, match="must be above 0"):
        Phoebe(choose_s=0.0)
    with pytest.raises(BadInput, match="full_cpu 0 must be above 0"):
        Phoebe(full_cpu=0.0)


def test_what_was_profiled_is_believed_and_a_model_stays_between_what_was() -> None:
    rows = [Profiled(2, 500, 1_000, 1.0), Profiled(6, 2_000, 2_500, 1.0), Profiled(12, 4_000, 9_000, 1.0)]
    capacity = capacity_of(rows, flow().now)
    assert capacity is not None
    assert [capacity.rps(n) for n in (2, 6, 12)] == [1_000.0, 2_500.0, 9_000.0]
    sizes = [capacity.rps(n) for n in range(1, 16)]
    assert sizes == sorted(sizes)
    assert capacity_of([], flow().now) is None


def test_a_worker_that_makes_no_fewer_waves_of_tasks_counts_for_nothing() -> None:
    batched = Dataflow(Doing("count", in_rps=3_000.0, partitions=24), shared=4, tick_s=5.0)
    batched.batch(5.0)
    batched.passes(60.0)
    worth = worth_of_workers(batched.now)
    assert [worth(n) for n in (6, 11, 12, 23, 24, 30)] == pytest.approx([6.0, 8.0, 12.0, 12.0, 24.0, 24.0])
    # Two wide waves on a continuous query make no difference, and neither do tasks that nobody has counted.
    assert worth_of_workers(flow().now)(11) == 11
    rows = [Profiled(24, 1_000, 24_000, 1.0), Profiled(12, 1_000, 12_000, 1.0)]
    capacity = capacity_of(rows, batched.now)
    assert capacity is not None
    assert capacity.rps(18) == pytest.approx(12_000.0)

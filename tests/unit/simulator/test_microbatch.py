"""The rules of the micro-batch engine, one by one, in numbers that can be worked out by hand."""

from dataclasses import replace
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.core.observation import FinishedBatch, Trigger
from elastream.simulator.faults import Fault, SinkBlocked, SkewDrift, Straggler, WorkerLoss
from elastream.simulator.microbatch.engine import MicroBatchEngine
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel, SourceModel, StageModel, StateModel
from elastream.simulator.pool_model import PoolModel
from elastream.workloads.series import RateSeries

# Warm executors that come at once, and nothing random: every number below is then exact.
POOL = PoolModel(initial_workers=4, start_s=5.0, start_spread=0.0, cold_s=0.0, leave_s=1.0)


def stage(name: str = "s", after: str = "a", **other: Any) -> StageModel:
    defaults: dict[str, Any] = {"partitions": 4, "slot_s_per_record": 1e-3, "task_s": 0.0}
    return StageModel(name=name, after=(after,), **{**defaults, **other})


def query(*stages: StageModel, **other: Any) -> QueryModel:
    defaults: dict[str, Any] = {"name": "q", "plan_s": 0.0, "commit_s": 0.0, "noise": 0.0}
    defaults["sources"] = (SourceModel(name="a"),)
    return QueryModel(stages=stages or (stage(),), **{**defaults, **other})


def engine(
    *queries: QueryModel, rps: float = 1_000.0, pool: PoolModel = POOL, faults: tuple[Fault, ...] = ()
) -> MicroBatchEngine:
    model = ApplicationModel(name="m", queries=queries or (query(),), pool=pool)
    curve = RateSeries.constant(rps, duration_s=600.0)
    return MicroBatchEngine(model, {q.name: curve for q in model.queries}, seed=1, faults=faults)


def finished(run: MicroBatchEngine, to_s: float, number: int = 0) -> FinishedBatch:
    run.advance(to_s)
    batch = run.queries[number].finished
    assert batch is not None
    return batch


def test_a_batch_takes_its_work_over_the_slots() -> None:
    # 10,000 rows of 1 ms on 4 slots.
    batch = finished(engine(), 14.0)
    assert (batch.started_s, batch.ended_s) == pytest.approx((10.0, 12.5))


def test_the_driver_adds_its_time_before_and_after_the_tasks() -> None:
    batch = finished(engine(query(plan_s=0.5, commit_s=0.25)), 14.0)
    assert batch.duration_s == pytest.approx(3.25)
    assert batch.parts_s == pytest.approx({"plan": 0.5, "tasks": 2.5, "commit": 0.25})


def test_more_tasks_than_slots_run_in_waves() -> None:
    # 5 tasks of 2 s on 4 slots: two waves.
    batch = finished(engine(query(stage(partitions=5))), 18.0)
    assert batch.duration_s == pytest.approx(4.0)


def test_every_task_costs_something_whatever_it_reads() -> None:
    batch = finished(engine(query(stage(partitions=8, task_s=0.5))), 18.0)
    assert batch.duration_s == pytest.approx(2.5 + 2 * 0.5)


def test_the_next_stage_waits_for_the_slowest_task_of_the_one_before() -> None:
    stages = (stage("one", skew=2.0), stage("two", after="one", slot_s_per_record=1e-4))
    batch = finished(engine(query(*stages)), 18.0)
    # The largest task has twice the mean of 2.5 s; only then the second stage begins.
    assert batch.duration_s == pytest.approx(5.0 + 0.25)


def test_selectivity_decides_what_reaches_the_next_stage() -> None:
    run = engine(query(stage("one", records_out=0.5), stage("two", after="one")))
    run.advance(18.0)
    assert run.queries[0].totals["one"].records_in == pytest.approx(10_000)
    assert run.queries[0].totals["two"].records_in == pytest.approx(5_000)


def test_busy_time_is_the_work_and_not_the_waiting() -> None:
    run = engine(query(stage(partitions=5)))
    batch = finished(run, 18.0)
    assert batch.busy_s == pytest.approx(10.0)
    assert sum(worker.busy_slot_s for worker in run.cluster.workers) == pytest.approx(10.0)


def test_a_late_batch_is_followed_at_once_and_an_early_one_at_the_boundary() -> None:
    early = finished(engine(), 29.0)
    assert (early.id, early.started_s) == (1, 20.0)
    run = engine(query(stage(slot_s_per_record=5e-3)))
    # 50 slot-seconds on 4 slots end at 22.5, past the boundary of 20.
    assert finished(run, 23.0).ended_s == pytest.approx(22.5)
    assert finished(run, 39.0).started_s == pytest.approx(22.5)


def test_as_fast_as_possible_starts_the_next_batch_when_one_ends() -> None:
    run = engine(query(trigger=Trigger(interval_s=None), plan_s=1.0))
    run.advance(60.0)
    batch = finished(run, 60.0)
    # A fixed point: rows = 1000 d, d = 1 s + rows x 1 ms / 4, so d = 1.33 s.
    assert batch.duration_s == pytest.approx(4 / 3, rel=0.05)


def test_a_read_limit_cuts_the_batch_and_says_so() -> None:
    run = engine(query(sources=(SourceModel(name="a", read_limit=2_000),)))
    batch = finished(run, 14.0)
    assert (batch.rows, batch.limited) == (2_000, True)


def test_four_slots_on_one_worker_equal_one_slot_on_four() -> None:
    wide = replace(POOL, slots_per_worker=4, initial_workers=1)
    assert finished(engine(pool=wide), 14.0).duration_s == finished(engine(), 14.0).duration_s


def test_partitions_are_the_ceiling_of_useful_slots() -> None:
    many = replace(POOL, initial_workers=12)
    assert finished(engine(pool=many), 14.0).duration_s == pytest.approx(2.5)


def test_two_queries_share_the_slots() -> None:
    run = engine(query(name="q"), query(name="r"))
    alone = finished(engine(), 19.0).duration_s
    assert finished(run, 19.0, 0).duration_s == pytest.approx(alone)
    assert finished(run, 19.0, 1).duration_s == pytest.approx(2 * alone)


def test_a_new_worker_starts_late_and_takes_waiting_tasks_in_the_middle_of_a_batch() -> None:
    run = engine(query(stage(partitions=8)), pool=replace(POOL, initial_workers=1))
    run.advance(9.0)
    run.resize(2)
    # 8 tasks of 1.25 s; one slot from 10 s, a second one from 14 s: from 15 s on both take turns.
    assert finished(run, 19.0).ended_s == pytest.approx(17.5)


def test_a_cold_worker_is_slow_at_first() -> None:
    cold = replace(POOL, cold_s=100.0, cold_factor=2.0, start_s=0.0, initial_workers=1)
    run = engine(query(stage(partitions=2)), pool=cold)
    run.advance(5.0)
    run.resize(2)
    # One warm task of 5 s, one cold one of 10 s.
    assert finished(run, 30.0).duration_s == pytest.approx(10.0)


def test_a_leaving_worker_finishes_its_tasks_and_takes_no_new_ones() -> None:
    run = engine(query(stage(partitions=8)))
    run.advance(10.5)
    run.resize(2)
    assert len(run.cluster.in_state("leaving")) == 2
    # The first wave of four tasks of 1.25 s ends on all four, the other four tasks run two by two.
    assert finished(run, 20.0).duration_s == pytest.approx(1.25 + 2 * 1.25)
    assert run.queries[0].finished is not None
    assert len(run.cluster.workers) == 2


def test_idle_workers_leave_before_busy_ones_and_preferred_ones_before_all() -> None:
    run = engine(query(stage(partitions=2)))
    run.advance(10.5)
    busy = {worker.id for worker in run.cluster.workers if worker.running}
    run.resize(3)
    assert {worker.id for worker in run.cluster.in_state("leaving")}.isdisjoint(busy)
    run.resize(2, leave_first=sorted(busy))
    assert {worker.id for worker in run.cluster.in_state("leaving")} & busy == {min(busy)}


def test_tasks_of_a_lost_worker_run_again() -> None:
    run = engine(faults=(WorkerLoss(at_s=11.0),))
    # The lost task starts over as soon as a slot is free, at 12.5 s.
    assert finished(run, 16.0).ended_s == pytest.approx(15.0)
    assert run.queries[0].sources[0].committed == 10_000


def test_a_straggler_holds_up_the_whole_stage() -> None:
    run = engine(faults=(Straggler(at_s=5.0, for_s=60.0, factor=3.0),))
    assert finished(run, 19.0).duration_s == pytest.approx(7.5)


def test_the_largest_task_drifts_and_then_stays_as_large() -> None:
    # Each of four tasks takes 2.5 s; half-way to three times the mean the largest one takes 5 s, and in the end 7.5 s.
    run = engine(faults=(SkewDrift(at_s=0.0, for_s=20.0, to=3.0),))
    assert finished(run, 19.0).duration_s == pytest.approx(5.0)
    assert finished(run, 29.0).duration_s == pytest.approx(7.5)
    assert finished(run, 59.0).duration_s == pytest.approx(7.5)


def test_workers_that_hinder_each_other_do_less_from_some_size_on() -> None:
    hindered = query(stage(partitions=16, crosstalk=0.02))
    times = [finished(engine(hindered, pool=replace(POOL, initial_workers=n)), 19.9).duration_s for n in (4, 8, 16)]
    # 10 s of work over n slots, times 1 + 0.02 n (n - 1).
    assert times == pytest.approx([2.5 * 1.24, 1.25 * 2.12, 0.625 * 5.8])


def test_a_fault_comes_again_and_again_within_a_run() -> None:
    often = WorkerLoss(at_s=60.0, every_s=300.0, workers=2)
    assert [one.at_s for one in often.occurrences(900.0)] == [60.0, 360.0, 660.0]
    assert {one.workers for one in often.occurrences(900.0)} == {2}
    once = WorkerLoss(at_s=60.0)
    assert once.occurrences(900.0) == [once]
    with pytest.raises(BadInput, match="more than 0"):
        WorkerLoss(at_s=60.0, every_s=0.0)
    with pytest.raises(BadInput, match="times"):
        WorkerLoss(at_s=0.0, every_s=1e-6).occurrences(900.0)


def test_a_blocked_sink_lets_no_batch_finish() -> None:
    run = engine(faults=(SinkBlocked(at_s=11.0, for_s=30.0),))
    run.advance(40.0)
    assert run.queries[0].finished is None
    assert finished(run, 41.5).ended_s == pytest.approx(41.0)


def test_state_stays_where_it_is_until_waiting_takes_too_long() -> None:
    # 8 partitions on 2 workers; two more come later.
    state = StateModel(bytes_per_record=0.0)
    patient = query(stage(partitions=8, stateful=True), state=state, locality_wait_s=60.0)
    eager = replace(patient, locality_wait_s=0.0)
    times = {}
    for name, model in (("patient", patient), ("eager", eager)):
        run = engine(model, pool=replace(POOL, initial_workers=2, start_s=0.0))
        run.advance(18.0)
        run.resize(4)
        times[name] = finished(run, 29.0).duration_s
    assert times["patient"] == pytest.approx(5.0)
    assert times["eager"] == pytest.approx(2.5)


def test_slots_are_refused_for_so_long_and_no_longer_however_many_tasks_begin_meanwhile() -> None:
    # Six tasks of a second, all of them at home on one worker; two more come. After three of them the rest is spread:
    # a batch took x0.65 of the time on real executors.
    model = query(stage(partitions=6, stateful=True), state=StateModel(bytes_per_record=0.0), locality_wait_s=3.0)
    run = engine(model, rps=600.0, pool=replace(POOL, initial_workers=1, start_s=0.0))
    assert finished(run, 18.0).duration_s == pytest.approx(6.0)
    run.resize(3)
    assert finished(run, 29.0).duration_s == pytest.approx(4.0)


def test_moved_state_must_be_loaded() -> None:
    # 10,000 records of 1,000 bytes in 4 partitions: 2.5 MB each, at 1 MB/s.
    state = StateModel(bytes_per_record=1_000.0, reload_bytes_per_s=1e6)
    model = query(stage(partitions=4, stateful=True), state=state, locality_wait_s=0.0)
    run = engine(model, pool=replace(POOL, initial_workers=2, start_s=0.0))
    run.advance(18.0)
    run.resize(4)
    # Two partitions stay (2.5 s of work), two move and pay 2.5 s more.
    assert finished(run, 29.0).duration_s == pytest.approx(5.0)
    # From then on they are at home.
    assert finished(run, 39.0).duration_s == pytest.approx(2.5)


def test_noise_is_seeded() -> None:
    noisy = query(noise=0.3)

    def durations(seed: int) -> list[float]:
        model = ApplicationModel(name="m", queries=(noisy,), pool=POOL)
        run = MicroBatchEngine(model, {"q": RateSeries.constant(1_000.0, duration_s=600.0)}, seed=seed)
        found = []
        for at_s in range(19, 100, 10):
            found.append(finished(run, float(at_s)).duration_s)
        return found

    assert durations(1) == durations(1)
    assert durations(1) != durations(2)
    assert len(set(durations(1))) > 1


def test_the_first_task_of_a_stage_takes_longer_on_a_worker_that_was_started() -> None:
    pool = replace(POOL, start_s=0.0, initial_workers=1)
    run = engine(query(stage(partitions=2, first_task_s=3.0)), pool=pool)
    run.advance(5.0)
    run.resize(2)
    # A warm task of 5 s beside a first one of 8 s; in the next batch both are warm.
    assert finished(run, 19.0).duration_s == pytest.approx(8.0)
    assert finished(run, 29.0).duration_s == pytest.approx(5.0)


def test_tasks_on_shared_cores_take_longer_but_for_what_waits() -> None:
    shared = replace(POOL, cores=2)
    alone = finished(engine(), 19.0).duration_s
    assert finished(engine(pool=shared), 19.0).duration_s == pytest.approx(2 * alone)
    waiting = engine(query(stage(waiting_share=1.0, task_s=0.0)), pool=shared)
    assert finished(waiting, 19.0).duration_s == pytest.approx(alone)


def test_first_tasks_of_several_workers_at_once_share_the_cores() -> None:
    pool = replace(POOL, start_s=0.0, initial_workers=1, cores=1)
    run = engine(query(stage(partitions=3, first_task_s=3.0, waiting_share=1.0)), pool=pool)
    run.advance(5.0)
    run.resize(3)
    # Tasks of 10/3 s that wait, and two first ones on one core.
    assert finished(run, 19.9).duration_s == pytest.approx(10 / 3 + 2 * 3.0)


def test_at_the_upper_bound_a_worker_starts_only_when_who_leaves_is_gone() -> None:
    for held, ready in ((True, 3), (False, 4)):
        run = engine(pool=replace(POOL, max_workers=4, leave_s=20.0, start_s=1.0, leavers_hold_room=held))
        run.resize(3)
        run.resize(4)
        run.advance(5.0)
        assert len(run.cluster.in_state("ready")) == ready


def test_the_first_batch_is_planned_when_the_query_has_started() -> None:
    assert finished(engine(query(first_trigger_s=1.5)), 9.0).started_s == pytest.approx(1.5)


def test_aligned_batches_begin_at_their_phase() -> None:
    begun = finished(engine(query(phase_s=3.25)), 29.0).started_s
    assert begun % 10.0 == pytest.approx(3.25)


def test_batches_begin_anywhere_between_two_multiples_where_they_are_not_aligned() -> None:
    begun = []
    for seed in range(8):
        model = ApplicationModel(name="m", queries=(query(is_aligned=False),), pool=POOL)
        run = MicroBatchEngine(model, {"q": RateSeries.constant(1_000.0, duration_s=60.0)}, seed=seed)
        first, second = finished(run, 14.0), finished(run, 24.0)
        assert second.started_s - first.started_s == pytest.approx(10.0)
        begun.append(first.started_s)
    assert max(begun) - min(begun) > 5.0

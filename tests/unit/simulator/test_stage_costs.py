"""Costs of a stage are found again in what a known truth would have made it busy with."""

import pytest

from elastream.simulator.stage_costs import StageSteps, fit_stage, fit_stages

RECORDS = [1_000.0, 4_000.0, 2_000.0, 3_000.0, 1_500.0, 2_500.0, 3_500.0, 500.0, 4_500.0, 1_200.0, 2_200.0, 3_200.0]
RUNNING = [2.0, 6.0, 3.0, 6.0, 2.0, 4.0, 6.0, 1.0, 6.0, 3.0, 4.0, 2.0]
WAITING_S, FIXED_S, FIRST_S, CORES, TASKS = 0.004, 0.05, 1.5, 2, 6


def steps(*, cores: int | None = CORES, new: tuple[int, ...] = ()) -> StageSteps:
    """A slot that waits for each record, tasks that cost something of a core, and workers whose first task is long."""
    crowd = [1.0 if cores is None else max(1.0, running / cores) for running in RUNNING]
    fresh = [float(number in new) * 3.0 for number in range(len(RECORDS))]
    busy_s = [
        WAITING_S * records + FIXED_S * TASKS * each + FIRST_S * workers * (1.0 if cores is None else workers / cores)
        for records, each, workers in zip(RECORDS, crowd, fresh, strict=True)
    ]
    return StageSteps(
        records=RECORDS, batches=[1.0] * len(RECORDS), busy_s=busy_s, running=RUNNING, new_workers=fresh
    )  # fmt: skip


def test_work_fixed_costs_and_what_is_new_are_told_apart() -> None:
    fit = fit_stage(steps(cores=None, new=(4, 9)))
    assert fit.per_record_s == pytest.approx(WAITING_S, rel=1e-6)
    assert fit.per_batch_s == pytest.approx(FIXED_S * TASKS, rel=1e-6)
    assert fit.first_task_s == pytest.approx(FIRST_S, rel=1e-6)
    assert fit.waiting_share == 0.0
    assert fit.noise == pytest.approx(0.0, abs=1e-9)


def test_cores_that_all_workers_share_are_found_and_what_waits_needs_none() -> None:
    cores, costs = fit_stages({("q", "read"): steps(new=(4, 9))}, most_cores=6)
    fit = costs["q", "read"]
    assert cores == CORES
    assert fit.per_record_s == pytest.approx(WAITING_S, rel=1e-6)
    assert fit.waiting_share == pytest.approx(1.0)
    assert fit.per_batch_s == pytest.approx(FIXED_S * TASKS, rel=1e-6)
    assert fit.first_task_s == pytest.approx(FIRST_S, rel=1e-6)


def test_where_each_slot_has_a_core_of_its_own_none_is_shared() -> None:
    cores, _ = fit_stages({("q", "read"): steps(cores=None)}, most_cores=6)
    assert cores is None


def test_what_a_new_worker_runs_first_in_the_next_batch_is_no_work_of_that_batch() -> None:
    """Three workers ran a task of another stage in step 4, and their first of this one in step 5."""
    late = steps(cores=None)
    busy_s = [spent + (FIRST_S * 3 if number == 5 else 0.0) for number, spent in enumerate(late.busy_s)]
    new = [3.0 if number == 4 else 0.0 for number in range(len(RECORDS))]
    fit = fit_stage(StageSteps(records=RECORDS, batches=late.batches, busy_s=busy_s, new_workers=new))
    assert fit.per_record_s == pytest.approx(WAITING_S, rel=1e-6)
    assert fit.first_task_s == pytest.approx(FIRST_S, rel=1e-6)

"""Runs on executors that never were: a truth that is simulated stands in for them, and is kept as they would be."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from elastream.core.protocols import Journal
from elastream.evaluation.curve import StepCurve
from elastream.experiments.experiment import ExecutorBounds, SimulatedModel, parse_experiment
from elastream.experiments.fidelity.figures import LoadFigures
from elastream.experiments.fidelity.study import SPARK, FidelityResult
from elastream.experiments.fidelity.trials import find_groups, find_twin
from elastream.experiments.fidelity.verdict import judge
from elastream.experiments.plan.matrix import Case, Matrix, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.run import Run
from elastream.experiments.runner import execution
from elastream.experiments.runner.runner import Here, find_status, run_cases
from elastream.experiments.simulated import set_up_simulation
from elastream.experiments.store.folder import RunStore
from elastream.workloads.series import RateSeries

PLAN = """\
about: A truth that is known.
what:
  job: {made: deduplicate}
  workload: {wave: "cosine(3k..12k, period=2m)", spike: "4k + spike(9k, at=90s, for=40s)"}
  slo: 20s
how:
  platform: spark
  policy: ["threshold(metric=busy, interval=6s, window=10s)", "lag-proportional(interval=2s, window=10s)"]
  executors: 1..6
  trigger: 5s
  tick: 2s
  duration: 4m
  live: {capacity: 2000}
exclude:
  - {where: {workload: spike, policy: threshold}, why: one of both is enough}
calibrate: {workload: wave, policy: lag-proportional}
"""
TRUTH = """\
name: truth
pool: {min_workers: 1, max_workers: 6, start_s: 4, start_spread: 0.2, cold_s: 0, leave_s: 3}
queries:
  - name: made
    trigger: 5s
    noise: 0.05
    plan_s: 0.2
    locality_wait_s: 0.1
    sources: [{name: events, partitions: 6}]
    stages:
      - {name: read, after: events, partitions: 6, slot_s_per_record: 0.0004, task_s: 0.05, first_task_s: 2}
      - {name: count, after: read, partitions: 6, slot_s_per_record: 0.00002, task_s: 0.1, stateful: true}
"""


def make_plan(folder: Path, text: str = PLAN) -> Path:
    """A plan in a file, and what is true beside it."""
    (folder / "plan.yaml").write_text(text, encoding="utf-8")
    (folder / "truth.yaml").write_text(TRUTH, encoding="utf-8")
    return folder / "plan.yaml"


def read_matrix(plan: Path) -> Matrix:
    """Its experiments."""
    return multiply(read_plan(plan))


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """From now on what is true is simulated wherever a run on executors is asked for."""
    truth, real = folder / "truth.yaml", execution._run

    def run(task: execution.Task, what: Mapping[str, Any], work: Path, logs: Sequence[Journal]) -> Run:
        experiment = parse_experiment(what)
        if isinstance(experiment.subject, SimulatedModel):
            return real(task, what, work, logs)
        twin = find_twin(Case(experiment, {}), truth, 1_000).experiment
        return set_up_simulation(twin).run(folder=work / "run", journals=logs)

    monkeypatch.setattr(execution, "_run", run)


def record(plan: Path, out: Path) -> None:
    """Run all that a plan would run on executors."""
    matrix = read_matrix(plan)
    store = RunStore(out / SPARK).open()
    try:
        store.keep_plan(matrix.plan)
        statuses = find_status(store, matrix.cases, keep_journal=True)
        _, failed = run_cases(store, statuses, Here(), plan="plan", keep_journal=True)
        assert failed == 0
    finally:
        store.close()


def make_result(folder: Path) -> FidelityResult:
    """A result that was made up: a run of 40 s that is judged, and the one that was calibrated on."""
    [group] = find_groups(read_matrix(make_plan(folder)))
    load, known = RateSeries.constant(150.0, duration_s=40.0), _figures(0.02, 30.0)
    verdict = judge(
        "spike, lag-proportional", group, ("wave, lag-proportional", known), _figures(0.04, 20.0),
        [_figures(0.05, delay_s) for delay_s in (21.0, 22.0, 23.0)],
        load=load, bounds=ExecutorBounds(min=1, max=6),
    )  # fmt: skip
    own = judge(
        "wave, lag-proportional", group, ("wave, lag-proportional", known), known, [known],
        load=load, bounds=ExecutorBounds(min=1, max=6),
    )  # fmt: skip
    return FidelityResult(
        name="plan", about="", folder=folder, groups=(group,), verdicts=(verdict,), own=(own,), lacking=()
    )  # fmt: skip


def _figures(worker_hours: float, delay_s: float) -> LoadFigures:
    curve = StepCurve([0.0, 40.0], [2.0, 2.0])
    return LoadFigures(
        duration_s=40.0, mean_rps=200.0, worker_hours=worker_hours, delay_p95_s=delay_s, mean_backlog=1_234.0,
        changes=3, wanted=curve, ready=curve, backlog=curve, delay=curve,
    )  # fmt: skip

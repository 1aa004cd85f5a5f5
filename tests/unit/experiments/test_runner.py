"""Experiments of a plan: run once, kept whole, gone on with, and found again."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.experiments.plan.matrix import Case, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.execution import Done, Task, execute
from elastream.experiments.runner.runner import Here, Processes, find_status, run_cases
from elastream.experiments.store.folder import PARTIAL, RUNS, RunStore, StoreError
from elastream.experiments.store.foreign_code import find_foreign_code
from elastream.experiments.store.identity import identify
from elastream.experiments.store.tables import DecisionLog
from elastream.testing import observation, pool
from tests.unit.journal_samples import tick

PLAN = """\
what: {model: windowed-count, workload: {wave: "cosine(10k..40k, period=10m)"}, slo: 60s}
how: {policy: [threshold, ds2], executors: 1..12, duration: 10m, repetitions: 2}
"""


@pytest.fixture
def cases(tmp_path: Path) -> Sequence[Case]:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    return multiply(read_plan(tmp_path / "plan.yaml")).cases


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    store = RunStore(tmp_path / "out").open()
    yield store
    store.close()


def ran(store: RunStore, cases: Sequence[Case]) -> int:
    number, failed = run_cases(store, find_status(store, cases), Here(), plan="test")
    assert failed == 0
    return number


def queried(query: str) -> list[tuple[Any, ...]]:
    """What another tool reads in the tables."""
    rows = duckdb.sql(query)
    assert rows is not None
    return rows.fetchall()


def test_what_is_finished_is_not_run_again(store: RunStore, cases: Sequence[Case]) -> None:
    assert ran(store, cases[:3]) == 3
    assert [one.state for one in find_status(store, cases)] == ["finished"] * 3 + ["missing"]
    assert ran(store, cases) == 1
    assert ran(store, cases) == 0


def test_runs_of_older_code_are_stale_and_run_again(
    store: RunStore, cases: Sequence[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(store, cases[:1])
    monkeypatch.setattr("elastream.experiments.store.identity.digest_code", lambda platform, policy: "newer")
    assert [one.state for one in find_status(store, cases[:2])] == ["stale", "missing"]
    assert ran(store, cases[:1]) == 1


def test_a_damaged_table_is_noticed_and_run_again(store: RunStore, cases: Sequence[Case]) -> None:
    ran(store, cases[:2])
    for case, name in zip(cases, ("summary", "ticks"), strict=False):
        file = store.path(identify(case.experiment)) / f"{name}.parquet"
        file.write_bytes(file.read_bytes()[:-40])
    assert [one.state for one in find_status(store, cases[:2])] == ["damaged", "damaged"]
    assert ran(store, cases[:2]) == 2
    assert [one.state for one in find_status(store, cases[:2])] == ["finished", "finished"]


def test_one_that_fails_is_a_row_with_its_error_and_the_others_run(
    store: RunStore, cases: Sequence[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    from elastream.experiments.runner import execution

    real = execution._run

    def broken(task: Task, what: object, work: Path, log: object) -> object:
        if task.labels["policy"] == "ds2":
            raise ZeroDivisionError("nothing to divide by")
        return real(task, what, work, log)  # type: ignore[arg-type]

    monkeypatch.setattr(execution, "_run", broken)
    told: list[Done] = []
    assert run_cases(store, find_status(store, cases), Here(), plan="test", tell=told.append) == (4, 2)
    assert [done.error for done in told if done.error] == ["ZeroDivisionError: nothing to divide by"] * 2
    errors = {run.error for run in store.runs()}
    assert errors == {None, "ZeroDivisionError: nothing to divide by"}
    monkeypatch.undo()
    assert ran(store, cases) == 2


def test_several_processes_give_the_values_of_one(store: RunStore, cases: Sequence[Case], tmp_path: Path) -> None:
    ran(store, cases)
    other = RunStore(tmp_path / "other").open()
    assert run_cases(other, find_status(other, cases), Processes(2), plan="test") == (4, 0)
    other.close()
    query = "SELECT * EXCLUDE (took_s) FROM read_parquet('{}/runs/*/summary.parquet') ORDER BY experiment"
    found = [queried(query.format(folder)) for folder in (store.folder, other.folder)]
    assert found[0] == found[1]
    assert len(found[0]) == 4


def test_more_tasks_than_processes_can_hold_are_all_run(tmp_path: Path, cases: Sequence[Case]) -> None:
    # Handed out a few at a time: none may be lost between two handfuls.
    class Counted(Processes):
        def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
            return super().run(tasks)

    tasks = []
    (tmp_path / RUNS).mkdir()
    for number in range(11):
        task = Task.of(
            cases[0], identify(cases[0].experiment), "test", tmp_path / RUNS / f"{number}", keep_journal=False
        )
        tasks.append(task)
    assert len(list(Counted(2).run(tasks))) == 11
    assert len(list((tmp_path / RUNS).iterdir())) == 11


def test_the_tables_of_a_run_agree_with_each_other(store: RunStore, cases: Sequence[Case]) -> None:
    ran(store, cases[:1])
    folder = store.path(identify(cases[0].experiment))
    moments = f"SELECT count(*), max(ready), sum(paid) * 5.0 / 3600 FROM '{folder}/ticks.parquet' WHERE t_s < 600"
    [(ticks, most, hours)] = queried(moments)
    run = store.find(identify(cases[0].experiment))
    assert run is not None
    row = run.numbers
    assert row["ticks"] == ticks + 1
    assert row["max_workers"] == most
    assert row["worker_hours_paid"] == pytest.approx(hours)
    changes = f"SELECT count(*) FROM '{folder}/decisions.parquet' WHERE workers_before <> workers_after"
    assert queried(changes) == [(row["actions"],)]
    assert run.document["labels"]["policy"] == "threshold"
    [(pools, evidence)] = queried(f"SELECT pools, evidence FROM '{folder}/decisions.parquet' LIMIT 1")
    assert [pool["pool"] for pool in pools] == ["executors"]
    assert isinstance(json.loads(evidence), dict)


def test_a_decision_that_moves_workers_from_one_pool_to_another_is_a_row_of_its_own() -> None:
    log = DecisionLog()
    now = replace(observation(), pools=(pool("a", ready=2), pool("b", ready=3)))
    for number, sizes in enumerate(({"a": 2, "b": 3}, {"a": 3, "b": 2}, {"a": 3, "b": 2})):
        log.write(tick(number, now, Decision(allocation=sizes, reason="because", evidence={"rate": 1.5})))
    assert [row["pools"] for row in log.rows] == [
        [{"pool": "a", "workers": 2}, {"pool": "b", "workers": 3}],
        [{"pool": "a", "workers": 3}, {"pool": "b", "workers": 2}],
    ]
    assert log.rows[1]["workers_before"] == log.rows[1]["workers_after"] == 5
    assert log.rows[0]["evidence"] == '{"rate": 1.5}'


def test_decisions_are_told_in_seconds_since_the_first_moment_as_moments_are() -> None:
    """The clock of a live run is that of its machine."""
    log = DecisionLog()
    for at_s, size in ((5_000.0, 2), (5_010.0, 3)):
        now = replace(observation(), at_s=at_s)
        log.write(tick(0, now, Decision(allocation={"executors": size}, reason="because")))
    assert [row["t_s"] for row in log.rows] == [0.0, 10.0]


def test_a_run_without_a_part_is_damaged_told_and_run_again(store: RunStore, cases: Sequence[Case]) -> None:
    ran(store, cases[:1])
    file = store.path(identify(cases[0].experiment)) / "experiment.json"
    file.unlink()
    [status] = find_status(store, cases[:1])
    assert status.run is not None
    assert (status.state, status.run.error) == ("damaged", f"{file} is damaged")
    assert ran(store, cases[:1]) == 1


def test_who_wants_journals_gets_them_of_what_is_finished_too(store: RunStore, cases: Sequence[Case]) -> None:
    ran(store, cases[:1])
    [status] = find_status(store, cases[:1], keep_journal=True)
    assert status.state == "without journal"
    run_cases(store, [status], Here(), plan="test", keep_journal=True)
    assert find_status(store, cases[:1], keep_journal=True)[0].state == "finished"


def test_code_of_others_counts_with_what_it_imports_from_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside_it.py").write_text("SIZE = 3\n", encoding="utf-8")
    (tmp_path / "of_others.py").write_text(
        "from elastream.policies.fixed import Fixed\nimport beside_it\nclass Mine(Fixed):\n    pass\n", encoding="utf-8"
    )
    (tmp_path / "plan.yaml").write_text(
        "what: {model: enrich, workload: 1k}\nhow: {policy: 'of_others:Mine(workers=2)', duration: 10m}\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    [case] = multiply(read_plan(tmp_path / "plan.yaml")).cases
    assert find_foreign_code(case.experiment) == (tmp_path / "beside_it.py", tmp_path / "of_others.py")
    before = identify(case.experiment)
    (tmp_path / "beside_it.py").write_text("SIZE = 4\n", encoding="utf-8")
    after = identify(case.experiment)
    assert (before.experiment, before.code != after.code) == (after.experiment, True)


KILLED = """
import multiprocessing, sys
from pathlib import Path
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.runner import Processes, find_status, run_cases
from elastream.experiments.store.folder import RunStore

def tell(done):
    print(*(one.pid for one in multiprocessing.active_children()), flush=True)

if __name__ == "__main__":
    store = RunStore(Path(sys.argv[2])).open()
    cases = multiply(read_plan(Path(sys.argv[1]))).cases
    run_cases(store, find_status(store, cases), Processes(2), plan="test", tell=tell)
"""


def test_processes_end_with_the_one_that_runs_the_plan_even_if_it_is_killed(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("repetitions: 2", "repetitions: 1000"), encoding="utf-8")
    (tmp_path / "run.py").write_text(KILLED, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "run.py"), str(tmp_path / "plan.yaml"), str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            workers = [os.pidfd_open(int(pid)) for pid in running.stdout.readline().split()]
        finally:
            running.kill()
    ended = [bool(select.select([worker], [], [], 60)[0]) for worker in workers]
    for worker, has_ended in zip(workers, ended, strict=True):
        if not has_ended:
            signal.pidfd_send_signal(worker, signal.SIGKILL)
        os.close(worker)
    assert ended == [True, True]


def test_two_runners_do_not_share_a_folder(store: RunStore) -> None:
    with pytest.raises(BadInput, match="writes here"):
        RunStore(store.folder).open()


def test_half_a_run_is_never_left_and_what_was_left_goes(store: RunStore, cases: Sequence[Case]) -> None:
    half = store.folder / RUNS / f"{PARTIAL}x-1"
    half.mkdir()
    store.close()
    store.open()
    assert not half.exists()
    place = store.path(identify(cases[0].experiment))
    shutil.rmtree(store.folder / RUNS)
    (store.folder / RUNS).write_text("a file where a folder should be", encoding="utf-8")
    with pytest.raises((StoreError, OSError)):
        execute(Task.of(cases[0], identify(cases[0].experiment), "test", place, keep_journal=False))


def test_equal_experiments_have_equal_names_wherever_their_files_lie(tmp_path: Path) -> None:
    text = "t_seconds,rate\n0,5\n60,9\n"
    found = []
    for name, content in (("here", text), ("there", text), ("changed", text.replace("9", "8"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "load.csv").write_text(content, encoding="utf-8")
        (tmp_path / name / "plan.yaml").write_text(
            "what: {model: enrich, traces: load.csv}\nhow: {policy: threshold, duration: 10m}\n", encoding="utf-8"
        )
        [case] = multiply(read_plan(tmp_path / name / "plan.yaml")).cases
        found.append(identify(case.experiment))
    assert found[0] == found[1] != found[2]

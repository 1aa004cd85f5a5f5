"""A plan as a Spark job: the values of the other ways to run it, whatever happens on executors."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pytest

from elastream.core import module_search
from elastream.experiments.plan.matrix import Case, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.execution import Done, Task
from elastream.experiments.runner.runner import Here, Processes, RunnerBackend, find_status, run_cases
from elastream.experiments.store.folder import PARTIAL, RUNS, RunStore
from elastream.experiments.store.identity import identify
from elastream.experiments.sweep.backend import SparkSweep
from elastream.experiments.sweep.summary import TABLE, summarise_sweep
from tests.spark.driving import local_session

pytestmark = [pytest.mark.needs("spark"), pytest.mark.local]

# A policy of somebody else, and a load in a file: executors have neither until they are shipped.
PLAN = """\
what: {model: windowed-count, traces: load.csv, slo: 60s}
how: {policy: [threshold, "sweep_policy:Some"], executors: 1..12, duration: 5m, repetitions: 3}
"""
LOAD = "t_seconds,rate\n0,20000\n60,50000\n180,30000\n"
POLICY = """\
import os
import signal
from dataclasses import dataclass

from elastream import Decision, Forgetful
from sweep_helper import SIZE


@dataclass(frozen=True, kw_only=True)
class Some(Forgetful):
    needs = ()
    interval_s: float = 60.0
    deadly: bool = False

    def decide(self, now, known, memory):
        if self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return Decision(allocation={pool.name: SIZE for pool in now.pools}, reason="so many")
"""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with local_session("sweeps", tmp_path_factory.mktemp("spark")) as spark:
        yield spark


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user, with a policy and a load."""
    for name, text in {"load.csv": LOAD, "sweep_policy.py": POLICY, "sweep_helper.py": "SIZE = 2\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module_search, "_folders", [str(tmp_path)])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def read_cases(plan: str = PLAN) -> Sequence[Case]:
    Path("plan.yaml").write_text(plan, encoding="utf-8")
    return multiply(read_plan(Path("plan.yaml"))).cases


def sweep(spark: Any, store: RunStore, cases: Sequence[Case]) -> SparkSweep:
    return SparkSweep(spark, store.folder / RUNS, [case.experiment for case in cases])


def run(store: RunStore, cases: Sequence[Case], backend: RunnerBackend) -> tuple[int, int]:
    return run_cases(store, find_status(store, cases), backend, plan="test")


def query(text: str) -> duckdb.DuckDBPyRelation:
    found = duckdb.sql(text)
    assert found is not None
    return found


def read_all(folder: Path, table: str) -> list[tuple[Any, ...]]:
    """The rows of all runs, in one order, as another tool reads them; how long a run took is the machine's."""
    rows = query(f"SELECT * EXCLUDE (filename), split(filename, '/')[-2] FROM "
                      f"read_parquet('{folder}/{RUNS}/*/{table}.parquet', filename=true)")  # fmt: skip
    columns = [name for name in rows.columns if name != "took_s"]
    return sorted(rows.select(*[duckdb.ColumnExpression(name) for name in columns]).fetchall(), key=repr)


def test_one_process_several_and_spark_give_the_same_values(spark: Any, here: Path) -> None:
    cases = read_cases()
    stores = {name: RunStore(here / name).open() for name in ("one", "several", "spark")}
    assert run(stores["one"], cases, Here()) == (6, 0)
    assert run(stores["several"], cases, Processes(2)) == (6, 0)
    assert run(stores["spark"], cases, sweep(spark, stores["spark"], cases)) == (6, 0)
    for table in ("ticks", "decisions", "summary"):
        found = [read_all(store.folder, table) for store in stores.values()]
        assert len(found[0]) >= 6
        assert found[0] == found[1] == found[2]
    # What Spark adds up is what another tool adds up.
    told = summarise_sweep(spark, stores["spark"], [identify(case.experiment) for case in cases])
    runs = f"read_parquet('{here}/one/{RUNS}/*/summary.parquet')"
    expected = query(
        "SELECT policy, count(*), avg(worker_hours_paid), avg(records_within_slo), avg(slo_kept::INT) "
        f"FROM {runs} GROUP BY policy ORDER BY avg(worker_hours_paid)"
    ).fetchall()
    for one, (policy, number, *means) in zip(told, expected, strict=True):
        assert (one.policy, one.experiments, one.failed) == (policy, number, 0)
        assert [one.worker_hours_paid, one.records_within_slo, one.kept] == pytest.approx(means)
    written = query(f"SELECT policy, runs, failed FROM '{here}/spark/{TABLE}/*.parquet' ORDER BY policy")
    assert written.fetchall() == sorted((one.policy, one.experiments, 0) for one in told)


def test_an_experiment_that_ends_its_python_is_a_row_and_the_others_are_run(spark: Any, here: Path) -> None:
    cases = read_cases(PLAN.replace('"sweep_policy:Some"', '"sweep_policy:Some(deadly=true)"').replace("3}", "2}"))
    store = RunStore(here / "out").open()
    assert run(store, cases, sweep(spark, store, cases)) == (4, 2)
    errors = {run.numbers["policy"]: run.error for run in store.runs()}
    assert errors["threshold"] is None
    assert "its executor gave it up" in str(errors["sweep_policy:Some(deadly=true)"])


class Handed(SparkSweep):
    """Takes two experiments for each job, and is ended from outside after three."""

    def _handful(self) -> int:
        return 2

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        self.taken = 0
        found = super().run(map(self._count, tasks))
        yield from islice(found, 3)
        found.close()  # type: ignore[attr-defined]

    def _count(self, task: Task) -> Task:
        self.taken += 1
        return task


def test_experiments_are_taken_as_slots_become_free_and_those_that_were_finished_stay(spark: Any, here: Path) -> None:
    cases = read_cases(PLAN.replace("repetitions: 3", "repetitions: 8").replace("5m", "1m"))
    store = RunStore(here / "out").open()
    ended = Handed(spark, store.folder / RUNS, [case.experiment for case in cases])
    assert run(store, cases, ended) == (3, 0)
    assert ended.taken < len(cases)
    left = [one for one in find_status(store, cases) if one.is_to_run]
    assert len(left) <= len(cases) - 3
    # Python that was told to end may end an experiment first.
    number, failed = run(store, cases, sweep(spark, store, cases))
    assert number <= len(left)
    assert failed == 0
    assert [run.state for run in store.runs()] == ["finished"] * len(cases)
    assert not list((store.folder / RUNS).glob(f"{PARTIAL}*"))

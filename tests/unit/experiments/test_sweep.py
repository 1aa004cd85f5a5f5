"""What a sweep sends to executors, what it asks of them, and what it says where that fails."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from elastream.core import module_search
from elastream.core.errors import BadInput, CannotRun
from elastream.development.cluster.finder import Master
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.runner import Here, Processes
from elastream.experiments.sweep.executors import require_fit, spell_spark_error
from elastream.experiments.sweep.on_executor import find_lack
from elastream.experiments.sweep.row import ExperimentRow, relocate
from elastream.experiments.sweep.session import sweep_session
from elastream.experiments.sweep.shipment import pack_code, pack_package, pack_plan
from elastream.experiments.sweep.where import read_on

POLICY = """\
from dataclasses import dataclass

from elastream import Decision, Forgetful
from shipped_helper import SIZE


@dataclass(frozen=True, kw_only=True)
class Some(Forgetful):
    needs = ()
    interval_s: float = 60.0

    def decide(self, now, known, memory):
        return Decision(allocation={pool.name: SIZE for pool in now.pools}, reason="so many")
"""
FIT = {
    "host": "far", "python": "/usr/bin/python3", "version": "3.11.7", "kind": "cpython-311 linux x86_64", "lacking": [],
    "has_pyarrow": True, "wrong": None, "sees_folder": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"lacking": ["numpy 1.26 or newer (it has 1.20.0)"]},
            r"far: its Python \(/usr/bin/python3\) lacks numpy 1.26",
        ),
        (
            {"sees_folder": False},
            r"far: it cannot write to .*runs; name a folder with --out that all machines of spark:",
        ),
        ({"wrong": "it would run the code of /x"}, "far: what was shipped cannot be used"),
    ],
)
def test_an_executor_that_cannot_run_experiments_is_named_with_what_it_lacks(
    changed: dict[str, Any], told: str
) -> None:
    require_fit(FIT, "spark://a:7077", Path("runs"))
    with pytest.raises(CannotRun, match=told):
        require_fit({**FIT, **changed}, "spark://a:7077", Path("runs"))


def test_packages_that_are_missing_too_old_or_broken_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "sweep_old": "__version__ = '1.4.2'",
        "sweep_new": "__version__ = '2.0rc1'",
        "sweep_bad": "1/0",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_lack("sweep_new", (2,)) is None
    assert find_lack("sweep_old", (1, 5)) == "sweep_old 1.5 or newer (it has 1.4.2)"
    assert str(find_lack("sweep_bad", (1,))).startswith("sweep_bad (1 or newer; ZeroDivisionError")
    assert str(find_lack("sweep_none", (1,))).startswith("sweep_none (1 or newer; ModuleNotFoundError")


def test_what_is_shipped_runs_without_the_package(tmp_path: Path) -> None:
    with zipfile.ZipFile(pack_code(tmp_path)) as archive:
        archive.extractall(tmp_path / "there")
    # Another Python, which finds nothing of ours but what was shipped; models that are YAML among it.
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import elastream.experiments.sweep.row, elastream.simulator.catalogue as catalogue, yaml\n"
        "print(elastream.__file__, yaml.__file__, catalogue.any_model('wordcount').name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "there")], capture_output=True, text=True, timeout=300, check=True
    )
    ours, yaml, model = done.stdout.split()
    assert Path(ours).is_relative_to(tmp_path)
    assert Path(yaml).is_relative_to(tmp_path)
    assert model == "wordcount"


def test_classes_and_files_of_a_plan_are_shipped_and_found_where_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loads").mkdir()
    (tmp_path / "loads" / "load.csv").write_text("t_seconds,rate\n0,5\n60,9\n", encoding="utf-8")
    (tmp_path / "shipped_policy.py").write_text(POLICY, encoding="utf-8")
    (tmp_path / "shipped_helper.py").write_text("SIZE = 2\n", encoding="utf-8")
    (tmp_path / "plan.yaml").write_text(
        "what: {model: enrich, traces: loads/load.csv}\n"
        "how: {policy: [threshold, 'shipped_policy:Some'], duration: 10m}\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(module_search, "_folders", [str(tmp_path)])
    monkeypatch.setattr(sys, "path", [*sys.path])
    cases = multiply(read_plan(tmp_path / "plan.yaml")).cases
    (tmp_path / "scratch").mkdir()
    packed = pack_plan(tmp_path / "scratch", [case.experiment for case in cases])
    with zipfile.ZipFile(packed.archive) as archive:
        names = set(archive.namelist())
    [(path, place)] = packed.files.items()
    assert names == {"shipped_policy.py", "shipped_helper.py", place}
    assert path.endswith("loads/load.csv")
    plain = cases[0].experiment.as_json()
    assert f'trace("/there/{place}"' in relocate(plain, packed.files, Path("/there"))["workload"]
    assert relocate(plain, {}, Path("/there")) == plain


def test_an_archive_is_named_by_its_content(tmp_path: Path) -> None:
    first = pack_package(tmp_path, "yaml")
    assert pack_package(tmp_path, "yaml") == first
    with zipfile.ZipFile(first) as archive:
        assert "yaml/__init__.py" in archive.namelist()


def test_an_experiment_is_a_row_of_plain_values(tmp_path: Path) -> None:
    from elastream.experiments.runner.execution import Task
    from elastream.experiments.store.identity import Identity

    task = Task(Identity("e", "c"), "plan", {"policy": "ds2"}, {"seed": 3}, ["own.py"], str(tmp_path), True)
    row = ExperimentRow.of(task)
    assert {type(value) for value in row} == {str, bool}
    assert ExperimentRow(*row).task == task


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("x\npyspark.errors: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in "
         "driver: 3.11, PySpark cannot", "its Python is 3.9 and that of this command 3.11"),
        ('java.io.IOException: Cannot run program "python9": error=2, No such file', "no Python python9 on it"),
        ("Job aborted due to stage failure\nCaused by: java.io.EOFException", "Caused by: java.io.EOFException"),
    ],
)  # fmt: skip
def test_what_spark_says_in_pages_is_told_in_a_line(said: str, told: str) -> None:
    line = spell_spark_error(RuntimeError(said))
    assert told in line
    assert "\n" not in line


def test_where_experiments_run_is_said_in_a_word_or_by_a_master(tmp_path: Path) -> None:
    assert isinstance(read_on("local", is_live=False), Here)
    assert isinstance(read_on("processes", is_live=False), Processes)
    assert isinstance(read_on("processes", is_live=True), Here)
    assert read_on("spark", is_live=False) == Master(url="local[*]")
    assert read_on("local[3]", is_live=False) == Master(url="local[3]")
    assert read_on("spark://far:7077", is_live=False) == Master(url="spark://far:7077")
    for wrong, told in {
        "procesess": "it must be local, processes, spark, or a master .* did you mean 'processes'",
        "local[0]": "it must be local, processes",
        str(tmp_path / "none"): "it must be local",
    }.items():
        with pytest.raises(BadInput, match=f"^--on: found {wrong!r}".replace("[", r"\[") + f".*{told}"):
            read_on(wrong, is_live=False)
    with pytest.raises(BadInput, match="--on spark: runs on spark have a session each"):
        read_on("spark", is_live=True)
    with pytest.raises(BadInput, match=r"--environment: with --on local experiments run in the Python of this command"):
        read_on("local", is_live=False, environment=tmp_path)
    with (
        pytest.raises(BadInput, match=r"--environment: .*name a cluster"),
        sweep_session(Master(url="local[2]"), tmp_path, environment=tmp_path),
    ):
        pass

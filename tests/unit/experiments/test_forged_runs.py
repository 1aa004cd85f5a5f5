"""Folders of runs that somebody else has sent: what makes no sense is damaged, and what is text stays text."""

import html
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.cli.app import run
from elastream.experiments.plan.reader import MOST_INCLUDES
from elastream.experiments.store.folder import ENVIRONMENT, EXPERIMENT, PLAN, RUNS
from elastream.experiments.store.stored_files import MOST_ROWS
from elastream.experiments.store.tables import TICKS
from tests.secret_samples import HOSTILE, SAMPLES
from tests.unit.experiments.report_samples import store_plan, store_run
from tests.unit.leaky_samples import MARKUP, SECRETS

COMMANDS = (
    ["experiment", "list"], ["experiment", "compare"], ["experiment", "compare", "--json"], ["report"],
    ["report", "--format", "md"], ["report", "--format", "csv"],
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store_plan(tmp_path)
    for policy, cost in (("ds2", 5.0), ("threshold", 9.0)):
        store_run(tmp_path, policy, "wave", 0, cost=cost)
    return tmp_path


@pytest.fixture
def forged(folder: Path) -> Path:
    """The run in it whose files are changed."""
    return min((folder / RUNS).iterdir())


def change(file: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(file.read_text())
    edit(document)
    file.write_text(json.dumps(document))


def ask_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What every command prints and writes of a folder."""
    written = []
    for command in COMMANDS:
        assert run([*command, str(folder)]) == 0, capsys.readouterr().err
    for file in ("report.html", "report.md", "report.csv"):
        written.append((folder / file).read_text())
    shown = capsys.readouterr()
    assert "unexpected" not in shown.err
    return "\n".join([shown.out, shown.err, *written])


@pytest.mark.parametrize(
    "edit",
    [
        lambda one: one.update(what=[]),
        lambda one: one.update(labels=[1]),
        lambda one: one.update(labels={"policy": {"a": 1}}),
        lambda one: one["labels"].update(workload=7),
        lambda one: one["labels"].__delitem__("policy"),
        lambda one: one.update(code_files=7),
        lambda one: one.update(code_files=[None]),
        lambda one: one["what"].update(slo="x"),
        lambda one: one["what"].update(slo={"delay_s": float("inf"), "share": 1.0}),
        lambda one: one["what"].update(seed="x"),
        lambda one: one["what"].update(seed=10**40),
        lambda one: one["what"].update(subject="job"),
        lambda one: one["what"].__delitem__("policy"),
    ],
)
def test_an_experiment_that_makes_no_sense_is_damaged(
    edit: Callable[[dict[str, Any]], object], folder: Path, forged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(forged / EXPERIMENT, edit)
    assert run(["experiment", "list", str(folder), "--json"]) == 0
    states = {row["run"]: row["state"] for row in json.loads(capsys.readouterr().out)}
    assert states.pop(forged.name) == "damaged"
    assert list(states.values()) == ["finished"]
    assert "1 run damaged" in ask_all(folder, capsys)


@pytest.mark.parametrize("name", [EXPERIMENT, ENVIRONMENT, PLAN, "summary.parquet", "ticks.parquet"])
@pytest.mark.parametrize("content", ["deep", "zeros", "pipe"])
def test_what_has_no_end_is_not_read_to_it(
    name: str, content: str, folder: Path, forged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / PLAN if name == PLAN else forged / name
    file.unlink()
    if content == "deep":
        file.write_text("\n" + "[" * 100_000)
    elif content == "zeros":
        file.symlink_to("/dev/zero")
    else:
        os.mkfifo(file)
    told = ask_all(folder, capsys)
    assert ("damaged" in told) is (name not in (PLAN, ENVIRONMENT))


def test_code_that_a_folder_names_is_not_read_to_its_end_either(
    folder: Path, forged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(forged / EXPERIMENT, lambda one: one.update(code_files=["/dev/zero", "a\0b", "x" * 5000]))
    assert "of older code" in ask_all(folder, capsys)


def test_a_table_that_stands_for_millions_of_rows_is_damaged(
    folder: Path, forged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = MOST_ROWS + 1
    columns = {field.name: pa.nulls(rows, field.type) for field in TICKS}
    pq.write_table(pa.table(columns, schema=TICKS), forged / "ticks.parquet", compression="zstd")
    assert (forged / "ticks.parquet").stat().st_size < 100_000
    assert "1 run damaged" in ask_all(folder, capsys)


def test_texts_of_others_hold_no_secret_and_steer_nothing(
    folder: Path, forged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As if an older version, or somebody, had written them."""
    texts = [*(sample.text for sample in SAMPLES), *HOSTILE, *MARKUP, "\ud800"]
    said = " ".join(texts)
    valid = said.encode(errors="ignore").decode()
    for path in (folder / RUNS).iterdir():
        change(path / EXPERIMENT, lambda one: one["labels"].update(workload=said, model=said))
        change(path / ENVIRONMENT, lambda one: one.update(commit=said, versions={"numpy": said}))
    store_run(folder, "dhalion", "wave", 0, cost=1.0, error=valid)
    (folder / PLAN).write_text(f"# {' '.join(HOSTILE)}\n{json.dumps({'about': said})}\n", errors="replace")
    decisions = pq.read_table(forged / "decisions.parquet")
    reasons = pa.array([valid] * decisions.num_rows)
    place = decisions.schema.get_field_index("reason")
    pq.write_table(decisions.set_column(place, "reason", reasons), forged / "decisions.parquet")

    told = ask_all(folder, capsys)
    assert run(["experiment", "show", str(folder), forged.name]) == 0
    told += capsys.readouterr().out

    assert [secret for secret in SECRETS if secret in told or secret in html.unescape(told)] == []
    assert [line for line in told.replace("\t", " ").split("\n") if not line.isprintable()] == []
    page = (folder / "report.html").read_text()
    assert [mark for mark in MARKUP if "<" in mark and mark in page] == []


def test_plans_that_include_each_other_twice_at_every_level_are_not_all_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for level in range(8):
        below = f"{level + 1}.yaml"
        (tmp_path / f"{level}.yaml").write_text(f"include: [{below}, {below}]\n")
    (tmp_path / "8.yaml").write_text("what: {}\n")
    assert run(["plan", "check", str(tmp_path / "0.yaml")]) == 2
    assert f"more than {MOST_INCLUDES} plans" in capsys.readouterr().err

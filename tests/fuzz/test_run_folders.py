"""Folders of runs as somebody may have sent them: listed, shown, compared, and written about."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.cli.app import run
from elastream.experiments.report.contents import read_contents
from elastream.experiments.report.formats import make_csv, make_markdown
from elastream.experiments.report.report import make_report
from elastream.experiments.store.folder import ENVIRONMENT, EXPERIMENT, PLAN, RUNS
from tests.fuzz.absurd import NUMBERS, TEXTS, bend, tear
from tests.fuzz.harness import check_line, fuzz, outcome, sizes
from tests.unit.experiments.report_samples import store_plan, store_run

TABLES = ("summary.parquet", "ticks.parquet", "decisions.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store_plan(tmp_path, exclude=[{"where": {"policy": ["hpa"]}, "why": "it has no processor use"}])
    for seed in (0, 1):
        for policy, cost in (("ds2", 5.0), ("threshold", 9.0)):
            store_run(tmp_path, policy, "wave", seed, cost=cost + seed)
    store_run(tmp_path, "dhalion", "wave", 0, cost=3.0, error="it failed")
    return tmp_path


def damage(draw: random.Random, file: Path) -> None:
    """Something wrong in one file."""
    text = file.read_bytes()
    kind = draw.randrange(6)
    if kind == 0:
        file.write_bytes(tear(draw, text))
    elif kind == 1:
        file.unlink()
        file.symlink_to(draw.choice(("/dev/zero", "/dev/null", "/proc/self/mem", ".", "nowhere", file.name)))
    elif file.suffix == ".parquet":
        _bend_table(draw, file)
    else:
        head, text = text.split(b"\n", 1) if file.name == PLAN else (b"", text)
        try:
            text = json.dumps(bend(draw, json.loads(text), draw.randrange(1, 4))).encode()
        except RecursionError:
            text = b"[" * 100_000
        file.write_bytes(head + b"\n" + text)


def _bend_table(draw: random.Random, file: Path) -> None:
    """Other values, other columns, more rows, or none."""
    table = pq.read_table(file)
    for _ in range(draw.randrange(1, 3)):
        place = draw.randrange(table.num_columns)
        field = table.schema.field(place)
        values: list[Any] = table.column(place).to_pylist()
        kind = draw.randrange(8)
        if kind == 0:
            table = table.remove_column(place)
        elif kind == 1:
            table = table.slice(draw.randrange(table.num_rows + 1))
        elif kind == 2:
            table = pa.concat_tables([table, table])
        elif kind == 3:
            table = table.set_column(place, field.name, pa.array([draw.choice(TEXTS[:20]) for _ in values]))
        elif values:
            values[draw.randrange(len(values))] = _other(draw, field.type)
            table = table.set_column(place, field, pa.array(values, type=field.type))
    pq.write_table(table, file)


def _other(draw: random.Random, kind: pa.DataType) -> Any:
    if pa.types.is_floating(kind):
        return float(draw.choice(NUMBERS))
    if pa.types.is_integer(kind):
        return draw.choice((0, -1, 2**31 - 1, -(2**31)))
    return draw.choice([text for text in TEXTS if text.isprintable()]) if pa.types.is_string(kind) else None


def attempt(folder: Path, use: Callable[[], str]) -> Callable[[random.Random], str]:
    """The folder, with something wrong in it for as long as it is used."""

    def once(draw: random.Random) -> str:
        runs = sorted((folder / RUNS).iterdir())
        choices = [draw.choice(runs) / name for name in (EXPERIMENT, ENVIRONMENT, *TABLES)] + [folder / PLAN]
        files = [file for file in draw.sample(choices, draw.randrange(1, 3)) if file.exists()]
        before = {file: file.read_bytes() for file in files}
        try:
            for file in files:
                damage(draw, file)
            return use()
        finally:
            for file, content in before.items():
                file.unlink(missing_ok=True)
                file.write_bytes(content)

    return once


@sizes(60, 4000)
def test_a_report_on_a_damaged_folder_is_written_or_refused(cases: int, folder: Path) -> None:
    def write() -> None:
        contents = read_contents(folder)
        if contents.runs:
            make_report(contents).encode()
            make_markdown(contents).encode()
            make_csv(contents).encode()

    found = fuzz("folders of runs written about", cases, attempt(folder, lambda: outcome(write)))
    assert found["read"] > cases / 3


@sizes(60, 4000)
def test_commands_on_a_damaged_folder_answer_or_refuse(
    cases: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = min(path.name for path in (folder / RUNS).iterdir())
    commands = [
        ["experiment", "list", str(folder)],
        ["experiment", "list", str(folder), "--json"],
        ["experiment", "show", str(folder), name],
        ["experiment", "show", str(folder), name, "--json"],
        ["experiment", "compare", str(folder)],
    ]

    def ask() -> str:
        codes = [run(command) for command in commands]
        shown = capsys.readouterr()
        assert [line for line in (shown.out + shown.err).split("\n") if not line.isprintable()] == []
        for line in shown.err.splitlines():
            check_line(line)
            assert "unexpected" not in line, line
        return "refused" if any(codes) else "read"

    found = fuzz("folders of runs looked at", cases, attempt(folder, ask))
    assert found["read"] > cases / 3

"""`elastream advise`, as somebody at a terminal sees it."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from elastream.advice.advice import Advice, Adviser, parse_option
from elastream.cli import main
from elastream.cli.terminal.advice_table import print_advice
from tests.unit.advice.advice_samples import record, taken


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("advise") / "run"
    load = ["--workload", "cosine(5k..40k, period=4m)", "--duration", "4m", "--tick", "20s", "--slo", "40s"]
    options = ["--policy", "fixed(workers=6)", "--executors", "1..8", "--start", "6", "--out", str(folder)]
    assert main(["simulate", "--model", "enrich", *load, *options]) == 0
    return folder


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["advise", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1, told
    return told


@pytest.fixture(scope="module")
def advice() -> Advice:
    options = [
        replace(parse_option(text), bounds=(1, 12)) for text in ("lag-proportional(headroom=1.5)", "fixed(workers=2)")
    ]
    return Adviser(taken(record(minutes=5)), draws=3).advise(options)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_numbers_and_their_intervals_fit_a_terminal(advice: Advice, columns: int) -> None:
    seen = StringIO()
    print_advice(Console(width=columns, file=seen), advice, price=0.5)
    lines = seen.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= columns
    assert lines[2].startswith("what happened")
    assert "1..12 executors" in seen.getvalue()
    assert ("changes" in seen.getvalue()) == (columns >= 80)
    two = lines.index(next(line for line in lines if line.startswith("fixed")))
    # Two for five minutes, at half a coin: nothing moves that, so that it has no interval.
    assert lines[two].split()[1:3] == ["0.17", "0.08"]
    same = next(place for place, line in enumerate(lines) if "simulated" in line)
    assert ".." in "".join(lines[same:two])


def test_a_script_reads_one_document(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["advise", str(run), "--policy", "fixed(workers=2)", "--slo", "25s", "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    found = json.loads(printed.out)
    [two] = found["options"]
    assert two["slo"] == {"delay_s": 25.0, "share": 0.99}
    assert two["keeps_slo"] == "no"
    assert found["recorded"]["slo"]["delay_s"] == 40.0
    hours = found["happened"]["executor_hours"]
    assert found["simulated"]["executor_hours"]["low"] <= hours <= found["simulated"]["executor_hours"]["high"]
    assert "cost" not in two


def test_what_cannot_be_advised_on_is_one_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no such folder or file" in refused(capsys, str(tmp_path / "nowhere"))
    assert "is given twice" in refused(capsys, str(run), "--policy", "hpa", "--policy", "hpa")
    assert "unknown policy 'hpe'; did you mean 'hpa'?" in refused(capsys, str(run), "--policy", "hpe")
    short = tmp_path / "short"
    assert main(["simulate", "--model", "enrich", "--duration", "1m", "--policy", "fixed", "--out", str(short)]) == 0
    assert "less than 120 s were recorded; record a longer run" in refused(capsys, str(short))
    flow = ["simulate", "--model", "daedalus-wordcount", "--duration", "3m", "--policy", "fixed", "--tick", "20s"]
    assert main([*flow, "--out", str(tmp_path / "flow")]) == 0
    assert "only runs of a micro-batch engine can be calibrated on" in refused(capsys, str(tmp_path / "flow"))

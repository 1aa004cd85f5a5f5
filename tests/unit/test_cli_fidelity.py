"""`elastream calibrate` and `elastream fidelity`, as somebody at a terminal sees them."""

import json
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.experiments.run_folder import find_journal
from elastream.journal.format import SCHEMA
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.model_file import read_model
from tests.terminal import run_on_terminal
from tests.unit.experiments.fidelity_samples import PLAN, make_plan, record, stand_in


def simulated(folder: Path, *more: str, model: str = "enrich") -> Path:
    load = ["--workload", "cosine(5k..30k, period=10m)", "--duration", "20m"]
    assert main(["simulate", "--model", model, *load, "--policy", "fixed(workers=4)", "--out", str(folder), *more]) == 0
    return folder


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    capsys.readouterr()
    assert main([*arguments]) == code
    told = capsys.readouterr().err
    assert told.count("\n") == 1, told
    return told


def test_a_model_is_calibrated_on_a_recorded_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = simulated(tmp_path / "run"), tmp_path / "again.yaml"
    capsys.readouterr()
    assert main(["calibrate", str(run), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "measured from a recorded run" in told
    assert f"try: elastream simulate --model {out}" in told
    found = read_model(out)
    assert isinstance(found, ApplicationModel)
    assert found.queries[0].slot_s_per_record() == pytest.approx(100e-6, rel=0.05)
    # Numbers alone, and of another number of partitions.
    assert main(["calibrate", str(find_journal(run)), "--partitions", "5", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["file"] is None
    assert shown["numbers"]["queries"][0]["stages"][0]["partitions"] == 5


def test_what_no_model_can_be_made_of_is_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = simulated(tmp_path / "short", "--duration", "40s")
    assert "no query finished 11 batches; record a longer run" in refused(capsys, "calibrate", str(short))
    flow = simulated(tmp_path / "flow", model="daedalus-wordcount")
    told = refused(capsys, "calibrate", str(flow))
    assert "its queries have no batches (dataflow); only runs of a micro-batch engine can be calibrated on" in told
    file = next(find_journal(short).glob("journal-*.jsonl"))
    first, rest = file.read_text(encoding="utf-8").split("\n", 1)
    file.write_text(first.replace(f'"schema":{SCHEMA}', '"schema":9', 1) + "\n" + rest, encoding="utf-8")
    assert "written with journal schema 9, this Elastream" in refused(capsys, "calibrate", str(short), code=1)
    file.write_text(first[:40], encoding="utf-8")
    assert "not one complete line; nothing was recorded" in refused(capsys, "calibrate", str(short), code=1)
    assert "there is no such folder or file" in refused(capsys, "calibrate", str(tmp_path / "nowhere"))
    assert "this is a folder; name a file" in refused(capsys, "calibrate", str(flow), "--out", str(tmp_path))


def test_a_torn_journal_is_calibrated_on_as_far_as_it_is_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = simulated(tmp_path / "run")
    file = next(find_journal(run).glob("journal-*.jsonl"))
    file.write_text(file.read_text(encoding="utf-8")[:-200], encoding="utf-8")
    assert main(["calibrate", str(run)]) == 0
    assert "query enrich" in capsys.readouterr().out


def test_a_plan_that_is_none_for_fidelity_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("what: {model: enrich, workload: 1k}\nhow: {policy: ds2}\n", encoding="utf-8")
    told = refused(capsys, "fidelity", str(plan), "--out", str(tmp_path / "out"))
    assert "plan.yaml:2: how: platform: a fidelity plan runs on spark" in told
    assert not (tmp_path / "out").exists()


SHOW = """
import sys
from pathlib import Path

from elastream.cli.commands.fidelity import print_fidelity
from elastream.cli.terminal.output import console
from tests.unit.experiments.fidelity_samples import make_result

print_fidelity(console(), make_result(Path(sys.argv[1])), Path("results/fidelity.html"))
"""


@pytest.mark.needs("spark")
@pytest.mark.parametrize("columns", [80, 60])
def test_the_verdict_fits_a_terminal(tmp_path: Path, columns: int) -> None:
    seen = run_on_terminal("-c", SHOW, str(tmp_path), columns=columns, rows=60)
    assert seen.code == 0, seen.text
    assert seen.screen.wrapped == []
    lines = seen.text.splitlines()
    assert lines[0].startswith("plan: slots limited to 2,000 rows/s in 1 of 1 judged")
    assert sum(line.startswith("exec. min") for line in lines) == 2
    assert any(
        line.split() == ["delay", "p95", "20.0s", "22.0s", "21.0s..23.0s", "10%", "50%", "12%"] for line in lines
    )
    assert "executor-hours: off by 25% in the median of 1 runs" in seen.text
    assert any(line.startswith("last value: executor-hours ") for line in lines)


@pytest.mark.needs("spark")
def test_a_plan_that_was_recorded_is_judged_without_starting_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # One run that calibrates, and one that is judged.
    short = PLAN.replace("duration: 4m", "duration: 2m").replace(
        "{workload: spike, policy: threshold}", "{workload: spike}"
    )
    plan, out = make_plan(tmp_path, short), tmp_path / "out"
    assert main(["fidelity", str(plan), "--out", str(out), "--recorded"]) == 1
    assert "it was not run; nothing of job made can be judged without it" in capsys.readouterr().err
    stand_in(monkeypatch, tmp_path)
    record(plan, out)
    capsys.readouterr()
    assert main(["fidelity", str(plan), "--out", str(out), "--recorded", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["slots"] == {"made": "slots limited to 2,000 rows/s"}
    assert [set(one["simulator"]["errors"]) for one in told["runs"]] == [
        {"worker_hours", "delay_p95_s", "mean_backlog", "changes"}
    ]
    assert Path(told["page"]).is_file()
    assert (out / "models" / "made.yaml").is_file()

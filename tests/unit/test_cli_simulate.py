"""`elastream simulate`, and what reads its run folders."""

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from elastream.cli import main

SHORT = ["simulate", "--duration", "10m", "--workload", "cosine(5k..40k, period=10m)"]


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith("ELASTREAM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """The JSON document that a command prints."""
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a command refuses its input, having started nothing."""
    assert main([*SHORT, "--out", "runs", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert not Path("runs").exists()
    return err.removeprefix("elastream: ").rstrip("\n")


def test_policies_are_compared_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--policy", "threshold", "--policy", "threshold(high=0.9, low=0.4)", "--slo", "30s"]) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "threshold on simulator: has all signals",
        "threshold(high=0.9, low=0.4) on simulator: has all signals",
    ]
    assert "in SLO" in out
    assert out.count("delay p95") == 2
    assert "\x1b" not in out


def test_a_run_says_what_its_policy_does_to_micro_batches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--policy", "ds2"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "ds2 on simulator: has all signals; on micro-batches it may stay too small; ds2-spark does not"
    ]


def test_without_a_promise_there_is_no_column_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SHORT) == 0
    assert "in SLO" not in capsys.readouterr().out


def test_all_strips_have_the_same_width(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--policy", "fixed(workers=5)", "--policy", "lag-proportional"]) == 0
    lines = capsys.readouterr().out.splitlines()
    labels = ("rate", "wanted", "ready", "backlog", "delay p95")
    strips = [line[2 + 9 + 2 :] for line in lines if line[2:].startswith(labels)]
    assert len(strips) == 1 + 2 * 4
    # A strip ends before the two blanks in front of its smallest and largest value.
    assert len({strip.rindex("  ") for strip in strips}) == 1
    assert all(len(line) <= 100 for line in lines)


def test_the_same_command_prints_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*SHORT, "--policy", "lag-proportional", "--seed", "7", "--json"]
    assert main(arguments) == 0
    first = capsys.readouterr()
    assert main(arguments) == 0
    assert capsys.readouterr() == first
    assert first.err == ""


def test_options_reach_the_simulation(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(
        capsys, *SHORT, "--executors", "2..6", "--start", "3", "--slots", "2", "--tick", "10s", "--trigger", "asap",
        "--slo", "45s", "--guard", "cool-down(after=300s, mode=blocking)", "--fault", "worker-loss(at=2m)",
    )  # fmt: skip
    assert found["executors"] == {"min": 2, "max": 6, "start": 3}
    assert (found["slots_per_worker"], found["tick_s"], found["trigger_s"]) == (2, 10, None)
    assert found["slo"] == {"delay_s": 45.0, "share": 0.99}
    assert found["guards"] == {"cool_down": {"after_s": 300, "mode": "blocking"}}
    assert found["faults"] == [{"fault": "worker-loss", "at_s": 120, "every_s": None, "workers": 1}]
    assert len(found["runs"]) == 1


def test_a_default_workload_suits_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    for model in ("enrich", "two-queries"):
        found = printed(capsys, "simulate", "--duration", "5m", "--model", model, "--policy", "fixed(workers=12)")
        assert "cosine" in found["workload"]
        assert found["runs"][0]["exact"]["backlog_left"] < found["runs"][0]["exact"]["records"] / 5


def test_a_flag_wins_over_spark_over_the_environment_over_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("run.yaml").write_text(
        "executors: {min: 2, max: 9}\npolicy: fixed\npolicy_settings: {workers: 4}\ntick_s: 30\n"
    )
    monkeypatch.setenv("ELASTREAM_EXECUTORS__MAX", "8")
    sources = ["--config", "run.yaml", "--conf", "spark.elastream.tick_s=20"]
    found = printed(capsys, *SHORT, *sources)
    assert (found["executors"]["min"], found["executors"]["max"], found["tick_s"]) == (2, 8, 20)
    assert found["runs"][0]["settings"]["workers"] == 4
    found = printed(capsys, *SHORT, *sources, "--executors", "1..7", "--tick", "15s", "--policy", "fixed(interval=60s)")
    assert (found["executors"]["max"], found["tick_s"]) == (7, 15)
    assert found["runs"][0]["settings"] == {"workers": 4, "interval_s": 60}


def test_a_run_folder_holds_journal_numbers_and_series(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--policy", "threshold", "--policy", "fixed(workers=3)", "--out", "runs", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert sorted(folder.name for folder in Path("runs").iterdir()) == ["fixed", "threshold"]
    kept = json.loads(Path("runs/threshold/summary.json").read_text())
    assert kept["summary"] == shown["runs"][0]["summary"]
    rows = list(csv.DictReader(Path("runs/threshold/series.csv").read_text().splitlines()))
    assert len(rows) == 10 * 60 // 5 + 1
    assert {"t_seconds", "arrived_rps", "offered_rps", "wanted", "ready", "paid", "backlog", "delay_p95_s"} <= rows[
        0
    ].keys()


def test_two_settings_of_one_policy_have_two_folders(capsys: pytest.CaptureFixture[str]) -> None:
    policies = ["--policy", "fixed", "--policy", "fixed(workers=3, interval=60s)"]
    assert main([*SHORT, *policies, "--out", "runs", "--json"]) == 0
    assert sorted(folder.name for folder in Path("runs").iterdir()) == ["fixed", "fixed-workers-3-interval-60s"]


def test_results_are_not_overwritten_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*SHORT, "--policy", "fixed(workers=3)", "--out", "runs", "--json"]
    assert main(arguments) == 0
    Path("runs/notes.txt").write_text("mine")
    before = Path("runs/fixed/journal/journal-000001.jsonl").read_bytes()
    capsys.readouterr()
    assert main(arguments) == 2
    assert "not empty; choose another one, or replace its runs with --force" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0
    assert Path("runs/notes.txt").read_text() == "mine"
    assert [path.name for path in Path("runs/fixed/journal").glob("journal-*")] == ["journal-000001.jsonl"]
    assert Path("runs/fixed/journal/journal-000001.jsonl").read_bytes() == before


def test_why_tells_a_recorded_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--policy", "threshold", "--out", "runs", "--json"]) == 0
    capsys.readouterr()
    assert main(["why", "runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "a run begins: policy threshold" in lines[0]
    assert main(["why", "runs/threshold", "--last", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == lines[-2:]
    told = printed(capsys, "why", "runs/threshold")
    assert [line["text"] for line in told] == lines


def test_replay_finds_no_difference_with_the_same_policy(capsys: pytest.CaptureFixture[str]) -> None:
    faults = ["--fault", "unreachable(at=2m, for=1m)", "--fault", "scale-failure(at=4m, for=1m)"]
    assert main([*SHORT, "--policy", "lag-proportional", "--out", "runs", "--guard", "step-limit(up=2)", *faults]) == 0
    capsys.readouterr()
    found = printed(capsys, "replay", "runs")
    assert found["differences"] == []
    assert found["ticks"] > 30


def test_replay_exits_with_1_where_decisions_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--out", "runs", "--json"]) == 0
    capsys.readouterr()
    assert main(["replay", "runs", "--policy", "fixed,ds2"]) == 2
    assert "found 'fixed,ds2'; name one policy" in capsys.readouterr().err
    assert main(["replay", "runs", "--policy", "fixed(workers=7)", "--most", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "recorded" in lines[0]
    assert "more; --most" in lines[1]
    assert "meaningful up to tick" in lines[2]
    assert printed(capsys, "replay", "runs", "--guard", "step_limit(up=0)", code=1)["changed"]


def test_one_of_several_runs_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--policy", "fixed", "--policy", "threshold", "--out", "runs", "--json"]) == 0
    capsys.readouterr()
    assert main(["why", "runs"]) == 2
    assert "runs/fixed, runs/threshold" in capsys.readouterr().err


def test_a_run_that_does_not_exist_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("elastream: nowhere: there is no such folder")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--policy", "thrshold"], "policy: column 1: unknown policy 'thrshold'; did you mean 'threshold'?"),
        (["--policy", "threshold(hihg=1)"], "policy: column 11: threshold has no setting 'hihg'; did you mean 'high'?"),
        (["--policy", "fixed", "--policy", "fixed"], "policy fixed is given twice"),
        (["--guard", "cool-dwn"], "unknown guard 'cool-dwn'; did you mean 'cool-down'?"),
        (["--guard", "cool-down(aftr=3)"], "guard cool-down has no setting 'aftr'; did you mean 'after'?"),
        (["--fault", "worker-los(at=1m)"], "fault: column 1: unknown fault 'worker-los'; did you mean 'worker-loss'?"),
        (["--fault", "worker-loss"], "fault: column 1: worker-loss needs the setting 'at'"),
        (["--model", "windowd-count"], "unknown model 'windowd-count'; did you mean 'windowed-count'?"),
        (["--workload", "cosin(1..2)"], "workload: column 1: unknown workload 'cosin'; did you mean 'cosine'?"),
        (["--executors", "0..5"], "--executors: found '0..5'; the bounds must be 1 <= min <= max"),
        (["--executors", "5..2"], "--executors: found '5..2'; the bounds must be 1 <= min <= max"),
        (["--executors", "3.."], "--executors: found '3..'; write both bounds, such as 1..12"),
        (["--start", "0"], "--start: found 0; the bounds are 1..12"),
        (["--start", "13"], "--start: found 13; the bounds are 1..12"),
        (["--slots", "0"], "--slots: found 0; an executor has at least 1"),
        (["--slo", "soon"], "--slo: 'soon' is not a number; write it as 90s, 140m or 2h"),
        (["--tick", "0"], "--tick: found '0'; it must be a duration longer than 0, such as 90s, 140m or 2h"),
        (["--trigger", "often"], "--trigger: found 'often'; it must be an interval such as 10s, or asap"),
        (["--seed", "-1"], "workload: the seed -1; it must be zero or more"),
        (["--conf", "spark.elastream.tik=5"], "spark.elastream.tik: no setting 'tik'; did you mean 'tick'?"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_line_that_says_what_to_do(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *arguments) == line


@pytest.mark.parametrize(
    ("workload", "part"),
    [
        ("constant(-5)", "column"),
        ("constant(nan)", "column"),
        ("constant(inf)", "column"),
        ("1e400", "too large"),
        ("trace('empty.csv')", "empty.csv: there are no rates in it"),
        ("trace('unsorted.csv')", "unsorted.csv:4: the time 5 does not come after 10"),
        ("trace('negative.csv')", "negative.csv:3: the rate is -1; it must be zero or more"),
        ("trace('nan.csv')", "nan.csv:2: the rate is nan; it must be a finite number"),
        ("trace('absent.csv')", "there is no such file"),
    ],
)
def test_impossible_rates_are_refused_with_their_place(
    workload: str, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.csv").write_text("t_seconds,rate\n")
    Path("unsorted.csv").write_text("t_seconds,rate\n0,1\n10,1\n5,1\n")
    Path("negative.csv").write_text("t_seconds,rate\n0,1\n1,-1\n")
    Path("nan.csv").write_text("t_seconds,rate\n0,nan\n")
    assert part in refused(capsys, "--workload", workload)


CONTINUOUS = ["simulate", "--model", "kanis-q1", "--duration", "5m"]


def test_a_policy_that_cannot_run_does_not_keep_the_others_from_running(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CONTINUOUS, "--policy", "amadeus", "--policy", "threshold", "--policy", "spark-dra"]) == 0
    lines = capsys.readouterr().out.splitlines()
    row = next(number for number, line in enumerate(lines) if line.startswith("threshold "))
    assert lines[row + 1 : row + 3] == [
        "amadeus  cannot run: no batches on dataflow",
        "spark-dra  cannot run: no batches on dataflow",
    ]


def test_it_stands_in_the_document_with_its_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "runs"
    found = printed(capsys, *CONTINUOUS, "--policy", "amadeus", "--policy", "threshold", "--out", str(out))
    assert [run["policy"] for run in found["runs"]] == ["threshold", "amadeus"]
    assert found["runs"][1] == {"policy": "amadeus", "cannot_run": "cannot run: no batches on dataflow"}
    assert [folder.name for folder in out.iterdir()] == ["threshold"]


def test_where_none_can_run_nothing_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CONTINUOUS, "--policy", "amadeus", "--policy", "spark-dra"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == ("elastream: policy amadeus cannot run on dataflow: it needs batches, which is not provided there\n")

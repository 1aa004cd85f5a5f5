"""`elastream simulate` and `elastream models` with jobs of the continuous engine."""

import json
from pathlib import Path

import pytest

from elastream.cli import main


def test_continuous_jobs_are_listed_beside_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    engines = {one["name"]: one["engine"] for one in json.loads(capsys.readouterr().out)}
    assert (engines["windowed-count"], engines["heron-wordcount"]) == ("micro-batch", "continuous")


def test_a_continuous_job_is_run_and_told_like_any_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs"
    given = ["--model", "kanis-q1", "--policy", "threshold", "--duration", "20m", "--slo", "60s", "--start", "3"]
    assert main(["simulate", *given, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["executors"] == {"min": 3, "max": 240, "start": 9}
    assert told["trigger_s"] is None
    assert told["runs"][0]["exact"]["records"] > 0
    assert main(["why", str(out / "threshold")]) == 0
    assert "cpu use of sink" in capsys.readouterr().out
    assert main(["simulate", *given]) == 0
    assert "kanis-q1, continuous, 20m, 1..80 workers in each of 3 pools" in capsys.readouterr().out


def test_a_trigger_makes_no_sense_for_a_continuous_job(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--model", "kanis-q1", "--trigger", "10s"]) == 2
    assert "model kanis-q1 is continuous and has no batches" in capsys.readouterr().err


def test_bounds_are_moved_for_every_pool_that_has_a_size_to_choose(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--model", "heron-wordcount", "--policy", "fixed", "--duration", "2m", "--executors", "2..9"]
    assert main(["simulate", *given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["executors"] == {"min": 5, "max": 19, "start": 5}

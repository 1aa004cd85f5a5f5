"""Jobs under a policy on real executors, as `elastream live` runs them."""

import os
import sys
from pathlib import Path

import pytest

from elastream.cli import main

pytestmark = [pytest.mark.needs("spark"), pytest.mark.full]

SHORT = ["--duration", "30s", "--executors", "1..3", "--trigger", "3s", "--capacity", "500"]


@pytest.mark.parametrize(
    ("job", "workload"),
    [
        ("wordcount", "constant(300) + ramp(0..600, at=10s, for=5s)"),
        ("deduplicate", "constant(300) + spike(900, at=10s, for=5s)"),
    ],
)
def test_a_job_under_a_policy_gives_right_results_and_tells_how_long_they_took(
    job: str, workload: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", os.environ.get("PYSPARK_PYTHON") or sys.executable)
    out = tmp_path / "run"
    assert main(["live", "--job", job, "--workload", workload, *SHORT, "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "are right, compared one by one with an independent computation" in told
    assert "delay, from arrival to commit: p50" in told
    assert "the same from its last input: p50" in told
    assert (out / "run.html").exists()

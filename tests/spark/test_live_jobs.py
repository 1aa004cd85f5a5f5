"""Jobs under a policy on real executors, as `elastream live` runs them."""

import os
import re
import sys
from pathlib import Path

import pytest

from elastream.cli import main

pytestmark = [pytest.mark.needs("spark"), pytest.mark.full]

SHORT = ["--duration", "30s", "--executors", "1..3", "--trigger", "3s", "--capacity", "500"]


@pytest.mark.parametrize(
    ("job", "workload", "events_a_result"),
    [
        ("wordcount", "constant(300) + ramp(0..600, at=10s, for=5s)", "many"),
        ("deduplicate", "constant(300) + spike(900, at=10s, for=5s)", "one"),
    ],
)
def test_a_job_under_a_policy_gives_right_results_and_tells_how_long_they_took(
    job: str,
    workload: str,
    events_a_result: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", os.environ.get("PYSPARK_PYTHON") or sys.executable)
    out = tmp_path / "run"
    assert main(["live", "--job", job, "--workload", workload, *SHORT, "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "are right, compared one by one with an independent computation" in told
    assert re.search(r"delay of all [0-9,]+ records of the run, from arrival to commit:?\s+p50 ", told)
    # A result of one event has that event's delay, which stands there already.
    assert ("the same from its last input" in told) == (events_a_result == "many")
    assert (out / "run.html").exists()

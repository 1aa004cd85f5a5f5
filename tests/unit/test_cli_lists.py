"""The commands that list and show: policies, workloads, models, config."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from elastream.cli import main


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("ELASTREAM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "120")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_policies_are_listed_with_the_platforms_they_run_on(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {one["name"]: one for one in printed(capsys, "policies")}
    assert {"fixed", "threshold", "lag-proportional"} <= listed.keys()
    assert listed["threshold"]["platforms"]["simulator"] == "has all signals"
    assert main(["policies"]) == 0
    assert "on simulator" in capsys.readouterr().out


def test_a_policy_shows_its_settings_and_needs(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "policies", "threshold")
    high = next(one for one in shown["settings"] if one["name"] == "high")
    assert high == {"name": "high", "type": "number", "required": False, "default": 0.8, "doc": high["doc"]}
    assert shown["needs"] == [{"signal": "worker-cpu", "stand_ins": ["busy-slots"]}]
    assert main(["policies", "threshold"]) == 0
    told = capsys.readouterr().out
    assert "above this, one worker more" in told
    assert "worker-cpu  worker   share of its slots  processor use; its source is named beside it" in told
    assert "busy-slots  pool     slot-s, total" in told


def test_what_a_policy_departs_in_is_told_item_by_item(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "ds2"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len([line for line in told if line.startswith("- ")]) > 3


def test_a_misspelt_policy_gets_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'threshold'?" in refused(capsys, "policies", "treshold")


def test_workloads_are_listed_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    listed = printed(capsys, "workloads")
    assert "cosine" in [one["name"] for one in listed["patterns"]]
    assert "kanis-cosine" in [one["name"] for one in listed["presets"]]
    assert {"name": "azure_llm_conv_2023_1s"}.items() <= listed["traces"][0].items()
    assert main(["workloads"]) == 0
    assert "21 days recorded" in capsys.readouterr().out


def test_a_workload_by_name_shows_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "workloads", "cosine")
    assert next(one for one in shown["settings"] if one["name"] == "low_rps")["required"]
    assert "drawn" not in shown
    assert printed(capsys, "workloads", "kanis-cosine")["drawn"]["duration_s"] == 140 * 60


def test_a_workload_in_words_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = printed(capsys, "workloads", "step(10..30, at=30s)", "--duration", "60s")
    assert (drawn["min_rps"], drawn["mean_rps"], drawn["max_rps"]) == (10, 20, 30)
    assert drawn["series"] == [[0, 10], [30, 30]]
    assert main(["workloads", "step(10..30, at=30s)", "--duration", "60s"]) == 0
    out = capsys.readouterr().out
    assert "min 10/s, mean 20/s, max 30/s; 1.2k records" in out
    assert "▃" in out
    assert "█" in out


def test_a_shipped_trace_is_drawn_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workloads", "dsp_taxi_300s"]) == 0
    assert capsys.readouterr().out.startswith("trace(dsp_taxi_300s)\n")


@pytest.mark.parametrize(
    ("text", "near"), [("cosinus", "cosine"), ("cosine(1..2, perod=3)", "period"), ("cosine(1..2", "')'")]
)
def test_a_misspelt_workload_is_one_line(text: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert near in refused(capsys, "workloads", text)


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "windowed-count" in [one["name"] for one in printed(capsys, "models")]
    assert main(["models"]) == 0
    assert "two-queries" in capsys.readouterr().out


def test_config_says_where_every_value_came_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "elastream.yaml"
    file.write_text("executors: {max: 7, min: 2}\npolicy: lag-proportional\ntick_s: 9\n")
    monkeypatch.setenv("ELASTREAM_TICK_S", "8")
    monkeypatch.setenv("ELASTREAM_SLO__DELAY", "40s")
    found = printed(
        capsys, "config", "--config", str(file), "--conf", "spark.elastream.slo.delay=30s", "--set", "executors.max=20"
    )
    assert found["executors.max"] == {"value": 20, "from": "--set executors.max"}
    assert found["slo.delay"] == {"value": 30, "from": "spark.elastream.slo.delay"}
    assert found["tick_s"] == {"value": 8, "from": "ELASTREAM_TICK_S"}
    assert found["executors.min"] == {"value": 2, "from": str(file)}
    assert found["journal.keep"] == {"value": 20, "from": "default"}
    assert found["policy_settings.window_s"] == {"value": 60, "from": "default"}


def test_config_hides_what_the_redaction_pattern_names(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "config", "--conf", "spark.redaction.regex=(?i)POLICY", "--set", "policy=fixed")
    assert "redacted" in found["policy"]["value"]


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["--set", "executors.mx=3"], "did you mean 'max'?"),
        (["--set", "policy=treshold"], "did you mean 'threshold'?"),
        (["--set", "policy=threshold", "--set", "policy_settings.hihg=1"], "did you mean 'high'?"),
        (["--set", "executors"], "write it as KEY=VALUE"),
        (["--set", "executors.max=0"], "found '0'"),
        (["--config", "none.yaml"], "none.yaml: cannot be read"),
    ],
)
def test_wrong_settings_are_one_line(arguments: list[str], near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert near in refused(capsys, "config", *arguments)

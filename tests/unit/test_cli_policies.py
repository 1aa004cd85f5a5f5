"""`elastream policies`: every policy with its document, its settings, and how it runs where."""

import json

import pytest

from elastream.cli import main
from elastream.policies import policies


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def test_every_policy_is_listed_with_its_document_settings_and_platforms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert set(listed) == set(policies.names())
    for name, one in listed.items():
        assert one["from"], f"{name} does not say where it comes from"
        assert {setting["name"] for setting in one["settings"]} >= {"interval_s"}
        assert one["platforms"].keys() == {"simulator", "dataflow", "spark"}
    assert "ICCCN 2021" in listed["gesscale"]["from"]


def test_a_preset_shows_whose_it_is_and_what_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies"]) == 0
    shown = capsys.readouterr().out
    after = shown[shown.index("gesscale-code") :].splitlines()
    assert [line.strip() for line in after[1:3]] == [
        "gesscale, but for these settings:",
        "shrink_to=threshold, least=2, most=6, overloads=2, warm_up=5m",
    ]


def test_what_a_policy_would_use_and_a_platform_lacks_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "--json"]) == 0
    every = {one["name"]: one["platforms"] for one in json.loads(capsys.readouterr().out)}
    assert every["gesscale"]["dataflow"] == every["thr-nlaware"]["dataflow"] == "has all signals"
    listed = {name: fits["spark"] for name, fits in every.items()}
    assert listed["gesscale"] == "runs with arrived for backpressure-time, without worker-place, place-choice"
    assert listed["thr-nlaware"] == "runs without worker-place, place-choice"
    assert listed["thr-nlunaware"] == "has all signals"


def test_who_is_misled_on_micro_batches_and_by_how_much_is_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "--json"]) == 0
    every = {one["name"]: one["on_micro_batches"] for one in json.loads(capsys.readouterr().out)}
    assert every["hpa-80"].startswith("misled: ")
    assert every["hpa-80-learned"].startswith("keeps up, ")
    assert every["fixed"] is None
    assert main(["policies"]) == 0
    shown = capsys.readouterr().out
    assert "on micro-batches" in shown
    assert "python -m experiments.micro_batches" in shown
    assert main(["policies", "hpa-80"]) == 0
    assert f"on micro-batches: {every['hpa-80']}" in " ".join(capsys.readouterr().out.split())


def test_no_word_is_cut_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["policies"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not [line for line in lines if "\N{HORIZONTAL ELLIPSIS}" in line]
    assert max(map(len, lines)) <= 60

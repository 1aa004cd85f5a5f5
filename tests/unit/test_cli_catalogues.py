"""`elastream guards`, `faults` and `models NAME`, and the names that a shell completes."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from elastream.cli import main
from elastream.cli.commands import faults as faults_command
from elastream.cli.commands import guards as guards_command
from elastream.cli.parsing.texts import read_guards
from elastream.config import build_guards, guards
from elastream.experiments.named_settings import parse_faults
from elastream.simulator.catalogue import MODELS, measured_jobs
from elastream.simulator.faults import faults
from elastream.simulator.published import PUBLISHED
from tests.foreign import install


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("command", "known"), [("guards", guards), ("faults", faults)])
def test_every_one_is_listed_with_its_settings_and_an_example(
    command: str, known: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = printed(capsys, command)
    assert [one["name"] for one in listed] == list(known.names())
    assert all(one["doc"] and one["example"].startswith("elastream simulate --") for one in listed)
    assert main([command]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in known.names())


def test_the_examples_are_ones_that_work(capsys: pytest.CaptureFixture[str]) -> None:
    for one in printed(capsys, "guards"):
        build_guards(read_guards([shlex.split(one["example"])[-1]]))
    for one in printed(capsys, "faults"):
        assert parse_faults([shlex.split(one["example"])[-1]])
    assert set(guards_command.CALLS) == {name for name in guards.names() if guards.settings(name)}
    assert set(faults_command.CALLS) <= set(faults.names())


@pytest.mark.parametrize("name", ["cool-down", "cool_down"])
def test_one_guard_shows_its_settings_under_its_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guards", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith("cool-down: No change for `after` seconds after a change.")
    assert re.search(r"after +duration +5m", out)
    assert "try: elastream simulate --guard 'cool-down(after=2m)'" in out
    assert printed(capsys, "guards", name)["settings"][0]["name"] == "after_s"


def test_one_fault_shows_its_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "straggler"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"at +duration +required +when it begins", out)
    assert re.search(r"for +duration +forever", out)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["guards", "coldown"], "unknown guard 'coldown'; did you mean 'cool-down'?"),
        (["faults", "worker-los"], "unknown fault 'worker-los'; did you mean 'worker-loss'?"),
        (["models", "wordcout"], "unknown model 'wordcout'; did you mean 'wordcount'?"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"elastream: {told}\n"


@pytest.mark.parametrize("name", [*MODELS, *measured_jobs(), *PUBLISHED])
def test_every_model_shows_its_numbers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{name}: ")
    assert f"try: elastream simulate --model {name}" in out
    found = printed(capsys, "models", name)
    assert found["numbers"]["name"] == name


def test_a_model_shows_its_numbers_and_where_they_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    measured = printed(capsys, "models", "wordcount")
    assert measured["from"] == "measured from a recorded run of the job: simulator/measured_jobs/wordcount.yaml"
    assert measured["numbers"]["queries"][0]["plan_s"] == 0.18
    assert printed(capsys, "models", "enrich")["from"].startswith("measured nowhere")
    assert printed(capsys, "models", "heron-wordcount")["from"].startswith("from a published document")


def completed(*words: str, **more: str) -> list[str]:
    """What bash would offer for the last word, and nothing is said besides; `more` stands in the environment."""
    asked = {"_ELASTREAM_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "elastream"],
        env={**os.environ, **asked, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_completes_names() -> None:
    assert completed("elastream", "simulate", "--policy", "thres") == ["threshold", "threshold-learned"]
    assert completed("elastream", "run", "--guard", "cool") == ["cool-down"]
    assert completed("elastream", "models", "two") == ["two-queries"]
    assert completed("elastream", "workloads", "kanis-cosine-q3") == ["kanis-cosine-q3"]
    assert completed("elastream", "gua") == ["guards"]


def test_what_cannot_be_completed_is_not_told_in_the_middle_of_a_line(tmp_path: Path) -> None:
    install(tmp_path, "theirs", {"elastream.guards": {"coolest": "nowhere:Mine", "budget": "nowhere:Mine"}})
    path = os.pathsep.join([*sys.path, str(tmp_path)])
    assert completed("elastream", "run", "--guard", "cool", PYTHONPATH=path) == ["cool-down"]


def test_commands_are_shown_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    places = [out.index(group) for group in ("Your job", "Laboratory", "Catalogues", "Development")]
    assert places == sorted(places)
    assert places[0] < out.index(" run ") < places[1] < out.index(" simulate ") < places[2] < out.index(" guards ")

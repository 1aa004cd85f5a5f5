"""Runs with policies and guards of others: on the command line, in settings, in a driver and in journals."""

import json
import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from elastream.attachment.assembly import resolve_settings
from elastream.cli import main
from elastream.cli.commands.produce import _source_options
from elastream.config import resolve
from elastream.core.errors import BadInput, JournalError
from elastream.experiments.run_folder import find_journal
from elastream.journal.reader import read
from elastream.journal.replay import replay
from tests.foreign import JOB, POLICY, WORKLOAD, install, write_module

SHORT = ["simulate", "--duration", "5m"]
_numbers = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the present folder, of a name that no other test has imported."""
    for name in os.environ:
        if name.startswith("ELASTREAM_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    # What a command adds to the path goes with the test.
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("elastream.core.module_search._folders", [])
    name = f"theirs_{next(_numbers)}"
    write_module(tmp_path, name, POLICY)
    return name


def recorded(module: str, *more: str) -> Path:
    assert main([*SHORT, "--policy", f"{module}:Mine(workers=4)", "--out", "runs", *more]) == 0
    return Path("runs") / f"{module}-Mine"


def test_a_command_finds_a_policy_in_the_folder_it_is_started_in(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHORT, "--policy", f"{module}:Mine(workers=4)", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["policy"] == f"{module}:Mine(workers=4)"
    assert run["settings"] == {"workers": 4, "interval_s": 30.0}


def test_a_workload_of_others_that_needs_settings_shows_them(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_module(Path.cwd(), f"{module}_load", WORKLOAD.replace("rps: float = 100.0", "rps: float"))
    assert main(["workloads", f"{module}_load:Flat", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["doc"] == "The same all the time."
    assert [one["name"] for one in shown["settings"]] == ["rps"]


def test_no_command_looks_there_unless_a_class_is_named(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--policy", "fixed(workers=3)", "--json"]) == 0
    assert str(Path.cwd()) not in sys.path


def test_a_guard_and_a_workload_of_others_take_part(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_module(Path.cwd(), f"{module}_load", WORKLOAD)
    load = ["--workload", f"{module}_load:Flat(500)"]
    assert main([*SHORT, *load, "--policy", f"{module}:Mine", "--guard", f"{module}:Cap(workers=1)", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["workload"] == f"{module}_load:Flat(500)"
    assert told["guards"][f"{module}:Cap"] == {"workers": 1}
    # Two at the start, and one from the first decision on.
    assert told["runs"][0]["summary"]["worker_hours_paid"] < 2 * 300 / 3600


def test_a_job_of_others_is_shown_as_ours_are_and_its_stream_can_be_produced(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_module(Path.cwd(), f"{module}_job", JOB)
    assert main(["jobs", f"{module}_job:Pass", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["settings"][0]["name"] == "keys"
    options, _ = _source_options(f"{module}_job:Pass(keys=4)", "constant(5)", {})
    assert options["generator"] == "keyed"
    # What is no job is a generator of others.
    assert _source_options(f"{module}:Mine", "constant(5)", {})[0]["generator"] == f"{module}:Mine"
    with pytest.raises(BadInput, match="has no stream 'evnts'; did you mean 'events'"):
        _source_options(f"{module}_job:Pass/evnts", "constant(5)", {})


def test_a_settings_file_may_name_a_policy_and_a_guard_of_its_writer(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"policy: {module}:Mine\npolicy_settings: {{workers: 5}}\nguards: {{'{module}:Cap': {{workers: 2}}}}\n"
    Path("mine.yaml").write_text(text, encoding="utf-8")
    assert main(["config", "--config", "mine.yaml", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["policy"]["value"] == f"{module}:Mine"
    assert shown["policy_settings.workers"]["value"] == 5
    assert shown[f"guards.{module}:Cap.workers"] == {"value": 2, "from": "mine.yaml"}
    assert main([*SHORT, "--config", "mine.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["settings"]["workers"] == 5


@pytest.mark.parametrize(
    "arguments", [["--policy", "{}:Mien"], ["--guard", "{}:Cpa"], ["--conf", "spark.elastream.guards.{}:Cpa.workers=2"]]
)
def test_a_class_that_is_not_there_is_told_in_one_line(
    module: str, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main([*SHORT, *(word.replace("{}", module) for word in arguments)]) == 2
    err = capsys.readouterr().err
    assert "has no class" in err
    assert err.count("\n") == 1


def test_the_settings_of_a_driver_may_name_them_too(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    conf = {
        "spark.elastream.policy": f"{module}:Mine",
        "spark.elastream.policy_settings.workers": "6",
        f"spark.elastream.guards.{module}:Cap.workers": "2",
    }
    settings, policy = resolve_settings({}, conf)
    assert type(policy).__name__ == "Mine"
    assert settings.guards[f"{module}:Cap"] == {"workers": 2}
    assert list(settings.build_guards())[-1] == f"{module}:Cap"
    with pytest.raises(BadInput, match="there is no module 'nowhere'"):
        resolve_settings({"policy": "nowhere:Mine"}, {})


def test_the_class_of_a_stream_is_one_name_in_the_settings_of_probes() -> None:
    conf = {"spark.elastream.probes.com.example.QueueStream": "my_probes:Queue"}
    found = resolve({}, conf, {}, None)
    assert found.settings.probes == {"com.example.QueueStream": "my_probes:Queue"}
    assert found.origins["probes.com.example.QueueStream"].origin == "spark.elastream.probes.com.example.QueueStream"
    with pytest.raises(BadInput, match=r"write probes\.<class of the stream>"):
        resolve({"probes": "my_probes:Queue"}, {}, {}, None)


def test_a_journal_alone_has_nothing_imported(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(module)
    del sys.modules[module]
    capsys.readouterr()
    assert main(["replay", str(folder)]) == 1
    err = capsys.readouterr().err
    assert f"nothing is imported because a journal names it; --trust {module}:Mine allows it" in err
    assert err.count("\n") == 1
    assert module not in sys.modules
    for command in (["why", str(folder)], ["page", str(folder), "--out", "page.html"]):
        assert main(command) == 0
    assert module not in sys.modules


def test_what_the_user_trusts_is_planned_again_as_it_was(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(module)
    assert main(["replay", str(folder), "--trust", f"{module}:Mine"]) == 0
    assert "61 ticks planned again, 0 decided otherwise" in capsys.readouterr().out
    assert main(["replay", str(folder), "--policy", f"{module}:Mine(workers=4)"]) == 0
    assert main(["replay", str(folder), "--policy", "fixed(workers=9)"]) == 1
    assert read(find_journal(folder)).parts[0].header.policy == f"{module}:Mine"


def test_guards_of_others_in_a_journal_need_the_users_word_as_well(module: str) -> None:
    folder = recorded(module, "--guard", f"{module}:Cap")
    with pytest.raises(JournalError, match=f"the guard is {module}:Cap"):
        replay(read(find_journal(folder)), trusted=[f"{module}:Mine"])
    assert not replay(read(find_journal(folder)), trusted=[f"{module}:Mine", f"{module}:Cap"]).differences


def test_what_is_trusted_and_not_there_is_told_in_one_line(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recorded(module)
    del sys.modules[module]
    Path(f"{module}.py").unlink()
    capsys.readouterr()
    assert main(["replay", str(folder), "--trust", f"{module}:Mine"]) == 2
    assert f"policy {module}:Mine: there is no module '{module}'" in capsys.readouterr().err


def test_what_a_package_announces_is_listed_by_every_command(module: str, tmp_path: Path) -> None:
    write_module(tmp_path, f"{module}_load", WORKLOAD)
    write_module(tmp_path, f"{module}_job", JOB)
    announced = {
        "elastream.policies": {"mine": f"{module}:Mine", "broken": f"{module}:NoPolicy", "moody": f"{module}:Moody"},
        "elastream.jobs": {"theirs": f"{module}_job:Pass", "fussy": f"{module}_job:Fussy"},
        "elastream.guards": {"my-cap": f"{module}:Cap"},
        "elastream.workloads": {"flat": f"{module}_load:Flat"},
    }
    install(tmp_path, "others", announced)
    # In a process of its own: what is announced is looked for once.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(tmp_path)])}

    def run(*words: str) -> tuple[str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "elastream", *words], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    listed, told = run("policies", "--json")
    assert {"fixed", "mine", "moody"} < {one["name"] for one in json.loads(listed)}
    assert told.startswith("left out: policy broken of package others: it is no policy")
    assert told.count("\n") == 1
    listed, told = run("jobs", "--json")
    assert {"wordcount", "theirs"} < {one["name"] for one in json.loads(listed)}
    assert told == "left out: job fussy needs the setting 'column'\n"
    out, told = run(*SHORT, "--policy", "mine(workers=2)", "--guard", "my-cap", "--workload", "flat(200)", "--json")
    assert json.loads(out)["guards"]["my_cap"] == {"workers": 2}
    assert told == ""

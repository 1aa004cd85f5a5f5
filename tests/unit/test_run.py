"""`elastream run`: what it starts, and what it refuses before anything is started."""

import os
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.launch import LAUNCHER
from elastream.launch.orders import LaunchOrders, read_orders


class Started(Exception):
    def __init__(self, program: str, arguments: list[str]) -> None:
        super().__init__()
        self.arguments = arguments


@pytest.fixture(autouse=True)
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in os.environ:
        if name.startswith("ELASTREAM_"):
            monkeypatch.delenv(name)
    # The exception of the fake is to be seen.
    monkeypatch.setenv("ELASTREAM_DEBUG", "1")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "app.py"
    path.write_text("")

    def started(program: str, arguments: list[str]) -> None:
        raise Started(program, arguments)

    monkeypatch.setattr(os, "execv", started)
    return path


def orders(*arguments: str) -> LaunchOrders:
    """What would be started."""
    with pytest.raises(Started) as started:
        main(["run", *arguments])
    assert started.value.arguments[1] == str(LAUNCHER)
    return read_orders(started.value.arguments[2:])


def test_options_become_settings_and_properties(tmp_path: Path) -> None:
    found = orders(
        "--policy", "threshold(high=0.9)", "--executors", "2:16", "--slo", "30s", "--journal", "runs/app",
        "--set", "tick_s=2", "--master", "spark://host:7077", "--cores", "2", "--memory", "2g",
        "--conf", "spark.locality.wait=1s", "--kafka", "--dry-run", "--quiet", "app.py",
    )  # fmt: skip
    assert found.settings == {
        "tick_s": "2",
        "policy": "threshold",
        "policy_settings.high": "0.9",
        "executors.min": "2",
        "executors.max": "16",
        "slo.delay": "30.0",
        "journal.folder": str(tmp_path / "runs" / "app"),
        "guards.pause.mode": "dry-run",
    }
    assert found.conf == {
        "spark.locality.wait": "1s",
        "spark.master": "spark://host:7077",
        "spark.executor.cores": "2",
        "spark.executor.memory": "2g",
    }
    assert (found.kafka, found.quiet) == (True, True)


def test_a_file_for_the_token_has_the_page_served(tmp_path: Path) -> None:
    assert orders("--page-token", "token", "app.py").settings == {
        "page.serve": "True", "page.token": str(tmp_path / "token")
    }  # fmt: skip


def test_an_option_of_ours_behind_the_script_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert orders("app.py", "--executors", "2..4", "--slo=9s", "--own", "--", "--policy", "x").settings == {}
    assert capsys.readouterr().err == (
        "elastream: --executors, --slo stand behind app.py and go to the script; "
        "what is meant for elastream stands before it\n"
    )
    orders("app.py", "--own", "7")
    orders("--quiet", "app.py", "--slo", "9s")
    assert capsys.readouterr().err == ""


def test_guards_and_a_file_of_settings_reach_the_launcher(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("executors: 2..6\n")
    found = orders("--guard", "step-limit(up=2)", "--guard", "scarce-cluster", "--config", "run.yaml", "app.py")
    assert found.settings == {"guards.step_limit.up": "2", "guards.scarce_cluster": "True"}
    assert found.config == tmp_path / "run.yaml"


def test_what_stands_behind_the_script_goes_to_the_script() -> None:
    found = orders("app.py", "--help", "--policy", "x", "--", "-y")
    assert found.arguments == ("--help", "--policy", "x", "--", "-y")
    assert not found.settings


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.py"], "missing.py: there is no such file; name the application's .py file"),
        (["."], ".: it is not a Python script; name the application's .py file"),
        (["--policy", "thresold", "app.py"], "unknown policy 'thresold'; did you mean 'threshold'?"),
        (["--executors", "9:2", "app.py"], "--executors: found '9:2'; the bounds must be 1 <= min <= max"),
        (["--memory", "lots", "app.py"], "--memory: found 'lots'; write it as 512m or 2g"),
        (["--set", "tik=2", "app.py"], "no setting 'tik'"),
        (["--master", "local[2]", "app.py"], "master local[2] has no executors that could come and go"),
        (["--master", "clutser", "app.py"], "--master: found 'clutser'; it must be a URL such as spark://host:7077"),
        (["--properties-file", "none.conf", "app.py"], "none.conf: cannot be read: No such file or directory"),
        (["--policy", "threshold,ds2", "app.py"], "--policy: found 'threshold,ds2'; name one policy;"),
        (
            ["--policy", "threshold(high=0.9, low=0.1), ds2", "app.py"],
            "name one policy; `simulate` compares several: repeat --policy",
        ),
        (["--policy", "threshold(hihg=0.9)", "app.py"], "did you mean 'high'?"),
        (["--set", "foo=3", "app.py"], "--set foo: no setting 'foo'; known: executors,"),
        (
            ["--set", "probes.Queue=nowhere", "app.py"],
            "the probe of Queue is 'nowhere'; name a class as",
        ),
        (["--set", "probes.Queue=nowhere:Mine", "app.py"], "probes.Queue: probe nowhere:Mine: there is no module"),
        (["--set", "policy_settings.foo=3", "app.py"], "policy foresight has no setting 'foo'; known: "),
        (["--guard", "cool-dwn", "app.py"], "unknown guard 'cool-dwn'; did you mean 'cool-down'?"),
        (["--guard", "cool-down(aftr=2m)", "app.py"], "guard cool-down has no setting 'aftr'; did you mean 'after'?"),
        (["--set", "guards.cool_dwn.after=2m", "app.py"], "'cool_dwn'; did you mean 'cool-down'?"),
        (["--config", "none.yaml", "app.py"], "none.yaml: cannot be read: No such file or directory"),
        (["--conf", "spark.elastream.executors.max=0", "app.py"], "spark.elastream.executors.max: found '0'"),
    ],
)
def test_what_is_wrong_is_one_line_and_starts_nothing(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ELASTREAM_DEBUG")
    assert main(["run", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert told in err


def test_where_elastream_is_switched_off_a_local_master_is_no_matter() -> None:
    assert orders("--conf", "spark.elastream.enabled=false", "--master", "local[2]", "app.py").conf


def test_the_help_shows_the_line_for_spark_submit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    assert "spark-submit" in capsys.readouterr().out


def test_the_launcher_that_is_printed_exists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["launcher"]) == 0
    assert Path(capsys.readouterr().out.strip()) == LAUNCHER
    assert LAUNCHER.is_file()

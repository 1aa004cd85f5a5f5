"""The command line as a person meets it: names, errors, exit codes, streams."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elastream.cli import app as cli_app
from elastream.cli import main
from elastream.core.errors import JournalError

COMMANDS = (
    "demo", "live", "run", "launcher", "simulate", "why", "page", "replay",
    "policies", "workloads", "models", "jobs", "bench", "config", "produce", "guards", "faults", "report",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith("ELASTREAM_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said about an error: one line on stderr, nothing on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("elastream: ")
    return err.removeprefix("elastream: ").rstrip("\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert "Examples" in out
    assert f"elastream {command}" in out
    assert err == ""


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "simulate" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("elastream ")


def test_a_misspelt_option_gets_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--polcy", "fixed"]) == 2
    assert one_line(capsys) == "no such option --polcy; did you mean --policy?"


def test_a_misspelt_command_gets_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulat"]) == 2
    assert one_line(capsys) == "no such command 'simulat'; did you mean 'simulate'?"


@pytest.mark.parametrize(
    "arguments", [["why"], ["simulate", "--seed", "x"], ["models", "extra"], ["simulate", "--slo"]]
)
def test_every_usage_error_is_one_line_and_exits_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    one_line(capsys)


def test_what_fails_without_the_users_fault_exits_with_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "journal-000001.jsonl").write_text("no journal\n")
    assert main(["why", str(tmp_path)]) == 1
    assert str(tmp_path) in one_line(capsys)


def test_a_bug_is_one_line_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(arguments: object) -> int:
        raise TypeError("oops")

    monkeypatch.setattr(cli_app, "_run", broken)
    assert main(["models"]) == 1
    assert one_line(capsys) == "unexpected TypeError: oops (ELASTREAM_DEBUG=1 shows where)"


def test_a_developer_can_see_the_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "journal-000001.jsonl").write_text("no journal\n")
    monkeypatch.setenv("ELASTREAM_DEBUG", "1")
    with pytest.raises(JournalError):
        main(["why", str(tmp_path)])


def test_the_debug_variable_is_no_setting(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ELASTREAM_DEBUG", "1")
    assert main(["config", "--json"]) == 0
    json.loads(capsys.readouterr().out)


def test_the_list_of_commands_loads_none_of_them() -> None:
    code = (
        "import sys; from elastream.cli import main; main(['--help']); "
        "heavy = {'numpy', 'pydantic', 'yaml', 'pandas', 'pyarrow', 'pyspark', 'duckdb', 'rich.live'}; "
        "found = [name for name in sys.modules if name in heavy or name.startswith('elastream.cli.commands.')]; "
        "sys.exit(str(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_elastream_loads_nothing_and_its_names_exist() -> None:
    code = (
        "import sys, elastream; assert not {'numpy', 'pydantic'} & sys.modules.keys(); "
        "[getattr(elastream, name) for name in elastream.__all__]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_interrupted_command_says_so_in_one_line() -> None:
    command = [sys.executable, "-m", "elastream", "simulate", "--workload", "50k", "--duration", "2000h"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()  # the run has begun
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert "has all signals" in first
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "elastream: interrupted"
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = [sys.executable, "-m", "elastream", "workloads", "cosine(1..100)", "--duration", "20h", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize("wanted", [{"NO_COLOR": "1"}, {}])
def test_a_pipe_gets_no_colours(wanted: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    command = [sys.executable, "-m", "elastream", "workloads", "cosine(1k..2k)"]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, **wanted})
    assert b"\x1b" not in done.stdout


def test_a_terminal_without_blocks_gets_plain_characters() -> None:
    command = [sys.executable, "-m", "elastream", "workloads", "cosine(1k..2k)"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=True, env=env)
    assert done.stdout.isascii()
    assert b"#" in done.stdout


def test_the_demo_works_without_a_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "elastream", "demo", "--simulated"], capture_output=True, text=True, check=True
    )
    assert "Traceback" not in done.stderr
    for policy in ("fixed(workers=9)", "threshold", "lag-proportional", "foresight"):
        assert policy in done.stdout
    assert "did best" in done.stdout
    assert "Where to go next" in done.stdout

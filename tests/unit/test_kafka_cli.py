"""`elastream kafka` where no broker runs."""

import json
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.daemons.processes import Process
from elastream.development.kafka.folder import BrokerFolder, BrokerState

GONE = Process(pid=1, started="before the flood", owner=0, command=("init",))


@pytest.mark.parametrize("command", ["up", "down", "status"])
def test_every_command_explains_itself_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Examples" in out
    assert f"elastream kafka {command}" in out


@pytest.mark.parametrize("wrong", [["--heap", "much"], ["--port", "0"], ["--port", "many"]])
def test_wrong_settings_are_one_line_and_nothing_is_started(
    wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "broker"
    assert main(["kafka", "up", "--json", "--folder", str(folder), *wrong]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert not folder.exists()


def test_without_jars_and_maven_nothing_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELASTREAM_KAFKA_JARS", str(tmp_path / "empty"))
    assert main(["kafka", "up", "--folder", str(tmp_path / "broker")]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"into {tmp_path / 'empty' / 'broker'}" in err
    assert not (tmp_path / "broker").exists()


def test_without_a_broker_there_is_nothing_to_show_or_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--folder", str(tmp_path / "broker")]
    assert main(["kafka", "status", *where]) == 0
    assert "start one: elastream kafka up" in capsys.readouterr().out
    assert main(["kafka", "status", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["up"] is False
    assert main(["kafka", "down", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] is False


def test_a_broker_whose_keeper_was_killed_is_shown_and_cleaned_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = BrokerFolder(path=tmp_path / "broker")
    folder.make()
    folder.make_parts()
    folder.write(BrokerState(supervisor=GONE, daemons={"broker": GONE}, heap="512m", bootstrap="127.0.0.1:1"))
    where = ["--folder", str(folder.path)]
    assert main(["kafka", "status", *where]) == 0
    out = capsys.readouterr().out
    assert "was killed" in out
    assert "supervisor 1 (gone), broker 1 (gone)" in out
    assert "clean up: elastream kafka down --folder" in out
    assert main(["kafka", "down", *where]) == 0
    assert "are gone" in capsys.readouterr().out
    assert not folder.path.exists()

"""`elastream cluster` where no cluster runs."""

import json
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.daemons.processes import Process
from elastream.development.cluster.folder import ClusterFolder, ClusterState

GONE = Process(pid=1, started="before the flood", owner=0, command=("init",))


@pytest.mark.parametrize("command", ["up", "down", "status"])
def test_every_command_explains_itself_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "Examples" in out
    assert f"elastream cluster {command}" in out


def test_the_group_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "--help"]) == 0
    assert "elastream cluster up" in capsys.readouterr().out


def test_a_misspelt_command_gets_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "stauts"]) == 2
    assert capsys.readouterr().err == "elastream: no such command 'stauts'; did you mean 'status'?\n"


@pytest.mark.parametrize("wrong", [["--workers", "0"], ["--cores", "none"], ["--memory", "much"]])
def test_wrong_settings_are_one_line_and_nothing_is_started(
    wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cluster"
    assert main(["cluster", "up", "--json", "--folder", str(folder), *wrong]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert not folder.exists()


def test_without_a_cluster_there_is_nothing_to_show_or_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--folder", str(tmp_path / "cluster")]
    assert main(["cluster", "status", *where]) == 0
    assert "start one: elastream cluster up" in capsys.readouterr().out
    assert main(["cluster", "status", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["up"] is False
    assert main(["cluster", "down", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] is False


def test_a_cluster_whose_keeper_was_killed_is_shown_and_cleaned_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ClusterFolder(path=tmp_path / "cluster")
    folder.make()
    folder.write(
        ClusterState(supervisor=GONE, daemons={"master": GONE}, workers=1, cores=1, memory="1g", master="spark://x")
    )
    where = ["--folder", str(folder.path)]
    assert main(["cluster", "status", *where]) == 0
    out = capsys.readouterr().out
    assert "was killed" in out
    assert "supervisor 1 (gone), master 1 (gone)" in out
    assert "clean up: elastream cluster down --folder" in out
    assert main(["cluster", "down", *where]) == 0
    assert "are gone" in capsys.readouterr().out
    assert not folder.path.exists()

"""Files that others left: what has no end, or never begins, is refused in a line and read no further."""

import os
from pathlib import Path
from threading import Thread

import pytest

from elastream.cli.app import run
from elastream.core.input_file import MOST_BYTES, open_input, read_input


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_file_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("größe: 1\n", encoding="utf-8")
    (tmp_path / "link").symlink_to("file")
    assert read_input(tmp_path / "link") == "größe: 1\n"


def test_devices_pipes_and_folders_are_no_files(tmp_path: Path, pipe: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (Path("/dev/zero"), tmp_path / "link", pipe):
        with pytest.raises(OSError, match="this is a device or a pipe, and no file"):
            open_input(path)
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        open_input(tmp_path)


def test_a_pipe_that_a_person_names_is_read(pipe: Path) -> None:
    writer = Thread(target=pipe.write_text, args=("policy: ds2\n",))
    writer.start()
    assert read_input(pipe, may_be_pipe=True) == "policy: ds2\n"
    writer.join()


def test_no_text_is_read_that_is_longer_than_texts_are(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    for path in (tmp_path / "large", Path("/dev/zero")):
        with pytest.raises(OSError, match="more than 16 MiB"):
            read_input(path, may_be_pipe=True)


@pytest.mark.parametrize(
    "command",
    [
        ["why", "{}"],
        ["page", "{}"],
        ["replay", "{}"],
        ["plan", "check", "{}"],
        ["config", "--config", "{}"],
        ["simulate", "--workload", "trace({})", "--duration", "1m"],
        ["simulate", "--model", "{}.yaml", "--duration", "1m"],
        ["workloads", "trace({})"],
    ],
    ids=" ".join,
)
def test_a_command_that_is_given_a_device_says_so_in_a_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("zeros", "zeros.yaml"):
        (tmp_path / name).symlink_to("/dev/zero")
    assert run([part.format("zeros") for part in command]) in (1, 2)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert "zeros" in shown.err
    assert "device" in shown.err or "more than 16 MiB" in shown.err

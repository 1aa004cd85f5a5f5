"""`elastream watch`."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from elastream.cli import main
from elastream.cli.commands.watch import PatientPage
from elastream.render.page.feed import PageFeed
from elastream.service.place import PagePlace
from elastream.service.server import PageServer
from tests.unit.journal_samples import header, planner, record
from tests.unit.page_samples import calm
from tests.unit.service.asking import free_port
from tests.unit.this_thread import only_here


def test_a_run_that_is_not_begun_yet_is_waited_for_and_then_shown(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "elastream", "watch", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        killer = threading.Timer(60.0, process.kill)
        killer.start()
        try:
            address = next(line.split()[-1] for line in process.stderr if "http://" in line)
            with urlopen(f"{address}stream", timeout=20) as stream:
                record(tmp_path, [100.0, 100.0, 100.0])
                kinds = []
                while "now" not in kinds:
                    line = stream.readline().decode()
                    kinds += [line[7:].strip()] if line.startswith("event: ") else []
            assert kinds[:2] == ["run", "ticks"]
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=20)
        finally:
            killer.cancel()
    assert process.returncode == 130
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-folder"], "there is no such folder"),
        ([".", "--speed", "fast"], "--speed: found 'fast'"),
        ([".", "--speed", "0"], "--speed: found '0'"),
        ([".", "--log", "xml"], "--log: found 'xml'"),
    ],
)
def test_what_cannot_be_watched_is_told_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["watch", *arguments]) == 2

    errors = capsys.readouterr().err
    assert said in errors
    assert len(errors.strip().splitlines()) == 1


def test_a_recorded_run_is_played_so_many_times_as_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, [100.0] * 4)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) > 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", only_here(sleep, time.sleep))

    assert main(["watch", str(tmp_path), "--speed", "10", "--no-page"]) == 130
    assert slept[:4] == pytest.approx([0.0, 0.5, 0.5, 0.5])


def test_decisions_of_a_journal_are_lines_of_json_for_programs(tmp_path: Path) -> None:
    record(tmp_path, [100.0, 100.0, 900.0])
    with subprocess.Popen(
        [sys.executable, "-m", "elastream", "watch", str(tmp_path), "--no-page", "--log", "json"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        killer = threading.Timer(60.0, process.kill)
        killer.start()
        try:
            first = json.loads(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
        finally:
            killer.cancel()
    assert first["event_name"] == "elastream.decision"
    assert first["attributes"]["elastream.policy"] == "by-arrival"


def test_a_long_recording_is_shown_whole() -> None:
    """The page is told by another thread than reads; what a loop would leave out, a reader waits with."""
    with PageServer(PageFeed(), place=PagePlace(port=free_port())) as server:
        page = PatientPage(server)
        page.begin_run(header(planner()))
        for one in calm(range(1, 600)):
            page.write(one)
        until_s = time.monotonic() + 20
        while len(server.hub.feed.series.at) < 599:
            assert time.monotonic() < until_s
            time.sleep(0.01)

    assert server.hub.dropped == 0

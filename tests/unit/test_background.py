"""A recorder in a thread of its own."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elastream.core.errors import JournalError
from elastream.core.tick import Tick
from elastream.journal import writer as journal
from elastream.journal.background_writer import BackgroundRecorder
from elastream.journal.reader import read
from elastream.journal.replay import replay
from elastream.journal.resume import resume
from elastream.journal.writer import Recorder
from elastream.loop.clock import VirtualClock
from elastream.loop.controller import Controller
from elastream.loop.planner import Planner, Remembered
from tests.unit.journal_samples import UTC_S, ByArrival, Rates, header, observation, planner

RATES = [100.0, 900.0, 400.0] * 20


class Disk:
    """Where snapshots are made, which a test can stop."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.asked = threading.Event()

    def wait(self) -> None:
        self.asked.set()
        assert self.free.wait(10.0)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    found = Disk()
    encode = Remembered.to_json

    def slow(remembered: Remembered) -> dict[str, Any]:
        found.wait()
        return encode(remembered)

    monkeypatch.setattr(Remembered, "to_json", slow)
    yield found
    found.free.set()


class Loop:
    """A run whose journal has small files, so that every few ticks begin a new one with a snapshot."""

    def __init__(self, folder: Path, *, most_waiting: int = 1000) -> None:
        self.planner = planner()
        recorder = Recorder(folder, planner=self.planner, header=header(self.planner), max_bytes=8192, keep=99)
        self.recorder = BackgroundRecorder(recorder, most_waiting=most_waiting).open()
        self._clock = VirtualClock(utc_s=UTC_S)
        platform = Rates(self._clock, RATES)
        self._controller = Controller(platform=platform, planner=self.planner, clock=self._clock, tick_s=5)

    def tick(self) -> Tick:
        tick = self._controller.tick()
        self._clock.sleep_until(self._clock.now_s() + 5.0)
        return tick


def resumed(folder: Path, like: Planner) -> bool:
    again = planner()
    told = resume(again, folder, observation(5.0 * len(RATES), 1e6))
    assert told.startswith("goes on from")
    return again.snapshot() == like.snapshot()


def test_a_snapshot_that_takes_long_holds_up_no_tick_and_all_is_written_in_order_before_close_returns(
    tmp_path: Path, disk: Disk
) -> None:
    disk.free.clear()
    loop = Loop(tmp_path)
    ticks = []
    for _ in RATES:
        ticks.append(loop.tick())
        loop.recorder.write(ticks[-1])
    # The thread stands in its first snapshot, and every tick has been taken.
    assert disk.asked.wait(10.0)
    assert len(list(read(tmp_path).ticks)) < len(RATES) / 2
    disk.free.set()
    loop.recorder.close()

    recording = read(tmp_path)
    assert list(recording.ticks) == ticks
    assert len(recording.parts) > 4
    assert replay(recording, policy=ByArrival()).differences == ()
    assert [part.header.memory for part in recording.parts] == ["here"] * len(recording.parts)
    assert resumed(tmp_path, loop.planner)


def test_what_went_wrong_with_a_tick_is_told_with_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(tmp_path)
    refused = threading.Event()

    def full(file: int, text: bytes) -> None:
        refused.set()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(journal, "_put", full)
        loop.recorder.write(loop.tick())
        assert refused.wait(10.0)
        until_s = time.monotonic() + 10.0
        while loop.recorder._failure is None:
            assert time.monotonic() < until_s
            time.sleep(0.001)
    with pytest.raises(JournalError, match=r"tick 1 is not recorded: .*No space left"):
        loop.recorder.write(loop.tick())
    loop.recorder.write(loop.tick())
    loop.recorder.close()

    assert [tick.number for tick in read(tmp_path).ticks] == [2, 3]
    assert replay(read(tmp_path), policy=ByArrival()).differences == ()


def test_ticks_that_a_silent_disk_has_no_room_for_are_told_and_later_ones_can_be_replayed(
    tmp_path: Path, disk: Disk
) -> None:
    disk.free.clear()
    loop = Loop(tmp_path, most_waiting=3)
    lost = []
    for number in range(1, len(RATES) + 1):
        tick = loop.tick()
        if number <= 20:
            # The thread keeps up until it stands in a snapshot; from then on it takes nothing.
            while loop.recorder.waiting and not disk.asked.is_set():
                time.sleep(0.001)
            try:
                loop.recorder.write(tick)
            except JournalError as told:
                lost.append(str(told))
        else:
            disk.free.set()
            while loop.recorder.waiting:
                time.sleep(0.001)
            loop.recorder.write(tick)
    loop.recorder.close()

    found = replay(read(tmp_path), policy=ByArrival())
    assert len(lost) > 5
    assert lost[-1] == "the disk does not keep up: tick 20 is not recorded"
    assert (found.missing, found.differences, found.unknown) == (len(lost), (), 0)
    assert found.ticks == len(RATES) - len(lost)
    assert resumed(tmp_path, loop.planner)


def test_a_journal_that_is_closed_can_be_taken_by_the_next(tmp_path: Path) -> None:
    for _ in range(2):
        loop = Loop(tmp_path)
        loop.recorder.write(loop.tick())
        loop.recorder.close()
    assert len(read(tmp_path).parts) == 2

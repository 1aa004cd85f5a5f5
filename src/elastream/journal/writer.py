"""The recorder: writes every tick to a folder of numbered files, and never more bytes than it was given.

No file has more than `max_bytes`, and there are never more than `keep` of them. What does not fit is not written; room
for a new file is made before it is begun, by dropping the oldest.
"""

from __future__ import annotations

import contextlib
import logging
import os
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Literal

from elastream.config import JournalSettings
from elastream.core.errors import JournalError
from elastream.core.log import log
from elastream.core.tick import Tick
from elastream.journal.folder_lock import FolderLock
from elastream.journal.format import (
    Dropped,
    Header,
    dropped_line,
    fingerprint,
    header_line,
    shape,
    snapshot_line,
    tick_line,
)
from elastream.loop.planner import Planner, Remembered

_DEFAULT = JournalSettings()
_PREFIX, _SUFFIX = "journal-", ".jsonl"


class NotTaken(Enum):
    """What was remembered, where nobody has kept it."""

    NOT_TAKEN = "not taken"


NOT_TAKEN = NotTaken.NOT_TAKEN
Memory = Remembered | None | Literal[NotTaken.NOT_TAKEN]
"""What was remembered at some moment: nothing (None), or something that was not kept."""


class Recorder:
    """A journal on disk. Open it before the first tick: what the planner remembers then goes ahead of it.

    A file is begun with the first tick that goes into it and never opened again. When something fails, the file is
    given up (its last line may be torn), and the next tick begins a new one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        planner: Planner,
        header: Header,
        max_bytes: int = _DEFAULT.max_bytes,
        keep: int = _DEFAULT.keep,
    ) -> None:
        self.folder = folder
        self._planner = planner
        self._header = header
        self._max_bytes = max_bytes
        self._keep = keep
        self._lock = FolderLock(folder)
        self._file: int | None = None
        self._bytes = self._largest = 0
        self._before: Memory = None
        self._follows = False
        self._dropped = Dropped()
        self._told_too_large = False

    def open(self) -> Recorder:
        """Take the folder; JournalError if another process has it."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as wrong:
            raise JournalError(f"{self.folder}: cannot be made: {wrong.strerror}") from wrong
        self._lock.acquire()
        self._before = self._remember()
        return self

    def __enter__(self) -> Recorder:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def remember(self, waiting: int = 0) -> Memory:
        """What the planner remembers now, if a file may be begun before this is asked again but for so many times.

        With many workers that is a copy of many readings, so it is taken only towards the end of a file.
        """
        if self._file is not None and self._bytes + (waiting + 2) * 2 * self._largest < self._max_bytes:
            return NOT_TAKEN
        return self._remember()

    def write(self, tick: Tick) -> None:
        """Write one tick, and see it on disk before returning. Implements Journal."""
        try:
            self.record(tick, self.remember())
        except JournalError:
            # The planner has not gone on yet, so that the next tick can be recorded.
            self._before = self._remember()
            raise

    def record(self, tick: Tick, after: Memory) -> None:
        """Write one tick, after which the planner remembered this."""
        if not self._lock.held:
            raise JournalError(f"{self.folder}: the journal is not open")
        try:
            self._write(tick)
        except Exception as wrong:
            self.skip(after)
            raise JournalError(f"{self.folder}: tick {tick.number} is not recorded: {wrong}") from wrong
        self._before, self._follows = after, True

    def skip(self, after: Memory) -> None:
        """Leave out a tick, after which the planner remembered this."""
        self._end_file()
        self._before, self._follows = after, False

    def close(self) -> None:
        """Let go of the folder."""
        self._end_file()
        self._lock.release()

    def _remember(self) -> Remembered | None:
        return None if self._planner.last is None else self._planner.remember()

    def _write(self, tick: Tick) -> None:
        line = tick_line(tick).encode()
        self._largest = max(self._largest, len(line))
        if self._file is not None and self._bytes + len(line) <= self._max_bytes:
            _put(self._file, line)
            self._bytes += len(line)
        else:
            self._end_file()
            self._begin_file(tick, line)

    def _begin_file(self, tick: Tick, line: bytes) -> None:
        number = max((number_of(path) for path in journal_files(self.folder)), default=0) + 1
        text = self._preamble(tick, len(line)) + line
        self._make_room()
        path = self.folder / f"{_PREFIX}{number:06d}{_SUFFIX}"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        try:
            _put(file, text)
        except BaseException:
            # On a full disk, files without a tick would push those with ticks out of the folder.
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        self._file, self._bytes = file, len(text)

    def _preamble(self, tick: Tick, tick_bytes: int) -> bytes:
        """The lines ahead of the first tick; without a snapshot where that would take more than half of the file."""
        if self._before is NOT_TAKEN and not self._follows:
            raise JournalError("what was remembered before it is gone; recording goes on with the next tick")
        now = tick.observation
        if now is not None:
            self._header = replace(
                self._header, application=now.application, fingerprint=fingerprint(now), shape=shape(now)
            )
        # The files that will be dropped are counted too, so that what is measured is what is written.
        dropped = self._dropped.plus(self._too_many())
        said = dropped_line(dropped) if dropped.files else ""
        if self._before is not NOT_TAKEN:
            snapshot = "" if self._before is None else snapshot_line(self._before.to_json())
            whole = header_line(replace(self._header, memory="here")) + said + snapshot
            if len(snapshot) <= self._max_bytes / 2 and len(whole) + tick_bytes <= self._max_bytes:
                return whole.encode()
            self._tell_too_large(len(snapshot))
        short_header = replace(self._header, memory="before" if self._follows else "lost")
        short = (header_line(short_header) + said).encode()
        if len(short) + tick_bytes > self._max_bytes:
            raise JournalError(
                f"it takes {len(short) + tick_bytes:,} bytes and a file may have {self._max_bytes:,}; "
                "raise journal.max_bytes"
            )
        return short

    def _tell_too_large(self, snapshot_bytes: int) -> None:
        if snapshot_bytes and not self._told_too_large:
            self._told_too_large = True
            log.warning(
                "journal: what is remembered takes %s bytes, too much for a file of %s: once its first file is "
                "dropped, the run can be read but not resumed; raise journal.max_bytes",
                f"{snapshot_bytes:,}",
                f"{self._max_bytes:,}",
            )

    def _end_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None

    def _too_many(self) -> list[tuple[Path, int]]:
        """The oldest files, and their sizes, that must go before one more may be as large as it likes."""
        found = [(path, path.stat().st_size) for path in journal_files(self.folder)]
        total = sum(size for _, size in found)
        gone = 0
        while gone < len(found) and (len(found) - gone >= self._keep or total > self._max_bytes * (self._keep - 1)):
            total -= found[gone][1]
            gone += 1
        return found[:gone]

    def _make_room(self) -> None:
        oldest = self._too_many()
        for path, _ in oldest:
            try:
                path.unlink(missing_ok=True)
            except OSError as wrong:
                raise JournalError(f"{path} cannot be deleted to make room: {wrong.strerror}") from wrong
        if oldest:
            # The first is news; that it goes on is not.
            level = logging.INFO if self._dropped.files else logging.WARNING
            self._dropped = self._dropped.plus(oldest)
            log.log(
                level,
                "journal: the oldest part is dropped, up to %s: %s files of at most %s bytes are kept",
                self._dropped.last,
                self._keep,
                f"{self._max_bytes:,}",
            )


def journal_files(folder: Path) -> list[Path]:
    """The files of a folder, oldest first."""
    return sorted((path for path in folder.glob(f"{_PREFIX}*{_SUFFIX}") if number_of(path)), key=number_of)


def number_of(path: Path) -> int:
    """The number in a file's name; 0 if it is no journal."""
    digits = path.name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return int(digits) if digits.isdecimal() else 0


def _put(file: int, text: bytes) -> None:
    """Hand all of it to the system; what a crash of this process cannot take back is what counts as written."""
    left = memoryview(text)
    while left:
        left = left[os.write(file, left) :]

"""The recorder: writes every tick to a folder of numbered files, each of which can be replayed alone."""

from __future__ import annotations

import contextlib
import logging
import os
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from elastream.config import JournalSettings, Redaction
from elastream.core.errors import JournalError
from elastream.core.tick import Tick
from elastream.loop.folder_lock import FolderLock
from elastream.loop.journal_format import Header, fingerprint, header_line, shape, snapshot_line, tick_line
from elastream.loop.planner import Planner

log = logging.getLogger("elastream")

_DEFAULT = JournalSettings()
_PREFIX, _SUFFIX = "journal-", ".jsonl"


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
        redaction: Redaction | None = None,
    ) -> None:
        self.folder = folder
        self._planner = planner
        self._header = header
        self._max_bytes = max_bytes
        self._keep = keep
        self._redaction = redaction or Redaction()
        self._lock = FolderLock(folder)
        self._file: int | None = None
        self._remembered: str | None = None
        self._is_remembered = False
        self._preamble_bytes = self._tick_bytes = 0

    def open(self) -> Recorder:
        """Take the folder; JournalError if another process has it."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as wrong:
            raise JournalError(f"{self.folder}: cannot be made: {wrong.strerror}") from wrong
        self._lock.acquire()
        self._remember()
        return self

    def __enter__(self) -> Recorder:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def write(self, tick: Tick) -> None:
        """Write one tick, and see it on disk before returning."""
        if not self._lock.held:
            raise JournalError(f"{self.folder}: the journal is not open")
        try:
            self._write(tick)
        except Exception as wrong:
            self._next_file()
            raise JournalError(f"{self.folder}: tick {tick.number} is not recorded: {wrong}") from wrong
        # A snapshot may be larger than a file should be; there must be more of ticks than of snapshots in any case.
        if self._tick_bytes >= max(self._max_bytes - self._preamble_bytes, self._preamble_bytes):
            self._next_file()

    def close(self) -> None:
        """Let go of the folder."""
        self._end_file()
        self._lock.release()

    def _write(self, tick: Tick) -> None:
        if not self._is_remembered:
            # What was remembered before this tick is gone, so that it could not be planned again; the next one can.
            self._remember()
            raise JournalError("recording goes on with the next tick")
        line = tick_line(tick, self._redaction)
        if self._file is None:
            self._begin_file(tick, line)
        else:
            _put(self._file, line)
        self._tick_bytes += len(line)

    def _next_file(self) -> None:
        """Let the next tick begin a file, with what is remembered now at its top."""
        self._end_file()
        self._is_remembered = False
        # If this fails, the next tick tries again, and says why it failed.
        with contextlib.suppress(Exception):
            self._remember()

    def _remember(self) -> None:
        """Note what the planner remembers now, for the top of the next file."""
        fresh = self._planner.last is None
        self._remembered = None if fresh else snapshot_line(self._planner.snapshot(), self._redaction)
        self._is_remembered = True

    def _begin_file(self, tick: Tick, line: str) -> None:
        numbers = [number_of(path) for path in journal_files(self.folder)]
        path = self.folder / f"{_PREFIX}{max(numbers, default=0) + 1:06d}{_SUFFIX}"
        preamble = self._preamble(tick)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        try:
            _put(file, preamble + line)
        except BaseException:
            # On a full disk, files without a tick would push those with ticks out of the folder.
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        self._file, self._preamble_bytes, self._tick_bytes = file, len(preamble), 0
        self._forget_oldest()

    def _preamble(self, tick: Tick) -> str:
        now = tick.observation
        if now is not None:
            self._header = replace(
                self._header, application=now.application, fingerprint=fingerprint(now), shape=shape(now)
            )
        return header_line(self._header, self._redaction) + (self._remembered or "")

    def _end_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None

    def _forget_oldest(self) -> None:
        for path in journal_files(self.folder)[: -self._keep]:
            try:
                path.unlink(missing_ok=True)
            except OSError as wrong:
                log.warning("journal: %s cannot be deleted: %s", path, wrong.strerror)


def journal_files(folder: Path) -> list[Path]:
    """The files of a folder, oldest first."""
    return sorted((path for path in folder.glob(f"{_PREFIX}*{_SUFFIX}") if number_of(path)), key=number_of)


def number_of(path: Path) -> int:
    """The number in a file's name; 0 if it is no journal."""
    digits = path.name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return int(digits) if digits.isdecimal() else 0


def _put(file: int, text: str) -> None:
    """Hand all of it to the system; what a crash of this process cannot take back is what counts as written."""
    left = memoryview(text.encode())
    while left:
        left = left[os.write(file, left) :]

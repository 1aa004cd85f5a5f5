"""A recorder in a thread of its own: neither a large snapshot nor a slow disk holds up a tick."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass

from elastream.core.errors import JournalError
from elastream.core.tick import Tick
from elastream.journal.writer import Memory, Recorder

# At five seconds a tick, a disk may be silent for five minutes before ticks are lost.
_MOST_WAITING = 60

# Detaching waits for a disk, and not for ever for one that hangs.
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A tick, and what was remembered after it."""

    tick: Tick
    after: Memory
    lost: bool = False
    """Whether it is left out for want of room; what comes after it must know what was remembered."""


class BackgroundRecorder:
    """Ticks are written in their order; `close` returns when the last one is. Implements Journal.

    What goes wrong with one tick is told with the next.
    """

    def __init__(self, recorder: Recorder, *, most_waiting: int = _MOST_WAITING) -> None:
        self._recorder = recorder
        # Not bounded itself: a tick that was lost and the end are told whatever waits.
        self._entries: queue.Queue[_Entry | None] = queue.Queue()
        self._most_waiting = most_waiting
        self._lost: _Entry | None = None
        self._failure: JournalError | None = None
        self._thread = threading.Thread(target=self._run, name="elastream-journal", daemon=True)

    @property
    def waiting(self) -> int:
        """Ticks that were not begun to be written yet."""
        return self._entries.qsize()

    def open(self) -> BackgroundRecorder:
        """Take the folder, and begin."""
        self._recorder.open()
        self._thread.start()
        return self

    def write(self, tick: Tick) -> None:
        """Hand over one tick, with what is remembered now."""
        after = self._recorder.remember(self.waiting)
        if self.waiting >= self._most_waiting:
            self._lost = _Entry(tick=tick, after=after, lost=True)
            raise JournalError(f"the disk does not keep up: tick {tick.number} is not recorded")
        if self._lost is not None:
            self._entries.put(self._lost)
            self._lost = None
        self._entries.put(_Entry(tick=tick, after=after))
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Write what waits, and let go of the folder."""
        self._entries.put(None)
        self._thread.join(_PATIENCE_S)
        if self._thread.is_alive():
            raise JournalError(f"the disk does not answer: {self.waiting} ticks may be lost")
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while (entry := self._entries.get()) is not None:
                self._record(entry)
        finally:
            self._recorder.close()

    def _record(self, entry: _Entry) -> None:
        if entry.lost:
            self._recorder.skip(entry.after)
            return
        try:
            self._recorder.record(entry.tick, entry.after)
        except JournalError as failure:
            self._failure = failure

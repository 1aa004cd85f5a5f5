"""How far a long command has come, on stderr: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from elastream.cli.terminal.output import error_console, tell
from elastream.cli.terminal.strips import spelt_time

PATIENCE_S = 2.0
"""What is done by then needs no progress."""
LINE_EVERY_S = 5.0
BAR = 20
BESIDE_THE_LABEL = BAR + len(" 100% -:--:-- ") + 3
"""Columns of a terminal that the bar, the share, the time left and the gaps take."""


class Progress:
    """Counts several runs of one length."""

    def __init__(self, runs: int, duration_s: float, *, quiet: bool, clock: Callable[[], float] = time.monotonic):
        self._total_s = runs * duration_s
        self._duration_s = duration_s
        self._quiet = quiet
        self._clock = clock
        self._began = self._told = clock()
        self._finished = 0
        self._label = ""
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, label: str) -> None:
        """The next run."""
        self._label = label

    def at(self, at_s: float) -> None:
        """The present run has come so far."""
        now = self._clock()
        if self._quiet or now - self._began < PATIENCE_S:
            return
        done = (self._finished * self._duration_s + at_s) / self._total_s
        # While a bar is shown, older versions of rich say that stderr is no terminal.
        if self._bar is not None or sys.stderr.isatty():
            self._draw(done)
        elif self._told == self._began or now - self._told >= LINE_EVERY_S:
            self._told = now
            left_s = round((now - self._began) * (1 - done) / done) if 0 < done < 1 else 0
            left = f", {spelt_time(left_s) if left_s >= 100 else f'{left_s}s'} left" if left_s else ""
            tell(f"{self._label}: {done:.0%} of all{left}")

    def end(self) -> None:
        """The present run is done."""
        self._finished += 1

    def _draw(self, done: float) -> None:
        if self._bar is None:
            label = TextColumn("{task.description}", markup=False)
            columns = (label, BarColumn(BAR), TaskProgressColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=error_console(), transient=True)
            self._bar.add_task("", total=1.0)
            self._bar.start()
        room = max(1, self._bar.console.width - BESIDE_THE_LABEL)
        told = self._label if len(self._label) <= room else f"{self._label[: room - 1]}…"
        self._bar.update(self._bar.task_ids[0], completed=done, description=told)

"""What the driver's host does while a probe runs: how many cores are busy, and which of them executors may use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

_PROC = Path("/proc")
_IDLE = (3, 4)
"""Idle, and waiting for a disk: fields of the first line of /proc/stat."""


class HostCores:
    """Cores that were busy since one asked last, with whatever."""

    def __init__(self, proc: Path = _PROC) -> None:
        self._file = proc / "stat"
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._before: tuple[float, float] | None = None

    def read(self, at_s: float) -> float | None:
        """None at first, and where there is no such file."""
        try:
            fields = [float(field) for field in self._file.read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return None
        busy_s = sum(value for place, value in enumerate(fields) if place not in _IDLE) / self._ticks_per_s
        before, self._before = self._before, (at_s, busy_s)
        if before is None or at_s <= before[0]:
            return None
        return max(0.0, (busy_s - before[1]) / (at_s - before[0]))


def pin_executors(pids: Sequence[int], cores: int) -> None:
    """Give each executor as many cores of its own as its layout says, so that it does not borrow from what is left.

    Threads and Python workers that start later inherit them; who is asked again and again misses none that started
    meanwhile.
    """
    free = iter(sorted(os.sched_getaffinity(0)))
    for pid in pids:
        own = set(islice(free, cores))
        if len(own) < cores:
            return
        for thread in _threads(pid):
            with suppress(OSError):
                if os.sched_getaffinity(thread) != own:
                    os.sched_setaffinity(thread, own)


def _threads(pid: int) -> Iterator[int]:
    """Of a process and all below it."""
    with suppress(OSError):
        for task in list((_PROC / str(pid) / "task").iterdir()):
            yield int(task.name)
            with suppress(OSError):
                for child in (task / "children").read_text().split():
                    yield from _threads(int(child))

"""Processor time and memory of executors on this host, from /proc: the JVM and the Python workers under it.

The driver's own figures leave Python out. Executors on other hosts, or run there as another user than the driver, are
not seen here, and theirs stays unknown: any user of the host can start a process that looks like one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one executor has used."""

    pid: int
    cpu_s: float
    """Total since its start; falls when a Python worker is killed."""
    memory_bytes: float
    system_s: float | None = None
    """The part of it in the kernel."""
    page_faults: float | None = None
    """Pages that had to be read from a disk; falls as well."""
    host_cpu: float | None = None
    """Share of the cores of this host that were busy since it was read before, with whatever."""


class HostUsage:
    """Executors of one application on this host, that belong to one user."""

    def __init__(self, application: str, proc: Path = _PROC, owner: int | None = None) -> None:
        self._application = application
        self._proc = proc
        self._owner_id = os.getuid() if owner is None else owner
        # A command line never changes, and reading it is half the cost.
        self._executors: dict[tuple[int, str], str | None] = {}
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._host_before: tuple[float, float] | None = None

    def read(self) -> Mapping[str, Usage]:
        """By executor id; empty where there is no /proc."""
        stats = self._stats()
        here = {(pid, stat[19]) for pid, stat in stats.items()}
        self._executors = {key: name for key, name in self._executors.items() if key in here}
        executors = {pid: name for pid, stat in stats.items() if (name := self._executor(pid, stat)) is not None}
        owners = {pid: owner for pid in stats if (owner := self._owner(pid, stats, executors)) is not None}
        found, host_cpu = {}, self._host_cpu()
        for pid, name in executors.items():
            theirs = [other for other, owner in owners.items() if owner == pid]
            ticks = sum(self._ticks(stats[other], reaped=other != pid) for other in theirs)
            pages = sum(int(stats[other][21]) for other in theirs)
            system = sum(_sum(stats[other], 12, reaped=other != pid) for other in theirs)
            found[name] = Usage(
                pid=pid, cpu_s=ticks / self._ticks_per_s, memory_bytes=float(pages * self._page_bytes),
                system_s=system / self._ticks_per_s, host_cpu=host_cpu,
                page_faults=float(sum(int(stats[other][9]) for other in theirs)),
            )  # fmt: skip
        return found

    def _host_cpu(self) -> float | None:
        """Idle is also who waits for a disk."""
        try:
            with open(f"{self._proc}/stat") as file:  # noqa: PTH123 (as below)
                fields = [float(field) for field in file.readline().split()[1:9]]
        except (OSError, ValueError):
            return None
        idle, total = sum(fields[3:5]), sum(fields)
        before, self._host_before = self._host_before, (idle, total)
        if before is None or total <= before[1]:
            return None
        return min(1.0, max(0.0, 1 - (idle - before[0]) / (total - before[1])))

    def _stats(self) -> dict[int, list[str]]:
        """Fields of all processes, counted from the state on; the last one is the command."""
        found = {}
        try:
            listed = os.listdir(self._proc)  # noqa: PTH208 (a Path per process and tick costs more than the read)
        except OSError:
            return {}
        for name in listed:
            if name.isdigit():
                try:
                    with open(f"{self._proc}/{name}/stat", errors="replace") as file:  # noqa: PTH123 (as above)
                        # The command in parentheses may hold blanks; the fields after it do not.
                        command, _, rest = file.read().rpartition(")")
                except OSError:
                    continue
                fields = rest.split()
                if len(fields) > 21:
                    found[int(name)] = [*fields, command.partition("(")[2]]
        return found

    def _executor(self, pid: int, stat: list[str]) -> str | None:
        # The worker's launcher script has the same arguments, and the same id when it becomes the executor.
        if "java" not in stat[-1]:
            return None
        key = pid, stat[19]
        if key not in self._executors:
            try:
                is_ours = (self._proc / str(pid)).stat().st_uid == self._owner_id
                words = (self._proc / str(pid) / "cmdline").read_text(errors="replace").split("\0")
            except OSError:
                return None
            said = dict(pairwise(words))
            mine = is_ours and said.get("--app-id") == self._application and _runs_executor(words)
            self._executors[key] = said.get("--executor-id") if mine else None
        return self._executors[key]

    def _owner(self, pid: int, stats: Mapping[int, list[str]], executors: Mapping[int, str]) -> int | None:
        seen = 0
        while pid in stats and pid > 1 and seen < 64:
            if pid in executors:
                return pid
            pid = int(stats[pid][1])
            seen += 1
        return None

    def _ticks(self, stat: list[str], *, reaped: bool) -> int:
        """User and system time; with that of ended children, which Python's worker daemon has many of."""
        return _sum(stat, 11, reaped=reaped) + _sum(stat, 12, reaped=reaped)


def _sum(stat: list[str], place: int, *, reaped: bool) -> int:
    """Ticks of a process, with those of the children it had."""
    return int(stat[place]) + (int(stat[place + 2]) if reaped else 0)


def _runs_executor(words: list[str]) -> bool:
    """Every kind of cluster has a class of its own for it."""
    return any(word.startswith("org.apache.spark.") and word.endswith("ExecutorBackend") for word in words)

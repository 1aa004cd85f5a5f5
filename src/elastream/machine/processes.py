"""Processes of ours, known well enough that no other one is ever signalled in their place."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROC = Path("/proc")
IS_LINUX = sys.platform == "linux"
# Where the system cannot wake us when a process ends.
LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process by its id and its start: an id alone may by now belong to another process."""

    pid: int
    started: str

    @property
    def is_running(self) -> bool:
        return started_at(self.pid) == self.started

    def send(self, number: signal.Signals) -> bool:
        """Signal it, and whether it was there to be signalled."""
        try:
            if not IS_LINUX:
                if self.is_running:
                    os.kill(self.pid, number)
                    return True
                return False
            # The handle stays with the process that had the id when it was opened, and the check comes after.
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.is_running:
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within that time."""
        deadline = time.monotonic() + seconds
        while self.is_running:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            _wait_for_end(self.pid, left_s)
        return True


def process(pid: int) -> Process | None:
    """The process that has this id now; None if none has, or it has ended and waits to be collected."""
    started = started_at(pid)
    return None if started is None else Process(pid=pid, started=started)


def started_at(pid: int) -> str | None:
    """When the process with this id began, in a form that is only good for comparing."""
    if not IS_LINUX:
        shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return shown.stdout.strip() or None
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else f"{_boot()}:{fields[19]}"


def descendants(pid: int) -> list[int]:
    """Children and their children, nearest first, as they are at this moment (Linux)."""
    children: dict[int, list[int]] = {}
    for other in process_ids():
        fields = _stat(other)
        if fields is not None and fields[0] not in "ZX":
            children.setdefault(int(fields[1]), []).append(other)
    found: list[int] = []
    nearest = children.get(pid, [])
    while nearest:
        found += nearest
        nearest = [grandchild for child in nearest for grandchild in children.get(child, [])]
    return found


def command_line(pid: int) -> list[str]:
    """The arguments that `ps` shows of a process (Linux); nothing of one that has ended."""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def process_ids() -> Iterator[int]:
    """Of all processes there are (Linux)."""
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal())


def _stat(pid: int) -> list[str] | None:
    """State, parent and so on; the name before them may hold blanks and brackets."""
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


@cache
def _boot() -> str:
    """Start times count from the boot: after another one the same pair may name another process."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _wait_for_end(pid: int, seconds: float) -> None:
    if not IS_LINUX:
        time.sleep(min(seconds, LOOK_EVERY_S))
        return
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([handle], [], [], seconds)
    finally:
        os.close(handle)

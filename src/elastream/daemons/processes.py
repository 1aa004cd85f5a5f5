"""Processes of ours, known well enough that no other one is ever signalled in their place."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

PROC = Path("/proc")
IS_LINUX = sys.platform == "linux"
# Where the system cannot wake us when a process ends.
LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process by its id, start, owner and command: an id alone may by now belong to another process."""

    pid: int
    started: str
    owner: int
    command: tuple[str, ...] = ()
    """The last words of it, if they are known: the first ones change when a script becomes the program it starts."""

    @property
    def is_running(self) -> bool:
        if started_at(self.pid) != self.started or owner_of(self.pid) != self.owner:
            return False
        return not self.command or _ends_with(self.pid, self.command)

    @classmethod
    def from_json(cls, known: Mapping[str, Any]) -> Self:
        """As `asdict` gave it; the words of its command must be there."""
        words = known["command"]
        if not words or not all(isinstance(word, str) for word in words):
            raise ValueError("a process without a command")
        return cls(**{**known, "command": tuple(words)})

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


def process(pid: int, command: Sequence[str] = ()) -> Process | None:
    """The process that has this id now; None if none has, or it has ended and waits to be collected."""
    started, owner = started_at(pid), owner_of(pid)
    if started is None or owner is None:
        return None
    return Process(pid=pid, started=started, owner=owner, command=tuple(command))


def this_process() -> Process:
    """The one that asks, with its arguments."""
    me = process(os.getpid(), sys.orig_argv[1:])
    assert me is not None
    return me


def started_at(pid: int) -> str | None:
    """When the process with this id began, in a form that is only good for comparing."""
    if not IS_LINUX:
        return _shown_by_ps(pid, "lstart=")
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else f"{_boot()}:{fields[19]}"


def owner_of(pid: int) -> int | None:
    """The user whose process it is."""
    if not IS_LINUX:
        shown = _shown_by_ps(pid, "uid=")
        return int(shown) if shown else None
    try:
        text = (PROC / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return None
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Uid:")), None)


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


def _ends_with(pid: int, words: tuple[str, ...]) -> bool:
    if not IS_LINUX:
        return (_shown_by_ps(pid, "command=") or "").endswith(" ".join(words))
    return tuple(command_line(pid)[-len(words) :]) == words


def _shown_by_ps(pid: int, column: str) -> str | None:
    shown = subprocess.run(["ps", "-ww", "-o", column, "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip() or None


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

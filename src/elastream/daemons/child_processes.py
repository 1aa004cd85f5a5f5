"""Daemons as child processes: started, watched while they start, and ended with all that they started."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from elastream.core.errors import ElastreamError
from elastream.daemons.processes import IS_LINUX, Process, descendants, process

LOOK_EVERY_S = 0.05
# From <linux/prctl.h>.
SIGNAL_WHEN_PARENT_ENDS = 1

Found = TypeVar("Found")


class DaemonFailed(ElastreamError):
    """A daemon that ended while it started, or does not answer."""


class Children:
    """All that this process has started, and what became its own because its parent ended.

    `thing` is what they are together, for messages; `pause` waits a little, and raises when all are to go.
    """

    def __init__(self, thing: str, pause: Callable[[float], None]) -> None:
        self.thing = thing
        self.pause = pause
        self.named: dict[str, Process] = {}
        self._logs: dict[str, Path] = {}
        self._running: set[int] = set()

    def spawn(
        self, name: str, command: Sequence[str], *, log: Path, folder: Path, environment: Mapping[str, str]
    ) -> None:
        with log.open("wb") as printed:
            daemon = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                cwd=folder,
                env=environment,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        self._running.add(daemon.pid)
        # `collect` waits for it, together with those that nobody here has started.
        daemon.returncode = 0
        self._logs[name] = log
        known = process(daemon.pid, command[1:])
        if known is None:
            raise DaemonFailed(f"{self.thing}: {name} ended at once: {self._last_words(name)}")
        self.named[name] = known

    def is_running(self, name: str) -> bool:
        self.collect()
        return name in self.named and self.named[name].pid in self._running

    def until(self, look: Callable[[], Found | None], deadline: float, problem: str) -> Found:
        """What `look` finds in the end; a daemon that ends meanwhile, or the deadline, is an error."""
        began = time.monotonic()
        while (found := look()) is None:
            self.pause(LOOK_EVERY_S)
            for name in self.named:
                if not self.is_running(name):
                    raise DaemonFailed(f"{self.thing}: {name} ended while starting: {self._last_words(name)}")
            if time.monotonic() > deadline:
                waited_s = time.monotonic() - began
                raise DaemonFailed(f"{self.thing}: {problem} after {waited_s:.0f} s; is the machine overloaded?")
        return found

    def collect(self) -> bool:
        """Take note of children that have ended; whether any is left."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._running.discard(ended)
        except ChildProcessError:
            return False
        return True

    def end(self, grace_s: float) -> None:
        """Ask those that were started here to leave, then end what is left, whatever it is."""
        if grace_s > 0:
            for pid in self._running:
                os.kill(pid, signal.SIGTERM)  # not yet collected, so that the id is still theirs
        deadline = time.monotonic() + grace_s
        while self.collect() and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
        while self.collect():
            for pid in descendants(os.getpid()) if IS_LINUX else self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(LOOK_EVERY_S)

    def _last_words(self, name: str) -> str:
        """The last line of the log that is not part of a stack trace; the log goes with the folder."""
        lines = self._logs[name].read_text(errors="replace").splitlines()
        told = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
        return told[-1] if told else "it said nothing"


def end_with_parent() -> None:
    """In a child about to become a daemon: the system ends it when its parent ends, by kill -9 too."""
    if IS_LINUX:
        ctypes.CDLL(None).prctl(SIGNAL_WHEN_PARENT_ENDS, signal.SIGKILL)

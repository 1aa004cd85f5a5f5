"""Run the tests in two halves side by side: those that need a cluster of Spark, a broker or a browser, and all others.

    python tools/suite.py [--full] [--goal MINUTES] [arguments for pytest, such as -x]

The first wait a good part of their time, and the others compute meanwhile. What they print is shown one half after the
other: the quick one as it runs, then the live one from its beginning. Ctrl-C ends both, and each tidies up.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from types import FrameType

from elastream.daemons.child_processes import end_with_parent

# Brokers and browsers wait as well, and what is left takes longer.
LIVE = "(spark and not local) or browser or kafka"
LOOK_EVERY_S = 0.2
# Of pytest, when a half of what was asked for is empty.
NO_TESTS = 5
INTERRUPTED = 130
# The live half has clocks to follow; the quick one takes what is left.
NICE = 5


class Half:
    """A pytest of its own, in a session of its own, so that Ctrl-C reaches it through us alone and once."""

    def __init__(self, name: str, select: str, arguments: Sequence[str], *, nice: int = 0) -> None:
        self.name = name
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 (has no name, and goes with us)
        self._shown = 0

        def prepare() -> None:
            end_with_parent()
            os.nice(nice)

        self._process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-m", select, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=prepare,
        )

    def follow(self) -> None:
        """Show what it prints until it has ended."""
        while self._process.poll() is None:
            self._show()
            time.sleep(LOOK_EVERY_S)
        self._show()

    def interrupt(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)

    @property
    def code(self) -> int:
        return self._process.returncode

    @property
    def verdict(self) -> str:
        """The last line, such as "3527 passed in 160.2s"."""
        lines = self._read(0).decode(errors="replace").strip().splitlines()
        return lines[-1].strip("= ") if lines else "it printed nothing"

    def _show(self) -> None:
        new = self._read(self._shown)
        self._shown += len(new)
        sys.stdout.buffer.write(new)
        sys.stdout.flush()

    def _read(self, first: int) -> bytes:
        # Not by seeking: the place in the file is shared with who writes it.
        return os.pread(self._printed.fileno(), os.fstat(self._printed.fileno()).st_size - first, first)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests in two halves side by side.")
    parser.add_argument("--full", action="store_true", help="the long matrix too")
    parser.add_argument("--goal", type=float, metavar="MINUTES", help="how long it should take at most, to be told")
    chosen, others = parser.parse_known_args()
    began_s = time.monotonic()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    arguments = ["--durations=10", *(["--color=yes"] if sys.stdout.isatty() else []), *others]
    which = "" if chosen.full else "not full and "
    live = Half("with a cluster, a broker or a browser", f"{which}({LIVE})", arguments)
    quick = Half("without", f"{which}not ({LIVE})", arguments, nice=NICE)
    was_interrupted = follow((quick, live))
    took_s = time.monotonic() - began_s
    print(f"\n{quick.name}: {quick.verdict}\n{live.name}: {live.verdict}")
    goal = f"; the goal is {chosen.goal:g} min" if chosen.goal else ""
    minutes, seconds = divmod(round(took_s), 60)
    print(f"both, side by side: {minutes} min {seconds} s{goal}", flush=True)
    return INTERRUPTED if was_interrupted else code_of((quick.code, live.code))


def interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def follow(halves: Sequence[Half]) -> bool:
    """Show one after the other to its end; whether an interrupt has been passed on to them."""
    was_interrupted = False
    while True:
        try:
            for half in halves:
                half.follow()
        except KeyboardInterrupt:
            was_interrupted = True
            for half in halves:
                half.interrupt()
        else:
            return was_interrupted


def code_of(codes: Sequence[int]) -> int:
    """Zero if no half has failed and not all were empty."""
    if all(code == NO_TESTS for code in codes):
        return NO_TESTS
    return next((abs(code) for code in codes if code not in (0, NO_TESTS)), 0)


if __name__ == "__main__":
    sys.exit(main())

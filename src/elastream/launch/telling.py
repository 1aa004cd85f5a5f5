"""What an operator reads while an application runs: a line per decision that says something new, and a last one."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any

from elastream.core.decision import Decision
from elastream.core.sanitizer import sanitizer
from elastream.core.tick import Tick
from elastream.evaluation.actions import ActionCount
from elastream.evaluation.measures import count_ready
from elastream.journal.decision_lines import Severity, message_line
from elastream.loop.slo_log import slo_sentence

CLEAR = "\r\x1b[K"
INDENT = "    "
UNKNOWN_WIDTH = 80
_NUMBER = re.compile(r"[+-]?\d[\d,._]*")


class Telling:
    """Tells of decisions as they are made. Implements Journal."""

    def __init__(self, say: Callable[[str], None], *, quiet: bool = False) -> None:
        self._say = say
        self._quiet = quiet
        self._last: Hashable = None
        self._beginning: str | None = None
        self.ticks = 0
        self._actions = ActionCount()
        self.sizes: set[int] = set()
        self._slo: str | None = None

    def quieten(self) -> None:
        """Decisions are told by somebody else."""
        self._quiet = True

    def begin(self, line: str) -> None:
        """An application is followed from now on; said before the first of its decisions."""
        self._beginning, self._last = line, None

    def write(self, tick: Tick) -> None:
        """Say what is new. Implements Journal."""
        if self._beginning is not None:
            self._say(self._beginning)
            self._beginning = None
        now, decision = tick.observation, tick.decision
        if now is None or decision is None:
            # The loop itself tells that nothing was seen.
            return
        self.ticks += 1
        # Before the first executor has registered there are none, which says nothing about what was decided.
        self.sizes |= {ready for ready in [count_ready(now)] if ready}
        self._slo = slo_sentence(now) or self._slo
        changes = decision.changes(now)
        self._actions.update(tick)
        self._tell(tick, decision, changes)

    def _tell(self, tick: Tick, decision: Decision, changes: dict[str, tuple[int, int]]) -> None:
        sentence = "; ".join([decision.sentence(), *(f"limited: {limit}" for limit in tick.limits())])
        # A decision that is only restated with other numbers is not news; one that a dry run keeps back may be.
        asked = tuple(decision.proposed().items()) if any(n.guard == "pause" for n in decision.adjustments) else ()
        key = decision.kind == "hold", _NUMBER.sub("#", sentence), asked
        if not self._quiet and (changes or key != self._last):
            sizes = ", ".join(f"{pool} {size}" for pool, size in decision.allocation.items())
            moves = ", ".join(f"{pool} {before} -> {after}" for pool, (before, after) in changes.items())
            head = moves or f"{sizes} {'held' if decision.kind == 'hold' else 'kept'}"
            self._say(f"{datetime.fromtimestamp(tick.utc_s, UTC):%H:%M:%S}  {head}: {sentence}")
        self._last = key

    def close(self) -> None:
        """Nothing to close. Implements Journal."""

    def summary(self) -> str | None:
        """The last line; None if nothing was ever seen."""
        if not self.ticks:
            return None
        low, high = min(self.sizes, default=0), max(self.sizes, default=0)
        executors = so_many(high) if low == high else f"{low} to {so_many(high)}"
        kept = f"; {self._slo}" if self._slo else ""
        changes = self._actions.actions
        return f"{changes} change{'s' * (changes != 1)}, {executors}, {self.ticks} looks{kept}"


def so_many(executors: int) -> str:
    """So many executors."""
    return f"{executors} executor{'s' * (executors != 1)}"


def say(line: str, severity: Severity = "INFO") -> None:
    """One line on stderr, whatever the script has done with its own."""
    line = " ".join(sanitizer().line(line).split())
    if _Shape.is_json:
        put(message_line(line, time.time(), severity))
        return
    text = f"elastream: {line}"
    stderr = sys.__stderr__
    if stderr is not None and stderr.isatty() and _jvm_in_front() is None:
        # Spark draws its progress in the last line of a terminal.
        text = CLEAR + "\n".join(wrap(text, _width(stderr.fileno()), subsequent_indent=INDENT))
    put(text)


def put(text: str) -> None:
    """Text as it is, on the same way."""
    jvm = _jvm_in_front()
    if jvm is not None:
        try:
            jvm.java.lang.System.err.println(text)
            return
        except Exception:
            # It has gone; the next best is as good as any.
            pass
    stderr = sys.__stderr__
    if stderr is not None:
        stderr.write(f"{text}\n")
        stderr.flush()


class _Shape:
    """Of what this process says: all of it, or whoever reads JSON meets something else."""

    is_json = False


def speak_json() -> None:
    """From now on every line is one of JSON."""
    _Shape.is_json = True


def _width(terminal: int) -> int:
    try:
        # One that does not know its size says that it has no columns.
        return os.get_terminal_size(terminal).columns or UNKNOWN_WIDTH
    except OSError:
        return UNKNOWN_WIDTH


def _jvm_in_front() -> Any:
    """Under spark-submit, the JVM that started us: it prints all that Python writes, errors too, to its own stdout."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    return getattr(getattr(sys.modules.get("pyspark"), "SparkContext", None), "_jvm", None)


class Warnings(logging.Handler):
    """The loop's own warnings, on the same way; handlers of the script, which may write to stdout, do not see them."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        say(record.getMessage(), "WARN")


def take_over_warnings() -> None:
    """From now on what Elastream logs is said."""
    log = logging.getLogger("elastream")
    log.handlers = [Warnings()]
    log.propagate = False

"""What was lost on the way from Spark to us, and which signals that makes unknown.

Spark drops events when its queue to a listener is full, others never come or cannot be read, and a part of a look may
make no sense. Whatever is added up from tasks is too low then: it is unknown as of the look that finds it out, and
nothing is said across that look.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from elastream.core.signals import Signal
from elastream.spark.jvm.snapshot import Snapshot

ADDED_UP = (
    Signal.RECORDS_IN,
    Signal.RECORDS_OUT,
    Signal.BUSY_TIME,
    Signal.DRIVER_TIME,
    Signal.WORKER_RECORDS,
    Signal.BUSY_SLOTS,
)
"""What comes from events of tasks and stages."""

REASON = "events of Spark were lost"

# A trickle is one state and not a line for every drop.
_TOLD_FOR_S = 60.0


class Lost(NamedTuple):
    """Numbers of events and parts, by what became of them."""

    dropped: int = 0
    missing: int = 0
    unread: int = 0
    malformed: int = 0
    unasked: int = 0
    """Looks at single queries that failed."""

    @property
    def is_gap(self) -> bool:
        """Whether something is missing in what is added up."""
        return any(self._replace(unasked=0))

    def since(self, before: Lost) -> Lost:
        """What was added."""
        return Lost(*(max(0, now - then) for now, then in zip(self, before, strict=True)))


class Losses:
    """Compares counts from look to look."""

    def __init__(self) -> None:
        self._before: Lost | None = None
        self._recent: deque[tuple[float, Lost]] = deque()
        self._failure: str | None = None

    def update(self, look: Snapshot, malformed: int, at_s: float) -> bool:
        """Whether something was lost since the look before; `malformed` are parts of looks so far."""
        # What was dropped is found to be missing a minute later: it is the same.
        missing = max(0, look.lost - look.dropped)
        now = Lost(look.dropped, missing, look.unread, malformed, look.query_failures)
        # The queue's count may be that of a listener before this one; the others begin with it.
        lost = now.since(self._before or Lost(dropped=look.dropped))
        self._before, self._failure = now, look.failure
        while self._recent and at_s - self._recent[0][0] > _TOLD_FOR_S:
            self._recent.popleft()
        if any(lost):
            self._recent.append((at_s, lost))
        return lost.is_gap

    def troubles(self) -> tuple[str, ...]:
        """A sentence for a user, for a minute after the last loss."""
        lost = Lost(*map(sum, zip(*(lost for _, lost in self._recent), strict=True))) if self._recent else Lost()
        failure = f" ({self._failure})" if self._failure else ""
        said, told = [], []
        if lost.dropped:
            capacity = "spark.scheduler.listenerbus.eventqueue.elastream.capacity"
            said.append(f"{lost.dropped} were dropped from its full queue (a larger {capacity} keeps more)")
        if lost.missing:
            said.append(f"{lost.missing} never came")
        if lost.unread:
            said.append(f"{lost.unread} could not be read{failure}")
        if lost.malformed:
            said.append(f"{lost.malformed} parts of looks made no sense")
        if said:
            affected = "records and busy time of operators and executors are not known for that time"
            told.append(f"events of Spark were lost in the last minute, {', '.join(said)}: {affected}")
        if lost.unasked:
            told.append(f"queries could not be asked {lost.unasked} times in the last minute{failure}: lag may be old")
        return tuple(told)

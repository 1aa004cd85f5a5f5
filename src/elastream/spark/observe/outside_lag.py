"""The lag of a source that somebody outside of Spark knows: how many records wait, at times of their own.

What had arrived by then is what was committed by then, and what waited: the difference to what is committed now leaves
out what has come since, and never counts a record as waiting that is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import takewhile

from elastream.core.observation import Reading
from elastream.estimators.delay import Stretch
from elastream.spark.observe.arrival_curve import ArrivalCurve

# An answer is seldom older than a minute, and a query ends some batches in it.
_REMEMBERED = 512


class OutsideLag:
    """Follows one source; totals never fall."""

    def __init__(self) -> None:
        self._curve = ArrivalCurve()
        self._committed: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        """When so many were committed, newest last."""
        self._seen_s: float | None = None
        self.arrived: Reading | None = None

    def commit(self, at_s: float, total: float) -> None:
        """So many records are committed by now."""
        last_s, last = self._committed[-1] if self._committed else (at_s, -1.0)
        if last != total:
            self._committed.append((max(at_s, last_s), total))

    def see(self, waiting: Reading) -> None:
        """So many records waited at that time."""
        before = deque(takewhile(lambda one: one[0] <= waiting.at_s, self._committed), maxlen=1)
        if not before or waiting.at_s == self._seen_s:
            # What was committed then is not known, or the same was said before.
            return
        self._seen_s = waiting.at_s
        total = max(before[0][1] + waiting.value, self.arrived.value if self.arrived is not None else 0.0)
        self.arrived = Reading(total, waiting.at_s)
        self._curve.add(waiting.at_s, total)

    def age_s(self, committed: float, at_s: float) -> Reading | None:
        """The age of the oldest record that waits, as far as it is known when it came."""
        if self.arrived is None:
            return None
        if self.arrived.value <= committed:
            return Reading(0.0, self.arrived.at_s)
        came_s = self._curve.arrived_s(committed + 1)
        return None if came_s is None else Reading(max(0.0, at_s - came_s), self.arrived.at_s)

    def overdue(self, due_s: float, committed: float) -> float:
        """Records that had arrived by then and are not committed."""
        return max(0.0, self._curve.arrived(due_s) - committed)

    def stretches(self, first: float, last: float, ended_s: float) -> Sequence[Stretch]:
        """Delays of the records of a batch, as far as it is known when they came."""
        found = list(self._curve.stretches(first, last, ended_s))
        self._curve.forget_before(last)
        return found

"""A bounded series of readings, and what can be asked of a window of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise

from elastream.core.observation import Reading

_MAX_POINTS = 4096


class Series:
    """Readings of one signal of one subject, oldest first, at the resolution they were taken."""

    __slots__ = ("_points",)

    def __init__(self, points: Iterable[Reading] = ()) -> None:
        self._points: deque[Reading] = deque(points, maxlen=_MAX_POINTS)

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[Reading]:
        return iter(self._points)

    @property
    def last(self) -> Reading:
        """The newest reading."""
        return self._points[-1]

    def add(self, reading: Reading) -> None:
        """Append a reading, unless it was seen already or comes from the past."""
        if not self._points or reading.at_s > self._points[-1].at_s:
            self._points.append(reading)

    def copy(self) -> Series:
        """The same readings, apart from this one."""
        other = Series()
        other._points = self._points.copy()
        return other

    def forget_before(self, at_s: float) -> None:
        """Drop readings older than a time, but for the one that held then: a window that begins there needs it."""
        points = self._points
        while len(points) > 1 and points[1].at_s <= at_s:
            points.popleft()

    def window(self, now_s: float, window_s: float) -> list[Reading]:
        """Readings within the last `window_s` seconds, and the one before: it is what held when the window began.

        Of a series that is read no more that is a single one, which has neither rate nor slope.
        """
        start, found = now_s - window_s, []
        for reading in reversed(self._points):
            found.append(reading)
            if reading.at_s <= start:
                break
        found.reverse()
        return found

    def rate(self, now_s: float, window_s: float) -> float | None:
        """Growth per second of a running total; None without two readings or after a reset."""
        points = self.window(now_s, window_s)
        if len(points) < 2:
            return None
        # A total that fell was reset (a restarted query): nothing can be said across the break, even if the total has
        # passed its old height since.
        if any(later.value < earlier.value for earlier, later in pairwise(points)):
            return None
        return (points[-1].value - points[0].value) / (points[-1].at_s - points[0].at_s)

    def fastest(self, now_s: float, window_s: float, since_s: float) -> float | None:
        """The fastest growth of a running total over any window of so long within the last `since_s` seconds."""
        points = self.window(now_s, since_s)
        best: float | None = None
        first = 0
        for last in range(1, len(points)):
            if points[last].value < points[last - 1].value:
                first = last
                continue
            while first + 1 < last and points[last].at_s - points[first + 1].at_s >= window_s - 1e-9:
                first += 1
            elapsed_s = points[last].at_s - points[first].at_s
            if first < last and elapsed_s >= window_s - 1e-9:
                rate = (points[last].value - points[first].value) / elapsed_s
                best = rate if best is None or rate > best else best
        return best

    def slope(self, now_s: float, window_s: float) -> float | None:
        """Change per second of a level, from the first to the last reading of a window."""
        points = self.window(now_s, window_s)
        if len(points) < 2:
            return None
        return (points[-1].value - points[0].value) / (points[-1].at_s - points[0].at_s)

    def inside(self, now_s: float, window_s: float) -> list[float]:
        """Values read within the last `window_s` seconds."""
        start = now_s - window_s
        return [reading.value for reading in self.window(now_s, window_s) if reading.at_s > start]

    def mean(self, now_s: float, window_s: float) -> float | None:
        """Mean of the readings inside a window."""
        values = self.inside(now_s, window_s)
        return sum(values) / len(values) if values else None

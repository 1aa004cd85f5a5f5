"""A bounded series of readings, and what can be asked of a window of it."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import lt

from elastream.core.batch_windows import whole_s
from elastream.core.observation import Reading

_MAX_POINTS = 4096


class Series:
    """Readings of one signal of one subject, oldest first, at the resolution they were taken.

    Kept as two columns of numbers: a thousand executors have hundreds of thousands of readings, and as many objects
    would be looked at again in every collection of garbage.
    """

    __slots__ = ("_times", "_values")

    def __init__(self, points: Iterable[Reading] = ()) -> None:
        self._times = array("d")
        self._values = array("d")
        for value, at_s in points:
            self._append(value, at_s)

    def __len__(self) -> int:
        return len(self._times)

    def __iter__(self) -> Iterator[Reading]:
        return map(Reading, self._values, self._times)

    @property
    def last(self) -> Reading:
        """The newest reading."""
        return Reading(self._values[-1], self._times[-1])

    @property
    def last_s(self) -> float:
        """When it was read."""
        return self._times[-1]

    def add(self, reading: Reading) -> None:
        """Append a reading, unless it was seen already or comes from the past."""
        value, at_s = reading
        if not self._times or at_s > self._times[-1]:
            self._append(value, at_s)

    def _append(self, value: float, at_s: float) -> None:
        self._values.append(value)
        self._times.append(at_s)
        if len(self._times) > _MAX_POINTS:
            del self._values[0], self._times[0]

    def copy(self) -> Series:
        """The same readings, apart from this one."""
        other = Series()
        other._times, other._values = self._times[:], self._values[:]
        return other

    def forget_before(self, at_s: float) -> None:
        """Drop readings older than a time, but for the one that held then: a window that begins there needs it."""
        first = self._first(at_s)
        if first > 0:
            del self._times[:first], self._values[:first]

    def _first(self, start_s: float) -> int:
        """Where a window begins: with the reading that held then."""
        return max(0, bisect_right(self._times, start_s) - 1)

    def window(self, now_s: float, window_s: float) -> list[Reading]:
        """Readings within the last `window_s` seconds, and the one before: it is what held when the window began.

        Of a series that is read no more that is a single one, which has neither rate nor slope.
        """
        first = self._first(now_s - window_s)
        return list(map(Reading, self._values[first:], self._times[first:]))

    def whole_s(self, now_s: float, window_s: float, period_s: float) -> float:
        """The length of the window nearest to one of so many seconds that holds whole periods."""
        return whole_s(self._times, now_s, window_s, period_s)

    def rate(self, now_s: float, window_s: float) -> float | None:
        """Growth per second of a running total; None without two readings or after a reset."""
        times, first = self._times, self._first(now_s - window_s)
        if len(times) - first < 2:
            return None
        values = self._values[first:]
        # A total that fell was reset (a restarted query): nothing can be said across the break, even if the total has
        # passed its old height since.
        if any(map(lt, values[1:], values)):
            return None
        return (values[-1] - values[0]) / (times[-1] - times[first])

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

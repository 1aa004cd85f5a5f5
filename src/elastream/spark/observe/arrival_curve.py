"""The arrival curve of one source, as far as it was sampled, and the delays that follow from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter

from elastream.estimators.delay import Stretch

_MAX_POINTS = 2048
# Reports this far apart say how fast records come now; older ones how fast they came.
_RATE_WINDOW_S = 60.0


class ArrivalCurve:
    """How many records had arrived by when; straight between two samples."""

    def __init__(self) -> None:
        self._points: list[tuple[float, float]] = []

    @property
    def last(self) -> tuple[float, float] | None:
        """The newest sample: its time and its records."""
        return self._points[-1] if self._points else None

    def add(self, at_s: float, records: float) -> None:
        """Take in a sample; one that contradicts those around it (the clock was set) is left out."""
        place = bisect_left(self._points, at_s, key=itemgetter(0))
        before = self._points[place - 1][1] if place > 0 else records
        after = self._points[place][1] if place < len(self._points) else records
        if not before <= records <= after or (place < len(self._points) and self._points[place][0] == at_s):
            return
        insort(self._points, (at_s, records))
        if len(self._points) > _MAX_POINTS:
            # The older half at half the resolution: it is needed for the delays of a long backlog only.
            half = _MAX_POINTS // 2
            self._points = self._points[:half:2] + self._points[half:]

    def arrived_s(self, number: float) -> float | None:
        """When record `number` arrived; None for what was there before the first sample or has not come."""
        place = bisect_left(self._points, number, key=itemgetter(1))
        if place == 0 or place == len(self._points):
            return None
        (from_s, low), (to_s, high) = self._points[place - 1], self._points[place]
        return from_s + (number - low) / (high - low) * (to_s - from_s)

    def arrived(self, at_s: float) -> float:
        """Records that had arrived by then; 0 before the first sample, and what the newest one says after it."""
        place = bisect_right(self._points, at_s, key=itemgetter(0))
        if place == 0:
            return 0.0
        (from_s, low), (to_s, high) = self._points[place - 1], self._points[min(place, len(self._points) - 1)]
        return low if to_s <= from_s else low + (high - low) * (at_s - from_s) / (to_s - from_s)

    def rate(self, at_s: float) -> float | None:
        """Records per second over the newest samples; None without two."""
        recent = [point for point in self._points if point[0] >= at_s - _RATE_WINDOW_S]
        points = recent if len(recent) >= 2 else self._points[-2:]
        if len(points) < 2:
            return None
        return (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])

    def stretches(self, first: float, last: float, committed_s: float) -> Iterator[Stretch]:
        """Delays of the records after number `first` up to number `last`, as far as it is known when they came."""
        start = max(0, bisect_left(self._points, first, key=itemgetter(1)) - 1)
        for (from_s, low), (to_s, high) in pairwise(self._points[start:]):
            if low >= last:
                return
            begin, end = max(first, low), min(last, high)
            if begin < end:
                per_record_s = (to_s - from_s) / (high - low)
                longest_s = max(0.0, committed_s - from_s - (begin - low) * per_record_s)
                yield Stretch(committed_s, max(0.0, longest_s - (end - begin) * per_record_s), longest_s, end - begin)

    def forget_before(self, records: float) -> None:
        """Drop samples that only records before that number needed."""
        place = bisect_left(self._points, records, key=itemgetter(1)) - 1
        # Some stay for the rate.
        keep = max(0, min(place, len(self._points) - 64))
        del self._points[:keep]

"""A drawn workload: the rate of arrivals over time, with its exact integral and the inverse of that."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from elastream.core.errors import BadInput

FloatArray = NDArray[np.float64]

# Sums of many parts miss a whole number of records by less than that.
_WHOLE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RateSeries:
    """Piecewise-constant rate: `rates[i]` records/s hold from `times_s[i]` to the next time, the last one for good.

    Nothing arrives before time zero. `duration_s` is the stretch that `mean_rps` and `max_rps` speak about; the rate
    goes on after it, because a run may have to drain its backlog.
    """

    times_s: FloatArray
    rates: FloatArray
    duration_s: float
    # Plain lists beside the arrays: bisect on a list answers a scalar question ten times faster than numpy does.
    _times: list[float] = field(init=False, repr=False)
    _rates: list[float] = field(init=False, repr=False)
    _arrived: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        times, rates = np.array(self.times_s, dtype=np.float64), np.array(self.rates, dtype=np.float64)
        _check(times, rates, self.duration_s)
        # A running sum in order, one addition per piece as in arrived(): that is what makes arrived() non-decreasing.
        arrived = np.concatenate(([0.0], np.cumsum(rates[:-1] * np.diff(times))))
        if not math.isfinite(float(arrived[-1])):
            raise BadInput("rate series: more records arrive than a number can hold")
        times.flags.writeable = rates.flags.writeable = False
        for name, value in (("times_s", times), ("rates", rates), ("duration_s", float(self.duration_s))):
            object.__setattr__(self, name, value)
        for name, array in (("_times", times), ("_rates", rates), ("_arrived", arrived)):
            object.__setattr__(self, name, array.tolist())

    @classmethod
    def constant(cls, rps: float, *, duration_s: float) -> Self:
        return cls(np.zeros(1), np.array([rps], dtype=np.float64), duration_s)

    @classmethod
    def steps(cls, rates: Sequence[float] | FloatArray, *, step_s: float, duration_s: float) -> Self:
        """One rate after the other, each held for `step_s`."""
        values = np.asarray(rates, dtype=np.float64)
        return cls(np.arange(len(values), dtype=np.float64) * step_s, values, duration_s)

    @overload
    def rate(self, at_s: float) -> float: ...
    @overload
    def rate(self, at_s: FloatArray) -> FloatArray: ...
    def rate(self, at_s: float | FloatArray) -> float | FloatArray:
        """Records per second at a time."""
        if isinstance(at_s, (float, int)):
            return self._rates[bisect_right(self._times, at_s) - 1] if at_s >= 0 else 0.0
        return np.where(at_s >= 0, self.rates[self._pieces(at_s)], 0.0)

    @overload
    def arrived(self, at_s: float) -> float: ...
    @overload
    def arrived(self, at_s: FloatArray) -> FloatArray: ...
    def arrived(self, at_s: float | FloatArray) -> float | FloatArray:
        """Records that arrived from time zero up to a time: the exact integral of the rate."""
        if isinstance(at_s, (float, int)):
            if at_s <= 0:
                return 0.0
            i = bisect_right(self._times, at_s) - 1
            return self._arrived[i] + self._rates[i] * (at_s - self._times[i])
        pieces = self._pieces(at_s)
        since = np.maximum(at_s - self.times_s[pieces], 0.0)
        return np.asarray(np.asarray(self._arrived)[pieces] + self.rates[pieces] * since)

    @overload
    def when(self, records: float) -> float: ...
    @overload
    def when(self, records: FloatArray) -> FloatArray: ...
    def when(self, records: float | FloatArray) -> float | FloatArray:
        """The earliest time at which that many records had arrived; infinity if they never do."""
        if not isinstance(records, (float, int)):
            return np.array([self.when(float(n)) for n in np.ravel(records)]).reshape(np.shape(records))
        if records <= 0:
            return 0.0
        i = bisect_left(self._arrived, records) - 1
        rate = self._rates[i]
        if i + 1 == len(self._times):
            return self._times[i] + (records - self._arrived[i]) / rate if rate > 0 else math.inf
        return min(self._times[i] + (records - self._arrived[i]) / rate, self._times[i + 1])

    def pieces(self, first: float, last: float) -> list[tuple[float, float, float]]:
        """The records after number `first` up to number `last`, cut where the rate changes: from, to, how many."""
        found: list[tuple[float, float, float]] = []
        times, arrived = self._times, self._arrived
        start_s, count = self.when(first), first
        i = bisect_right(arrived, first)
        while i < len(arrived) and arrived[i] < last:
            # A record of which a part had come when it fell silent comes when it is whole: a stretch without arrivals
            # is no part of its wait.
            upto = arrived[i] if self._rates[i] > 0 else math.floor(arrived[i] + _WHOLE)
            if self._rates[i - 1] > 0 and upto > count:
                found.append((max(start_s, times[i - 1]), times[i], upto - count))
                count = upto
            start_s = times[i]
            i += 1
        if last > count:
            found.append((max(start_s, times[i - 1]), self.when(last), last - count))
        return found

    @property
    def mean_rps(self) -> float:
        """Mean rate from time zero to `duration_s`."""
        return self.arrived(self.duration_s) / self.duration_s

    @property
    def max_rps(self) -> float:
        """Largest rate before `duration_s`."""
        return float(self.rates[: bisect_left(self._times, self.duration_s)].max())

    def __add__(self, other: Self) -> Self:
        times = self._breaks_of_both(other)
        return type(self)(times, self.rate(times) + other.rate(times), max(self.duration_s, other.duration_s))

    def __mul__(self, other: Self | float) -> Self:
        if isinstance(other, (float, int)):
            return type(self)(self.times_s, self.rates * other, self.duration_s)
        times = self._breaks_of_both(other)
        return type(self)(times, self.rate(times) * other.rate(times), max(self.duration_s, other.duration_s))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RateSeries):
            return NotImplemented
        return (
            self.duration_s == other.duration_s
            and np.array_equal(self.times_s, other.times_s)
            and np.array_equal(self.rates, other.rates)
        )

    def __hash__(self) -> int:
        return hash((self.duration_s, self.times_s.tobytes(), self.rates.tobytes()))

    def _breaks_of_both(self, other: Self) -> FloatArray:
        if np.array_equal(self.times_s, other.times_s):
            return self.times_s
        return np.union1d(self.times_s, other.times_s)

    def _pieces(self, at_s: FloatArray) -> NDArray[np.intp]:
        return np.maximum(np.searchsorted(self.times_s, at_s, side="right") - 1, 0)


def _check(times: FloatArray, rates: FloatArray, duration_s: float) -> None:
    if times.ndim != 1 or times.shape != rates.shape:
        raise BadInput(f"rate series: {times.size} times for {rates.size} rates; there must be one rate for each time")
    if not times.size:
        raise BadInput("rate series: it has no rates at all")
    if times[0] != 0.0:
        raise BadInput(f"rate series: it starts at {times[0]:g} s; it must start at 0")
    wrong = np.flatnonzero(~(np.diff(times) > 0) | ~np.isfinite(times[1:]))
    if wrong.size:
        i = int(wrong[0])
        raise BadInput(f"rate series: {times[i + 1]:g} s follows {times[i]:g} s; times must grow")
    wrong = np.flatnonzero(~np.isfinite(rates) | (rates < 0))
    if wrong.size:
        i = int(wrong[0])
        raise BadInput(f"rate series: the rate at {times[i]:g} s is {rates[i]:g}; it must be a number, zero or more")
    if not (math.isfinite(duration_s) and duration_s > 0):
        raise BadInput(f"rate series: a duration of {duration_s:g} s; it must be longer than 0")

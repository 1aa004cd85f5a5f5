"""When events arrive and which time they bear.

Runs on executors that may have neither Elastream nor pydantic, so it imports only numpy and the core.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from elastream.events.randomness import IntArray, scrambled, spread

# Prime to every size of a group that is no multiple of it: all places of a group are taken once.
_STRIDE = 953
# Of the random numbers, so that being late has nothing to do with what an event is.
_LATE_SALT = 0x1A7E


class ArrivalStretch(NamedTuple):
    """The piece of an arrival curve that some offsets need, as arrays: times from the start, rates, arrivals so far."""

    times_s: NDArray[np.float64]
    rates: NDArray[np.float64]
    arrived: NDArray[np.float64]

    def when(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """The earliest times at which so many records had arrived: `RateSeries.when`, for a million at once."""
        pieces = np.maximum(np.searchsorted(self.arrived, records, side="left") - 1, 0)
        ends = np.append(self.times_s[1:], np.inf)[pieces]
        times = self.times_s[pieces] + (records - self.arrived[pieces]) / self.rates[pieces]
        return np.asarray(np.minimum(times, ends))

    def of(self, first: int, end: int) -> Self:
        """What the offsets from `first` up to, without, `end` need, and one piece more: its time is an end."""
        low = max(int(np.searchsorted(self.arrived, first + 1, side="left")) - 1, 0)
        high = int(np.searchsorted(self.arrived, end, side="left")) + 1
        return type(self)(*(array[low:high] for array in self))


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Event times. They are those of the workload, in which an hour is an hour, and need not be in order."""

    seed: int
    epoch_s: int
    time_factor: float = 1.0
    disorder: int = 1
    """So many events that follow each other bear each other's times."""
    late_share: float = 0.0
    """Share of the events that bear an earlier time than they should ..."""
    late_by_s: float = 0.0
    """... by up to so much."""
    flush_after: int | None = None
    """From this offset on events only push the watermark on: they bear the time of the last one before it ..."""
    flush_s: float = 0.0
    """... and so much more."""

    def part(self, stretch: ArrivalStretch, first: int, end: int) -> ArrivalStretch:
        """The piece of the curve that the times of these offsets need."""
        if self.flush_after is not None:
            first, end = min(first, self.flush_after - 1), min(end, self.flush_after)
        return stretch.of(first // self.disorder * self.disorder, -(-end // self.disorder) * self.disorder)

    def event_time_us(self, offsets: IntArray, stretch: ArrivalStretch) -> IntArray:
        """Of each event."""
        if self.flush_after == 0:
            # None has come before: the workload's time zero stands for the last one.
            return np.full(len(offsets), self.epoch_s * 1_000_000 + round(self.flush_s * 1e6), dtype=np.int64)
        places = offsets if self.flush_after is None else np.minimum(offsets, self.flush_after - 1)
        if self.disorder > 1:
            group = places // self.disorder * self.disorder
            places = group + places * _STRIDE % self.disorder
        # The event with offset 0 is the first record to have arrived.
        since_s = stretch.when(places.astype(np.float64) + 1.0) * self.time_factor
        times = self.epoch_s * 1_000_000 + np.rint(since_s * 1e6).astype(np.int64)
        if self.late_share:
            random = scrambled(offsets, self.seed ^ _LATE_SALT)
            is_late = (random >> np.uint64(32)) < round(self.late_share * 2**32)
            times -= np.where(is_late, spread(random & np.uint64(0xFFFFFFFF), round(self.late_by_s * 1e6) + 1), 0)
        if self.flush_after is not None:
            times += np.where(offsets >= self.flush_after, round(self.flush_s * 1e6), 0)
        return times

"""Windows over what rises and falls with every micro-batch: they hold whole batches.

Between two batches nothing is busy and nothing is committed. A window that is shorter than the time from one batch to
the next reads a full load now and none a little later, and one of a batch and a half reads a third too much or too
little, however steady the load is. So these windows are at least a batch long, and begin where a batch did.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from elastream.core.observation import FinishedBatch, Query
from elastream.core.signals import Signal

MOVED_BY_BATCHES = frozenset(
    {
        Signal.COMMITTED,
        Signal.BACKLOG_AGE,
        Signal.BATCHES,
        Signal.DRIVER_TIME,
        Signal.DELAY,
        Signal.RECORDS_IN,
        Signal.RECORDS_OUT,
        Signal.BUSY_TIME,
        Signal.BACKPRESSURE_TIME,
        Signal.QUEUE,
        Signal.WORKER_CPU,
        Signal.WORKER_RECORDS,
        Signal.BUSY_SLOTS,
        Signal.SYSTEM_TIME,
        Signal.PAGE_FAULTS,
        Signal.HOST_CPU,
        # Of the same time as what it is compared with.
        Signal.READY,
    }
)
"""Signals that rise and fall with every batch. Records arrive, and memory and state stay, whether one runs or not."""

# Readings are taken at their own times, so that a window of whole batches may not be had: so near to one will do, and
# else longer ones are looked at.
_NEAR = 0.05
_BATCHES_MORE = 3


def find_period_s(query: Query, batches: Iterable[FinishedBatch]) -> float:
    """The time from one batch to the next: the trigger's interval, or as long as one takes. 0: there are no batches.

    A batch without rows only cleans up, in no time.
    """
    if query.phase == "terminated":
        return 0.0
    last_s = next((batch.duration_s for batch in reversed(tuple(batches)) if batch.rows != 0), 0.0)
    return max(query.trigger.interval_s or 0.0, last_s)


def find_periods_s(queries: Iterable[Query], batches: Callable[[str], Iterable[FinishedBatch]]) -> dict[str, float]:
    """The same of everything that a reading may be of: queries, their sources and their operators."""
    found = {}
    for query in queries:
        period_s = find_period_s(query, batches(query.id))
        found[query.id] = period_s
        found |= {f"{query.id}/{source.name}": period_s for source in query.sources}
        found |= {f"{query.id}/{work.name}": period_s for work in query.operators}
    return found


def widest_s(window_s: float, period_s: float) -> float:
    """How far back a window of whole batches may reach that is to be at least so long."""
    return max(window_s, period_s) + _BATCHES_MORE * period_s


def whole_s(times: Sequence[float], now_s: float, window_s: float, period_s: float) -> float:
    """The length of the shortest window over readings of these times that holds whole batches and ends now."""
    if period_s <= 0:
        return window_s
    least_s = max(window_s, period_s)
    best = (1.0, least_s)
    for at in range(bisect_right(times, now_s - (1 - _NEAR) * least_s) - 1, -1, -1):
        long_s = now_s - times[at]
        batches = long_s / period_s
        found = (abs(batches - round(batches)) / batches, long_s)
        if long_s > widest_s(window_s, period_s) or (found > best and best[0] <= _NEAR):
            break
        best = min(best, found)
    return best[1]

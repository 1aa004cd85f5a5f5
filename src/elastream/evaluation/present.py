"""What a query could take in now, and how busy slots are: figures of the present that follow from several looks."""

from collections import deque
from typing import NamedTuple

from elastream.core.observation import Observation, Pool, Query
from elastream.estimators.batch_cost import BatchCost, batch_cost
from elastream.evaluation.measures import Value

KEPT_BATCHES = 60


class _Batch(NamedTuple):
    rows: float
    busy_s: float
    driver_s: float


class PresentCapacity:
    """Learns from one query's batches what a record costs.

    A batch of so many rows takes the driver's time and its slot time spread evenly over the slots. At most as many rows
    fit as make it as long as the trigger; without a trigger, as the rows of larger and larger batches cost. Waves of
    tasks and skew are left out, so it is what could be had at best. Rows over time would be no capacity: a batch
    that read all there was is as long as its rows need.
    """

    def __init__(self) -> None:
        self._batches: deque[_Batch] = deque(maxlen=KEPT_BATCHES)
        self._seen: int | None = None
        self._cost: BatchCost | None = None
        self._driver_s = 0.0

    def update(self, query: Query, now: Observation) -> Value:
        """Take in a look, and tell records per second; unknown where no batch says what so many rows would cost."""
        self.learn(query)
        return self.at(query, sum(pool.slots for pool in now.pools))

    def learn(self, query: Query) -> None:
        """Take in the last batch of a look."""
        batch = query.finished
        if batch is not None and batch.id != self._seen:
            # What a driver does for the first time says nothing of later batches.
            is_first, self._seen = self._seen is None, batch.id
            if not is_first and batch.rows and batch.busy_s is not None:
                self._take(_Batch(batch.rows, batch.busy_s, batch.driver_s or 0.0))

    def at(self, query: Query, slots: int) -> Value:
        """Records per second on so many slots."""
        cost = self._cost
        if cost is None or slots == 0 or cost.per_record_s <= 0:
            return None
        interval_s = query.trigger.interval_s
        if interval_s is None:
            return slots / cost.per_record_s if cost.told_apart or self._is_behind(query) else None
        rows = max(0.0, ((interval_s - self._driver_s) * slots - cost.per_batch_s) / cost.per_record_s)
        return None if rows and cost.doubt(rows) is not None else rows / interval_s

    def _take(self, batch: _Batch) -> None:
        # Once for each batch: there are many more looks.
        self._batches.append(batch)
        self._cost = batch_cost([(one.rows, one.busy_s) for one in self._batches])
        self._driver_s = sorted(one.driver_s for one in self._batches)[len(self._batches) // 2]

    def _is_behind(self, query: Query) -> bool:
        return query.finished is not None and bool(query.finished.limited)


class BusyShare:
    """The share of all slots' time in which a task ran, over a window."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._moments: deque[tuple[float, float, float]] = deque()
        """Time, slot-seconds that were busy and that there were, as running totals."""

    def update(self, now: Observation) -> Value:
        """Take in a look; unknown before two of them, and across one that lost events."""
        readings = [pool.busy_slot_s for pool in now.pools]
        if not readings or None in readings:
            self._moments.clear()
            return None
        busy_s = sum(reading.value for reading in readings if reading is not None)
        moments = self._moments
        if moments and busy_s < moments[-1][1]:
            moments.clear()
        before = moments[-1] if moments else (now.at_s, busy_s, 0.0)
        moments.append((now.at_s, busy_s, before[2] + sum(map(_slots, now.pools)) * (now.at_s - before[0])))
        while len(moments) > 2 and moments[1][0] <= now.at_s - self._window_s:
            moments.popleft()
        held = moments[-1][2] - moments[0][2]
        return min(1.0, (busy_s - moments[0][1]) / held) if held > 0 else None


def _slots(pool: Pool) -> int:
    return (pool.ready + pool.leaving) * pool.slots_per_worker

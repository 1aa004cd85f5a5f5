"""What came, what went and what slots did over a whole run, from running totals that may begin anew."""

from collections.abc import Hashable

from elastream.core.observation import Observation, Reading
from elastream.evaluation.measures import Value, living_queries


class TotalGrowth:
    """By how much running totals have grown; where one begins anew, what was lost in between is not known."""

    def __init__(self) -> None:
        self.value = 0.0
        self.seconds = 0.0
        """Between the first reading and the last, over all that were followed."""
        self.moved_s: float | None = None
        """When one of them grew last."""
        self._last: dict[Hashable, Reading] = {}

    def update(self, key: Hashable, reading: Reading) -> tuple[float, float]:
        """Take in a reading; by how much it grew since the last one, and in how many seconds."""
        before = self._last.get(key)
        self._last[key] = reading
        if before is None or reading.value < before.value or reading.at_s <= before.at_s:
            return 0.0, 0.0
        grown, seconds = reading.value - before.value, reading.at_s - before.at_s
        self.value += grown
        self.seconds += seconds
        if grown > 0:
            self.moved_s = reading.at_s
        return grown, seconds


class RunTotals:
    """Records that arrived and were committed, and slots that were busy."""

    def __init__(self) -> None:
        self.arrived, self.committed, self._busy = TotalGrowth(), TotalGrowth(), TotalGrowth()
        self._slot_s = 0.0
        self._slots: dict[str, int] = {}
        self._began_s: float | None = None
        self._ended_s = 0.0
        self._drained_s: float | None = None

    def update(self, now: Observation) -> None:
        """Take in one look."""
        self._began_s = now.at_s if self._began_s is None else self._began_s
        self._ended_s = now.at_s
        grown = 0.0
        for query in now.queries:
            for source in query.sources:
                if source.arrived is not None and source.committed is not None:
                    grown += self.arrived.update((query.id, source.name), source.arrived)[0]
                    self.committed.update((query.id, source.name), source.committed)
        if grown > 0:
            self._drained_s = None
        backlogs = [query.backlog for query in living_queries(now)]
        if self._drained_s is None and backlogs and all(backlog == 0 for backlog in backlogs):
            self._drained_s = now.at_s
        for pool in now.pools:
            if pool.busy_slot_s is not None:
                _, seconds = self._busy.update(pool.name, pool.busy_slot_s)
                # For the slots that were there since the last reading.
                self._slot_s += self._slots.get(pool.name, 0) * seconds
                self._slots[pool.name] = pool.slots

    @property
    def elapsed_s(self) -> float:
        """From the first look to the last."""
        return self._ended_s - self._began_s if self._began_s is not None else 0.0

    def mean_rps(self, growth: TotalGrowth) -> Value:
        """Over the run."""
        return growth.value / self.elapsed_s if growth.seconds and self.elapsed_s else None

    @property
    def throughput_ratio(self) -> Value:
        """Records committed for each that arrived."""
        return self.committed.value / self.arrived.value if self.arrived.value else None

    @property
    def idle_share(self) -> Value:
        """Of the time of all slots, that in which no task ran."""
        return max(0.0, 1.0 - self._busy.value / self._slot_s) if self._slot_s else None

    @property
    def excess_time(self) -> Value:
        """For how long what waited was worked off after the last record came, over the time in which records came."""
        last_s, began_s = self.arrived.moved_s, self._began_s
        if last_s is None or began_s is None or self._drained_s is None or last_s <= began_s:
            return None
        # Whether nothing more comes is known once a look has found it so.
        return (self._drained_s - last_s) / (last_s - began_s) if last_s < self._ended_s else None

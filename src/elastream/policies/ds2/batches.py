"""What slots cannot help in a micro-batch: the driver's time, and waves of tasks that are half empty.

Useful time knows of neither. Eight slots' worth of work takes just as long on eleven slots as on eight where it is cut
into 24 tasks, and a driver that plans for a second leaves nine of ten.
"""

from collections.abc import Sequence
from typing import NamedTuple

from elastream.core.observation import Query
from elastream.estimators.left_behind import is_batched, period_s
from elastream.estimators.waves import Stage, slots_for, stages_of, task_time_s


class BatchWork(NamedTuple):
    """A batch of a query that keeps up: all that arrives from one trigger to the next."""

    period_s: float
    driver_s: float
    work_s: float
    """Slot-seconds of its tasks."""
    stages: Sequence[Stage] = ()
    """How it is cut; empty where that is not known, or where tasks of other queries fill the waves."""

    def slots(self) -> float:
        """The fewest on which it ends before the next one is due; as many as are of use where none do."""
        # However long the driver takes: slots cannot shorten that.
        within_s = max(self.period_s - self.driver_s, self.period_s / 2)
        return slots_for(self.work_s, within_s, self.stages) if self.stages else self.work_s / within_s

    def faster(self, slots: int, ratio: float) -> float | None:
        """The fewest slots on which it takes `ratio` times less than on these, or as near to that as any come.

        None where more than these are of no use.
        """
        goal_s = self.time_s(slots) / ratio
        if not self.stages:
            return self.work_s / (goal_s - self.driver_s) if goal_s > self.driver_s else None
        more = range(slots + 1, max(stage.tasks for stage in self.stages) + 1)
        best = next((n for n in more if self.time_s(n) <= goal_s), min(more, key=self.time_s, default=slots))
        return float(best) if self.time_s(best) < self.time_s(slots) else None

    def time_s(self, slots: int) -> float:
        """How long it takes on so many slots."""
        if not self.stages:
            return self.driver_s + self.work_s / slots
        return self.driver_s + task_time_s(self.work_s, self.stages, slots)

    def sentence(self) -> str:
        """How it fits in."""
        waves = f"in waves of {max(stage.tasks for stage in self.stages)} tasks " if self.stages else ""
        within = f"in {self.period_s:g} s, {self.driver_s:.1f} s of it the driver's"
        return f"{waves}{self.slots():.1f} slots do a batch {within}"


def batch_work(query: Query, slots: float, driver_s: float, *, is_alone: bool) -> BatchWork | None:
    """The batch of a query that keeps so many slots busy all of the time; None where it runs without batches."""
    if not is_batched(query):
        return None
    every_s = period_s(query)
    return BatchWork(every_s, driver_s, slots * every_s, stages_of(query) if is_alone else ())

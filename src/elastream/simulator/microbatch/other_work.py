"""Jobs of no query: a notebook, a compaction, a backfill. They hold slots that queries then do not get."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from elastream.simulator.cluster import SimulatedWorker
from elastream.simulator.faults import AdHocJob


@dataclass(slots=True, eq=False)
class OtherTask:
    """One task on one slot."""

    worker: SimulatedWorker
    started_s: float
    lasts_s: float

    @property
    def ends_s(self) -> float:
        """When it gives its slot back."""
        return self.started_s + self.lasts_s


class OtherWork:
    """Tasks of no query: those that wait for a slot, by how long they will keep it, and those that have one."""

    def __init__(self) -> None:
        self.running: list[OtherTask] = []
        self._waiting: deque[float] = deque()

    def submit(self, job: AdHocJob) -> None:
        """A job begins."""
        self._waiting.extend([job.for_s] * job.tasks)

    def take(self, free: Sequence[SimulatedWorker], now_s: float) -> list[OtherTask]:
        """Start what waits on free slots. Returns the tasks that were started."""
        started = []
        for worker in free if self._waiting else ():
            while self._waiting and worker.running < worker.slots:
                worker.running += 1
                started.append(OtherTask(worker, now_s, self._waiting.popleft()))
        self.running += started
        return started

    def end(self, task: OtherTask, now_s: float) -> bool:
        """A task has ended. Returns whether it still ran: its worker may have died."""
        if task not in self.running:
            return False
        self.running.remove(task)
        task.worker.running -= 1
        task.worker.busy_slot_s += now_s - task.started_s
        return True

    def rerun(self, worker: SimulatedWorker, now_s: float) -> None:
        """A worker dies; what it ran begins anew elsewhere."""
        for task in [task for task in self.running if task.worker is worker]:
            self.end(task, now_s)
            self._waiting.appendleft(task.lasts_s)

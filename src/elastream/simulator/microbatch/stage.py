"""One stage of one batch: tasks that wait for a slot, and tasks that run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from elastream.core.observation import LongestTask
from elastream.simulator.cluster import SimulatedWorker
from elastream.simulator.faults import SkewDrift
from elastream.simulator.microbatch.model import StageModel

if TYPE_CHECKING:
    from elastream.simulator.microbatch.query import SimulatedQuery


Member = tuple[SimulatedWorker, int, list[int]]
"""A worker, how many tasks it runs, and which partitions where that matters (state)."""


def drifted(model: StageModel, drifts: Sequence[SkewDrift], now_s: float) -> StageModel:
    """The stage with its largest task as large as it is by now."""
    skew = max((drift.skew(now_s) for drift in drifts), default=1.0)
    return replace(model, skew=min(skew, model.partitions)) if skew > model.skew and not model.stateful else model


@dataclass(slots=True)
class StageTotals:
    """What a stage has done over all batches."""

    records_in: float = 0.0
    records_out: float = 0.0
    busy_s: float = 0.0


@dataclass(slots=True, eq=False)
class Wave:
    """Tasks that began at the same time, take equally long, and so end together."""

    stage: StageRun
    started_s: float
    task_s: float
    members: list[Member]
    is_first: bool = False
    """Whether its workers have run no task of the stage before."""


@dataclass(slots=True, eq=False)
class StageRun:
    """A stage within a batch. Tasks are alike, but for one that may be larger (skew)."""

    query: SimulatedQuery
    model: StageModel
    totals: StageTotals
    records: float
    submitted_s: float
    noise: float
    unfinished: int = 0
    plain: int = 0
    """Tasks that wait and could run anywhere."""
    large: int = 0
    """Tasks that wait and are larger than the others: 1 or 0."""
    at_home: dict[SimulatedWorker | None, list[int]] = field(default_factory=dict)
    """Partitions that wait, by the worker that holds their state."""
    refused_s: float = 0.0
    """Since when slots are free that its tasks do not take, because their state is elsewhere."""
    counted: float = 0.0
    busy_s: float = 0.0
    longest_s: float = 0.0
    """Of the tasks that have ended."""

    def __post_init__(self) -> None:
        self.unfinished = tasks = self.model.partitions
        self.refused_s = self.submitted_s
        homes = self.query.homes.get(self.model.name)
        if homes is None:
            self.large = 1 if self.model.skew > 1 else 0
            self.plain = tasks - self.large
        else:
            waiting: dict[SimulatedWorker | None, list[int]] = defaultdict(list)
            for partition, home in enumerate(homes):
                waiting[home if home is not None and home.state == "ready" else None].append(partition)
            self.at_home = dict(waiting)

    @property
    def waiting(self) -> bool:
        """Whether a task has no slot yet."""
        return bool(self.plain or self.large or self.at_home)

    @property
    def done(self) -> int:
        """Tasks that have ended."""
        return self.model.partitions - self.unfinished

    def longest_task(self) -> LongestTask:
        """The longest task, once all have ended."""
        tasks, mean = self.model.partitions, self.records / self.model.partitions
        return LongestTask(
            stage=self.model.name,
            tasks=tasks,
            task_s=self.longest_s,
            mean_s=self.busy_s / tasks,
            records=mean * max(1.0, self.model.skew),
            mean_records=mean,
        )

    def task_s(self, share: float, crowd: float) -> float:
        """Time of a task that takes `share` times the mean number of records, on a warm and healthy worker.

        Where it shares its core, what needs one takes `crowd` times as long.
        """
        model = self.model
        work_s = share * self.records / model.partitions * model.slot_s_per_record
        waiting_s = work_s * model.waiting_share
        return (waiting_s + (work_s - waiting_s + model.task_s) * crowd) * self.noise

    def large_s(self, crowd: float) -> float:
        """Time of the largest task."""
        return self.task_s(self.model.skew, crowd)

    def plain_s(self, crowd: float) -> float:
        """Time of every other task: together they take what the largest one leaves."""
        if self.model.skew <= 1:
            return self.task_s(1.0, crowd)
        return self.task_s((self.model.partitions - self.model.skew) / (self.model.partitions - 1), crowd)

    def take_plain(self, free: Sequence[SimulatedWorker]) -> list[Member]:
        """Spread tasks that could run anywhere over free slots."""
        slots = sum([worker.slots - worker.running for worker in free])
        members: list[Member] = []
        for worker in free:
            tasks = worker.slots - worker.running
            if self.plain < slots:
                # Fewer tasks than slots spread over many workers: each takes its part of what is left.
                slots, tasks = slots - tasks, math.ceil(self.plain * tasks / slots)
            else:
                slots -= tasks
            if tasks:
                self.plain -= tasks
                members.append((worker, tasks, []))
        return members

    def take_at_home(self, free: Sequence[SimulatedWorker]) -> list[Member]:
        """Partitions whose state is on free workers."""
        members: list[Member] = []
        for worker in free:
            if self.at_home.get(worker):
                taken = self._take(worker, worker.slots - worker.running)
                members.append((worker, len(taken), taken))
        return members

    def take_moved(self, most: int, *, anywhere: bool) -> list[int]:
        """Partitions to run elsewhere: nobody's own first, then those of the worker with most waiting."""
        moved: list[int] = []
        while len(moved) < most:
            if self.at_home.get(None):
                moved += self._take(None, 1)
            elif anywhere and self.at_home:
                moved += self._take(max(self.at_home, key=lambda home: len(self.at_home[home])), 1)
            else:
                break
        return moved

    def _take(self, home: SimulatedWorker | None, most: int) -> list[int]:
        """Waiting partitions of one home."""
        waiting = self.at_home[home]
        taken = waiting[:most]
        if len(taken) == len(waiting):
            del self.at_home[home]
        else:
            self.at_home[home] = waiting[most:]
        return taken

    def finish(self, tasks: int, task_s: float) -> None:
        """Count tasks that ended. Records are spread over tasks; the last one brings the sum to the exact number."""
        self.unfinished -= tasks
        share = self.records * tasks / self.model.partitions if self.unfinished else self.records - self.counted
        self.counted += share
        self.totals.records_in += share
        self.totals.records_out += share * self.model.records_out
        self.totals.busy_s += tasks * task_s
        self.busy_s += tasks * task_s
        self.longest_s = max(self.longest_s, task_s)

"""A query that runs micro-batches, for planning: a size holds from the begin of a batch to the begin of the next one.

A batch takes all that came since the one before it began, so that what waits is told by when that was. Batches begin at
triggers, which are moments of their own, or, after one that took too long, within a slice of time. That a begin is
known to a slice alone is the only rounding. Down: it was at the start of its slice, the one before it at the end of its
own, and whoever likes may wait. Up: the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from elastream.experiments.optimum.problem import Floats, Moves, Places, Problem, Rounding, SizeChange, SizePlan, Turn
from elastream.simulator.microbatch.model import QueryModel, StageModel

# A slice is so much of the bound; the longest time between two begins is as many times the bound.
_SLICES, _LONGEST = 60, 1.0
# Fewer records are none, as in the simulator.
_LEAST_RECORDS = 1.0 - 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTime:
    """How long a batch takes without noise, on executors that are up and warm and hold the state."""

    query: QueryModel
    slots_per_worker: int
    slower: float = 1.0
    """Tasks take so many times longer."""

    def at(self, workers: int, records: Floats) -> Floats:
        """In seconds."""
        slots = workers * self.slots_per_worker
        reaching = {source.name: source.share * records for source in self.query.sources}
        stages = {stage.name: stage for stage in self.query.stages}
        taken_s = np.full(np.shape(records), self.query.plan_s + self.query.commit_s)
        for level in self.query.topology().levels():
            alone, work = np.zeros(np.shape(records)), np.zeros(np.shape(records))
            for stage in (stages[operator.name] for operator in level):
                rows = sum((reaching[name] for name in stage.after), np.zeros(np.shape(records)))
                reaching[stage.name] = rows * stage.records_out
                alone = np.maximum(alone, _stage_s(stage, rows, slots) * stage.longer_on(slots))
                work = work + _work_s(stage, rows) * stage.longer_on(slots)
            # Stages side by side share the slots.
            taken_s = taken_s + self.slower * np.maximum(alone, work / slots)
        return taken_s


def _work_s(stage: StageModel, rows: Floats) -> Floats:
    return rows * stage.slot_s_per_record + stage.partitions * stage.task_s


def _stage_s(stage: StageModel, rows: Floats, slots: int) -> Floats:
    """In whole waves; the largest task begins first, and others follow it where there is room."""
    tasks, mean_s = stage.partitions, rows / stage.partitions * stage.slot_s_per_record
    if stage.skew <= 1:
        return math.ceil(tasks / slots) * (mean_s + stage.task_s)
    large_s = stage.skew * mean_s + stage.task_s
    plain_s = (tasks - stage.skew) / (tasks - 1) * mean_s + stage.task_s
    if slots == 1:
        return large_s + (tasks - 1) * plain_s
    behind = range(math.ceil(tasks / slots))
    ways = [np.maximum(large_s + k * plain_s, math.ceil((tasks - 1 - k) / (slots - 1)) * plain_s) for k in behind]
    return np.asarray(np.minimum.reduce(ways))


def worth_having(batch: BatchTime, sizes: Sequence[int]) -> list[int]:
    """Sizes with which some batch is faster than with all smaller ones."""
    tried = np.array([1.0, 1e3, 1e6, 1e9])
    found, best = [], np.full(len(tried), np.inf)
    for size in sizes:
        taken_s = batch.at(size, tried)
        if (taken_s < best * (1 - 1e-9)).any():
            found.append(size)
        best = np.minimum(best, taken_s)
    return found


@dataclass(frozen=True, kw_only=True)
class BatchJob:
    """Implements Engine. Levels are how many moments ago the batch before began, less one."""

    problem: Problem
    batch: BatchTime
    trigger_s: float
    """0: as fast as possible."""
    slices: int = _SLICES
    """Of the bound."""

    @cached_property
    def slice_s(self) -> float:
        """Triggers are whole slices apart."""
        wanted_s = self.problem.slo.delay_s / self.slices
        return self.trigger_s / math.ceil(self.trigger_s / wanted_s - 1e-9) if self.trigger_s else wanted_s

    @cached_property
    def _per_trigger(self) -> int:
        """Moments from one trigger to the next: itself, and slices."""
        return round(self.trigger_s / self.slice_s) + 1 if self.trigger_s else 0

    @cached_property
    def reach(self) -> int:
        """Implements Engine."""
        span_s = _LONGEST * self.problem.slo.delay_s + self.trigger_s
        return self._after(span_s) + 2 if self.trigger_s else math.ceil(span_s / self.slice_s) + 1

    @property
    def levels(self) -> int:
        """Implements Engine."""
        return self.reach

    @cached_property
    def moments(self) -> int:
        """Implements Engine."""
        return int(np.searchsorted(self._span(np.arange(self._most))[0], self.problem.duration_s - 1e-9))

    @property
    def _most(self) -> int:
        slices = math.ceil(self.problem.duration_s / self.slice_s) + 2
        return slices + (math.ceil(self.problem.duration_s / self.trigger_s) + 2 if self.trigger_s else 0)

    @property
    def record_s(self) -> float:
        """Implements Engine."""
        workers = self.problem.workers[0]
        one, many = self.batch.at(workers, np.array([1.0, 1e9]))
        return float(many - one) * workers / 1e9

    def coarser(self, factor: int) -> BatchJob:
        """Implements Engine."""
        return replace(self, slices=max(4, self.slices // factor))

    def prices(self, rounding: Rounding) -> tuple[float, float]:
        """Implements Engine.

        A size that grows within a slice is counted from the start of that slice, and who leaves between two looks is
        not seen to be paid.
        """
        problem = self.problem
        if rounding == "down":
            return problem.least_start_s - self.slice_s, 0.0
        return problem.start_s, problem.leave_s

    def waiting_s(self, moment: int) -> float | None:
        """Implements Engine."""
        low, _ = self._span(np.array([moment, moment + 1]))
        return float(low[1] - low[0])

    def turns(self, first: int, last: int, rounding: Rounding) -> Sequence[Turn]:
        """Implements Engine."""
        problem, arrived = self.problem, self.problem.curve.arrived
        places = np.arange(first, last)[:, None]
        before = places - 1 - np.arange(self.levels)
        here, there = self._span(places), self._span(before)
        # Down: begun as early as can be, after one that began as late as can be.
        now_s, since_s = (here[0], there[1]) if rounding == "down" else (here[1], there[0])
        came, gone = arrived(now_s), arrived(np.maximum(since_s, 0.0))
        rows = np.maximum(0.0, came - gone)
        end_s, due_s = problem.duration_s, problem.slo.delay_s
        overdue_at_end = arrived(np.array(end_s - due_s))
        low = here[0]
        found = []
        for workers in problem.workers:
            done_s = np.where(rows >= _LEAST_RECORDS, now_s + self.batch.at(workers, rows), now_s)
            after = self._next(places, now_s, done_s)
            after = np.minimum(after, np.minimum(places + self.reach, self.moments))
            is_end = after == self.moments
            old = np.minimum(arrived(np.minimum(done_s, end_s) - due_s), came)
            late = np.maximum(0.0, old - gone) * (rows > 0)
            late = late + np.where(is_end, np.maximum(0.0, overdue_at_end - arrived(here[1])), 0.0)
            until_s = np.where(is_end, end_s, self._span(after)[0])
            level = np.where(is_end, 0, after - places - 1)
            found.append((workers * (until_s - low), late, after * self.levels + level))
        cost_s, late, after = (np.stack(parts, axis=2) for parts in zip(*found, strict=True))
        return [Turn(Moves(*of_moment)) for of_moment in zip(cost_s, late, after, strict=True)]

    def roll_out(self, decisions: npt.NDArray[np.uint8]) -> SizePlan:
        """Implements Engine: batch by batch, at the times at which they really begin."""
        problem, arrived = self.problem, self.problem.curve.arrived
        end_s, bound_s = problem.duration_s, problem.slo.delay_s
        now_s = before_s = cost_s = late = committed = begun = 0.0
        size = problem.begins_with
        changes = [SizeChange(0.0, problem.workers[size])]
        while now_s < end_s - 1e-9:
            moment = min(self._containing(now_s), self.moments - 1)
            level = min(max(0, moment - self._containing(before_s) - 1), self.levels - 1) if now_s else 0
            wanted = int(decisions[moment, level, size])
            workers = problem.workers[wanted]
            if wanted != size:
                more = workers - problem.workers[size]
                cost_s += more * problem.start_s if more > 0 else -more * problem.leave_s
                changes.append(SizeChange(now_s, workers))
                size = wanted
            rows = arrived(now_s) - committed
            done_s = now_s
            if rows >= _LEAST_RECORDS:
                done_s += float(self.batch.at(workers, np.asarray(rows)))
                late += max(0.0, min(arrived(min(done_s, end_s) - bound_s), arrived(now_s)) - committed)
                committed = arrived(now_s) if done_s <= end_s else committed
            until_s = self._begin_after(now_s, done_s)
            cost_s += workers * (min(until_s, end_s) - now_s)
            begun, before_s, now_s = arrived(now_s), now_s, until_s
        late += max(0.0, arrived(end_s - bound_s) - begun)
        judged = max(committed, arrived(end_s - bound_s))
        return SizePlan(changes=changes, cost_s=cost_s, late=late, judged=judged)

    def _begin_after(self, now_s: float, done_s: float) -> float:
        """When the next batch begins."""
        if not self.trigger_s:
            return max(done_s, now_s + self.slice_s if done_s == now_s else done_s)
        return max(done_s, (math.floor(now_s / self.trigger_s + 1e-9) + 1) * self.trigger_s)

    def _containing(self, at_s: float) -> int:
        """The moment in which a time lies."""
        return int(self._at(np.asarray(at_s)))

    def _span(self, places: Places) -> tuple[Floats, Floats]:
        """From when to when each moment is."""
        if not self.trigger_s:
            return places * np.float64(self.slice_s), (places + 1) * np.float64(self.slice_s)
        trigger, part = np.divmod(places, self._per_trigger)
        begin_s = trigger.astype(np.float64) * np.float64(self.trigger_s)
        slice_s = np.float64(self.slice_s)
        return begin_s + np.maximum(0, part - 1) * slice_s, begin_s + part * slice_s

    def _at(self, at_s: Floats) -> Places:
        if not self.trigger_s:
            return np.floor(at_s / self.slice_s + 1e-9).astype(np.intp)
        trigger = np.floor(at_s / self.trigger_s + 1e-9)
        rest_s = at_s - trigger * self.trigger_s
        part = np.where(rest_s <= 1e-9, 0, np.floor(rest_s / self.slice_s + 1e-9) + 1)
        return (trigger * self._per_trigger + part).astype(np.intp)

    def _after(self, span_s: float) -> int:
        return math.ceil(span_s / self.trigger_s) * self._per_trigger

    def _next(self, places: Places, now_s: Floats, done_s: Floats) -> Places:
        """The moment in which the next batch begins."""
        found = np.maximum(self._at(done_s), places + 1)
        if not self.trigger_s:
            return found
        trigger = (places // self._per_trigger + 1) * self._per_trigger
        return np.maximum(trigger, np.where(done_s <= self._span(trigger)[0] + 1e-9, trigger, found))

"""The use of a pool that can do no more, learned from batches that left records behind.

While a batch runs, slots are not busy all the time: the driver plans and commits, stages wait for their last tasks, and
the last wave of tasks is half empty. So a pool that falls behind shows a processor use of 0.93 or of 0.45, and whoever
takes 1 for full sees room where there is none.

A batch shows it that was too long for its trigger, or from which a read limit kept records as fast as it went, if the
one before it was so too and on the same workers. One of which the driver or the longest tasks took most of the time
shows nothing: more workers would not help it. What is full at another size follows from how full waves of tasks are
there. A batch that shows more than what was taken for full corrects it.

An overloaded query ends few batches. Until one has shown it, the running one does, once it has taken twice as long as
it may and its tasks wait for slots: what busy slots use, times how full waves of tasks are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypedDict

from elastream.core.observation import FinishedBatch, Observation, Pool, Query, RunningBatch
from elastream.estimators.left_behind import period_s
from elastream.estimators.waves import Stage, filled, stages_of

Metric = Literal["cpu", "busy"]
"""Processor use of the workers, or the share of slot time in which a task ran."""

_KEPT_POINTS = 256
_KEPT_SIZES = 64
# Of a batch's time that is the driver's or its longest tasks', more workers save nothing. With two waves of tasks that
# is half of it and the driver's part.
_MOST_FIXED = 0.75
# A batch that shows so much more than what was taken for full was not full then: more than noise.
_MORE = 1.1
_LEAST = 0.02


class FullUse(TypedDict):
    """What was seen of one pool: plain values, to be kept in a policy's memory."""

    busy_s: float | None
    """Total of the last look."""
    points: list[list[float]]
    """Time, and the sums of processor use and of busy share over time, since before the running batch began."""
    cpu_since: float | None
    """Since when the processor use was known on every look."""
    same_since: list[float] | None
    """How many workers are ready, and since when there are so many and none comes or goes."""
    late: dict[str, list[int]]
    """Query -> its last batch, and how many in a row left records behind."""
    levels: dict[str, list[float | None]]
    """Workers -> processor use and busy share at which so many could do no more, the last learned last."""
    guessed: str | None
    """Of which of them that is what a running batch has shown so far."""


class Full(NamedTuple):
    """What is full, at any size; everything, as long as nothing was learned."""

    levels: Mapping[int, float]
    """As it was learned, by size."""
    whole: float
    """Where no wave of tasks is half empty."""
    stages: Sequence[Stage]
    slots_per_worker: int

    def at(self, workers: int) -> float:
        """The use at which so many workers can do no more."""
        known = self.levels.get(workers)
        return min(1.0, self.whole * filled(self.stages, workers * self.slots_per_worker)) if known is None else known

    def size(self, workers: float, of: int) -> int:
        """The fewest workers that do as much as so many would, each of which did as much as one of `of` does."""
        # 7 x 0.7 / 0.7 is seven workers, not eight.
        alike = math.ceil(workers - 1e-9)
        if not self.levels:
            return alike
        needed = workers * self.at(of) - 1e-9
        widest = max((stage.tasks for stage in self.stages), default=0) / self.slots_per_worker
        sizes = range(max(1, math.ceil(needed)), math.ceil(max(widest, workers / self.whole)) + 1)
        return next((size for size in sizes if size * self.at(size) >= needed), alike)


NOT_LEARNED = Full({}, 1.0, (), 1)


def start() -> FullUse:
    """Nothing was seen."""
    return {
        "busy_s": None,
        "points": [],
        "cpu_since": None,
        "same_since": None,
        "late": {},
        "levels": {},
        "guessed": None,
    }


def after(state: FullUse, pool: Pool, now: Observation) -> FullUse:
    """What is known after one more look."""
    seen = _with_workers(_with_use(state, pool, now), pool, now.at_s)
    oldest_s = now.at_s
    for query in now.queries:
        if (batch := query.finished) is not None:
            number, in_a_row = seen["late"].get(query.id, [-1, 0])
            if batch.id != number:
                is_late = _left_behind(batch, query)
                seen = _judged(seen, batch, twice=is_late and in_a_row > 0)
                seen = {**seen, "late": {**seen["late"], query.id: [batch.id, in_a_row + 1 if is_late else 0]}}
            oldest_s = min(oldest_s, batch.ended_s)
        if query.running is not None:
            oldest_s = min(oldest_s, query.running.started_s)
            seen = _guessed(seen, query, query.running, pool, now.at_s)
    here = {query.id for query in now.queries}
    return {
        **seen,
        "points": _thin(seen["points"], oldest_s),
        "late": {name: late for name, late in seen["late"].items() if name in here},
    }


def full(state: FullUse | None, pool: Pool, queries: Sequence[Query], metric: Metric) -> Full:
    """What was learned of a metric, for the queries that run now."""
    told = {int(size): level[metric == "busy"] for size, level in state["levels"].items()} if state else {}
    levels = {size: level for size, level in told.items() if level is not None}
    if not levels:
        return NOT_LEARNED
    # Of several queries, the tasks of one fill the waves of another.
    stages = stages_of(queries[0]) if len(queries) == 1 else []
    last, level = next(reversed(levels.items()))
    return Full(levels, level / filled(stages, last * pool.slots_per_worker), stages, pool.slots_per_worker)


def _with_use(state: FullUse, pool: Pool, now: Observation) -> FullUse:
    """With the use since the look before; where busy slots are not known, what was before cannot be compared."""
    busy_s, before_s = pool.busy_slot_s.value if pool.busy_slot_s else None, state["busy_s"]
    last = state["points"][-1] if state["points"] else None
    for_s = now.at_s - last[0] if last else 0.0
    if last is None or busy_s is None or before_s is None or busy_s < before_s or for_s <= 0 or not pool.slots:
        return {**state, "busy_s": busy_s, "points": [[now.at_s, 0.0, 0.0]], "cpu_since": None}
    known = [worker.cpu.value for worker in pool.workers if worker.state == "ready" and worker.cpu is not None]
    used, share = sum(known) / len(known) * for_s if known else 0.0, (busy_s - before_s) / pool.slots
    since_s = state["cpu_since"] if state["cpu_since"] is not None else last[0]
    return {
        **state,
        "busy_s": busy_s,
        "points": [*state["points"], [now.at_s, last[1] + used, last[2] + share]],
        "cpu_since": since_s if known else None,
    }


def _with_workers(state: FullUse, pool: Pool, at_s: float) -> FullUse:
    same = state["same_since"]
    if pool.in_flux or not pool.ready:
        return {**state, "same_since": None}
    return state if same and same[0] == pool.ready else {**state, "same_since": [pool.ready, at_s]}


def _judged(state: FullUse, batch: FinishedBatch, *, twice: bool) -> FullUse:
    """What a batch shows, if it ran on the same workers from its beginning to its end."""
    same = state["same_since"]
    if same is None or same[1] > batch.started_s or batch.id == 0 or batch.duration_s <= 0:
        return state
    size, sums = str(int(same[0])), _sums(state, batch.started_s, batch.ended_s)
    if sums is None:
        return state
    use = [None if one is None else one / batch.duration_s for one in sums]
    known = state["levels"].get(size) if size != state["guessed"] else None
    if twice and _can_be_helped(batch):
        return _with_level(state, size, use if known is None else _between(known, use))
    if known is not None and any(
        a is not None and b is not None and b > _MORE * a for a, b in zip(known, use, strict=True)
    ):
        return _with_level(state, size, use)
    return state


def _guessed(state: FullUse, query: Query, batch: RunningBatch, pool: Pool, at_s: float) -> FullUse:
    """What a batch shows that is late already and whose tasks wait for slots, while none that has ended does."""
    same = state["same_since"]
    if same is None or not batch.tasks_waiting or at_s - batch.started_s <= 2 * period_s(query) or batch.id == 0:
        return state
    size, sums = str(int(same[0])), _sums(state, max(same[1], batch.started_s), at_s)
    if sums is None or not sums[1] or (size in state["levels"] and size != state["guessed"]):
        return state
    part = filled(stages_of(query), pool.slots)
    level = [None if one is None else one / sums[1] * part for one in sums]
    return {**_with_level(state, size, level), "guessed": size}


def _with_level(state: FullUse, size: str, level: Sequence[float | None]) -> FullUse:
    others = {other: one for other, one in state["levels"].items() if other != size}
    possible = [None if one is None else min(1.0, max(_LEAST, one)) for one in level]
    levels = dict([*others.items(), (size, possible)][-_KEPT_SIZES:])
    return {**state, "levels": levels, "guessed": None if size == state["guessed"] else state["guessed"]}


def _between(before: Sequence[float | None], now: Sequence[float | None]) -> list[float | None]:
    """Halfway, where both are known."""
    return [a if b is None else b if a is None else (a + b) / 2 for a, b in zip(before, now, strict=True)]


def _left_behind(batch: FinishedBatch, query: Query) -> bool:
    """Whether a batch left more behind than the next one usually reads."""
    if batch.rows == 0:
        return False
    return batch.duration_s > period_s(query) or (query.trigger.interval_s is None and bool(batch.limited))


def _can_be_helped(batch: FinishedBatch) -> bool:
    """Whether more workers would have made it shorter."""
    if batch.critical_s is None or batch.driver_s is None:
        return False
    return batch.critical_s + batch.driver_s <= _MOST_FIXED * batch.duration_s


def _sums(state: FullUse, from_s: float, to_s: float) -> tuple[float | None, float] | None:
    """Processor use and busy share over a time, in seconds; None if they were not known all along."""
    before, after = _at(state["points"], from_s), _at(state["points"], to_s)
    if before is None or after is None or to_s <= from_s:
        return None
    is_known = state["cpu_since"] is not None and state["cpu_since"] <= from_s
    return after[0] - before[0] if is_known else None, after[1] - before[1]


def _at(points: list[list[float]], at_s: float) -> tuple[float, float] | None:
    """The sums at a time, on the lines between two looks."""
    for before, after in pairwise(points):
        if before[0] <= at_s <= after[0]:
            part = (at_s - before[0]) / (after[0] - before[0])
            return before[1] + (after[1] - before[1]) * part, before[2] + (after[2] - before[2]) * part
    return None


def _thin(points: list[list[float]], oldest_s: float) -> list[list[float]]:
    """Those from a time on and the one before it; of too many every other."""
    while len(points) > 2 and points[1][0] <= oldest_s:
        points = points[1:]
    return points if len(points) <= _KEPT_POINTS else [*points[:-1:2], points[-1]]

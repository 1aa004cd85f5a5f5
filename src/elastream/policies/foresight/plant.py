"""What an engine does with records, as far as it is known: pure functions of the present state, on arrays.

The state is for how long the oldest record has waited (`age_s`): of a query that runs micro-batches when its next batch
begins, of a continuous one at any time. A step says how many of the records that are done in it are late, and what the
state is after it. The last axis but one of all arrays is that of the sizes of the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
BitMap = npt.NDArray[np.bool_]

# What a batch may take over what it is expected to take, in standard deviations of the logarithm, and how often.
_DEVIATIONS = np.array([-1.5, -0.5, 0.5, 1.5, 2.3])
_HOW_OFTEN = np.array([0.16, 0.34, 0.34, 0.14, 0.02])
# Of records that are late anyway, those that are very late are worse: else a backlog would be left alone.
_WORSE = 0.02
_TINY_S = 0.5


class PlantStep(NamedTuple):
    """What comes of a time without a decision."""

    late: Floats
    """Records."""
    age_s: Floats
    """Afterwards."""


class Begin(NamedTuple):
    """What comes of the time from now until the state can be told: the rest of a running batch and the one after it."""

    late: Floats
    """Records."""
    takes_s: Floats
    age_s: Floats
    delay_s: Floats
    """Of the oldest record in it when it is committed."""


class Plant(Protocol):
    """An engine with its sizes."""

    @property
    def sizes(self) -> Floats:
        """Workers, fewest first."""

    def step(self, age_s: Floats, came_rps: Floats, rps: Floats, dt_s: float) -> PlantStep:
        """Some time at each size, in which so much arrives; what waits has come at another rate, maybe."""

    def change(self, age_s: Floats, came_rps: Floats, rps: Floats, dt_s: float, *, grows: bool) -> PlantStep | None:
        """The same where each size is new; None if a change stops nothing."""

    def keeps_up(self, rps: float) -> BitMap:
        """Which sizes are enough for a load for as long as it lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlant:
    """A query that runs micro-batches: one takes a fixed time, and more with every row in it.

    Rows that wait are in the next batch, which begins when the one before it has ended and its trigger has come. So a
    record waits for the batch before its own and for its own.
    """

    sizes: Floats
    fixed_s: Floats
    row_s: Floats
    """Of a batch's time, for each row in it: waves of tasks counted, so that two sizes may be alike."""
    trigger_s: float
    """0: as fast as possible."""
    noise: float
    """Standard deviation of the logarithm of a batch's time."""
    bound_s: float
    """Who waits longer is late."""

    def batch_s(self, rows: Floats) -> Floats:
        """How long a batch takes at each size."""
        taken: Floats = self.fixed_s + self.row_s * rows
        return taken

    def step(self, age_s: Floats, came_rps: Floats, rps: Floats, dt_s: float) -> PlantStep:
        """As many batches as there are in that time, which lead towards the length that the load keeps up."""
        fixed_s, growth = self.fixed_s[:, None], self.row_s[:, None] * rps
        before_s = np.maximum(age_s, self.trigger_s)
        takes_s = fixed_s + self.row_s[:, None] * came_rps * before_s
        next_s = np.maximum(takes_s, self.trigger_s)
        batches = dt_s / np.maximum(np.maximum(before_s, takes_s), _TINY_S)
        more = np.maximum(batches - 1, 0.0)
        power = np.exp(np.log(np.maximum(growth, 1e-9)) * more)
        short = 1 - growth
        level = np.abs(short) < 1e-4
        summed = np.where(level, more, (1 - power) / np.where(level, 1.0, short))
        later_s = np.maximum(next_s * power + fixed_s * summed, self.trigger_s)
        after_s = np.where(batches < 1, before_s + batches * (next_s - before_s), later_s)
        late = self._late(before_s, takes_s) + self._late(after_s, fixed_s + growth * after_s)
        # A lump that has come is so many more rows of the next batch.
        return PlantStep(late / 2 * rps * dt_s, after_s * (rps / came_rps))

    def change(self, age_s: Floats, came_rps: Floats, rps: Floats, dt_s: float, *, grows: bool) -> PlantStep | None:
        """A query goes on while executors come and go."""
        return None

    def keeps_up(self, rps: float) -> BitMap:
        """Where batches come to rest at a length that leaves their records on time."""
        growth = self.row_s * rps
        rest_s = self.rest_s(rps)
        enough: BitMap = rest_s + self.fixed_s + growth * rest_s <= self.bound_s
        return enough

    def rest_s(self, rps: float) -> Floats:
        """From batch to batch, once a load has lasted; infinite where batches grow without an end."""
        growth = self.row_s * rps
        rest: Floats = np.where(growth < 1, self.fixed_s / np.maximum(1 - growth, 1e-9), np.inf)
        return np.maximum(rest, max(self.trigger_s, _TINY_S))

    def slowed(self, factor: float) -> BatchPlant:
        """The same with batches that take so many times longer."""
        return replace(self, fixed_s=factor * self.fixed_s, row_s=factor * self.row_s)

    def begin(self, now: BatchNow, rps: Floats) -> Begin:
        """From now to the end of the next batch, for each load and size."""
        left_s, until_s = now.left_s(self), now.until_s(self)
        rows = now.waiting + rps[:, None] * until_s
        age_s = np.maximum(now.waiting_age_s + until_s, _TINY_S)
        takes_s = now.blend(self.fixed_s, until_s) + now.blend(self.row_s, until_s) * rows
        done_s = now.oldest_s + left_s
        overdue = np.clip((done_s - self.bound_s) / max(now.oldest_s - now.waiting_age_s, _TINY_S), 0.0, 1.0)
        overdue = overdue + _WORSE * np.maximum(0.0, done_s - self.bound_s) / self.bound_s
        late = now.rows * overdue + rows * self._late(age_s, takes_s)
        after_s = np.maximum(takes_s, self.trigger_s)
        return Begin(late, until_s + after_s, after_s, np.maximum(age_s + takes_s, done_s if now.rows else 0.0))

    def _late(self, age_s: Floats, takes_s: Floats) -> Floats:
        """Share of the records of a batch that is late: the oldest waited for `age_s`, the youngest has just come."""
        span_s = np.maximum(age_s, _TINY_S)
        over_s = age_s - self.bound_s
        over, takes = over_s / span_s, takes_s / span_s
        late: Floats = _WORSE / self.bound_s * np.maximum(0.0, over_s + takes_s)
        for factor, share in zip(np.exp(self.noise * _DEVIATIONS), _HOW_OFTEN, strict=True):
            # In place, and with no call of what is slow on small arrays: this is a third of a decision.
            part = takes * (share * factor)
            part += share * over
            np.maximum(part, 0.0, out=part)
            np.minimum(part, share, out=part)
            late += part
        return late


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchNow:
    """What a query that runs micro-batches is doing now."""

    ready: int
    """Place of the size that works now among all sizes."""
    rows: float
    """In the running batch; 0: none runs."""
    elapsed_s: float
    """Since it began."""
    waiting: float
    """Records that wait for the next one."""
    oldest_s: float
    """For how long the oldest record has waited that is not committed."""
    waiting_age_s: float
    """The same of those that wait for the next batch."""
    next_trigger_s: float
    """Until the next batch may begin."""
    coming_s: Floats
    """Until each size is there."""

    def left_s(self, plant: BatchPlant) -> Floats:
        """Until the running batch has ended, if each size is asked for now."""
        if not self.rows:
            return np.zeros(len(plant.sizes))
        took_s = plant.batch_s(np.asarray(self.rows))
        at_ready_s = float(took_s[self.ready])
        # One that should be over takes as long again as batches differ.
        left_s = max(at_ready_s - self.elapsed_s, plant.noise * at_ready_s / 2 + _TINY_S)
        ratio = took_s / at_ready_s
        with_more = left_s - np.maximum(0.0, left_s - self.coming_s) * (1 - np.minimum(ratio, 1.0))
        left: Floats = np.where(ratio > 1, left_s * ratio, with_more)
        return left

    def until_s(self, plant: BatchPlant) -> Floats:
        """Until the next batch may begin."""
        until: Floats = np.maximum(self.left_s(plant), self.next_trigger_s)
        return until

    def blend(self, of_sizes: Floats, until_s: Floats) -> Floats:
        """What a batch costs that begins then: of a size that is not there yet, partly as now."""
        there = np.where(self.coming_s > 0, np.minimum(1.0, until_s / np.maximum(self.coming_s, 1e-9)), 1.0)
        here = of_sizes[self.ready]
        blended: Floats = here + (of_sizes - here) * there
        return blended


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlant:
    """A continuous job: so many records a second at each size, and none while it is stopped for a change."""

    sizes: Floats
    rates_rps: Floats
    grow_s: float
    """For so long a change to more stops it."""
    shrink_s: float
    replay_s: float
    """Work that is done again after a stop."""
    base_s: float
    """What a record takes even when nothing waits."""
    bound_s: float

    def step(self, age_s: Floats, came_rps: Floats, rps: Floats, dt_s: float) -> PlantStep:
        """The oldest record gets older, and is done after those that came before it."""
        after_s = self._worked(age_s, came_rps, dt_s)
        return PlantStep(self._late(age_s, after_s, came_rps, dt_s), after_s)

    def change(self, age_s: Floats, came_rps: Floats, rps: Floats, dt_s: float, *, grows: bool) -> PlantStep:
        """It stops, and begins with the work since its last checkpoint."""
        stop_s = self.grow_s if grows else self.shrink_s
        rest_s = max(0.0, dt_s - stop_s)
        top_s = age_s + stop_s
        after_s = self._worked(top_s + self.replay_s * np.minimum(1.0, rps / self.rates_rps[:, None]), came_rps, rest_s)
        late = self._late(age_s, top_s, came_rps, stop_s) + self._late(top_s, after_s, came_rps, rest_s)
        return PlantStep(late, after_s)

    def _worked(self, age_s: Floats, came_rps: Floats, dt_s: float) -> Floats:
        worked: Floats = np.maximum(0.0, age_s + dt_s * (1 - self.rates_rps[:, None] / came_rps))
        return worked

    def keeps_up(self, rps: float) -> BitMap:
        """Where it can do more than arrives."""
        enough: BitMap = self.rates_rps > rps
        return enough

    def _late(self, before_s: Floats, after_s: Floats, came_rps: Floats, dt_s: float) -> Floats:
        """Records that get older than the bound while the age of the oldest goes evenly from the one to the other."""
        low, high = np.minimum(before_s, after_s) + self.base_s, np.maximum(before_s, after_s) + self.base_s
        over_s = np.maximum(0.0, high - self.bound_s)
        share = np.minimum(1.0, over_s / np.maximum(high - low, _TINY_S)) + _WORSE * over_s / self.bound_s
        late: Floats = share * came_rps * dt_s
        return late


def distinct(sizes: Sequence[int], times: Sequence[float], keep: Sequence[int]) -> list[int]:
    """Sizes that are faster than all smaller ones, and those to keep: the others only cost more."""
    found, best = [], np.inf
    for size, taken in zip(sizes, times, strict=True):
        if taken < best - 1e-12 or size in keep:
            found.append(size)
        best = min(best, taken)
    return found


def thin(sizes: Sequence[int], around: int, most: int = 40) -> list[int]:
    """So few of many sizes that a plan is made in time: near the present one in small steps, far off in large ones."""
    found = list(sizes)
    near, far = 0.02, 0.05
    while len(found) > most:
        found = [sizes[0]]
        for size in sizes[1:]:
            step = near if abs(size - around) <= 0.25 * around else far
            if size == around or size >= found[-1] + max(1.0, step * size):
                found.append(size)
        if found[-1] != sizes[-1]:
            found.append(sizes[-1])
        near, far = 1.5 * near, 1.5 * far
    return found

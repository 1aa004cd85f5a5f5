"""The cheapest path of sizes over the time ahead: worker time, late records and changes, each at its price.

Dynamic programming over steps of equal length, backwards: what it costs from a step to the horizon to have a size and
an age of what waits. In each step the size stays, grows, or shrinks to one that keeps up with the load. Of all that
only the first step is decided; the next look plans anew. Several loads (what is expected, less, more) are planned side
by side, as if each were known: a decision is weighed over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elastream.policies.foresight.plant import BitMap, Floats, Plant, PlantStep

_AGES = 64
# Ages are told apart up to so many times the bound; what is older counts as that old.
_MOST_AGE = 2.5
_NEVER = 1e12
# Where changes stop a job, one that nobody foresaw may be wanted about so often: until what waited is worked off, it
# makes more records late than afterwards.
_UNFORESEEN_S = 1200.0
WEIGHTS = np.array([0.25, 0.5, 0.25])
"""How much each load counts: less, as expected, and more."""
HOW_OFTEN = {1: np.array([1.0]), 3: np.array([0.25, 0.5, 0.25])}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """In seconds of a worker."""

    late: float
    """Of a record that is late."""
    change: float
    """Of a change of size."""
    work: float
    """What a record costs to be worked, at the horizon."""


class Phase(NamedTuple):
    """A part of the time ahead in which the loads are taken to be steady."""

    until_s: float
    rps: Floats
    """For each load."""
    lumps: Floats
    """What a step may bring over that: one, or three of which the middle one is as frequent as both others."""


@dataclass(frozen=True, slots=True)
class PlannedCosts:
    """What the time ahead costs from a size and an age on, for each load."""

    values: Floats
    unit_s: float
    horizon_s: float
    most: float
    """What a second costs at most, apart from late records."""

    def cost(self, age_s: Floats) -> Floats:
        """Of each load and size, from an age each."""
        place = _place(age_s, self.unit_s)
        loads, sizes = np.indices(age_s.shape)
        low, high = self.values[loads, sizes, place.low], self.values[loads, sizes, place.low + 1]
        cost: Floats = low + (high - low) * place.part
        return cost

    def least_rate(self) -> Floats:
        """The least that a second costs, for each load: what is not planned is paid for by that."""
        rate: Floats = np.minimum(self.most, self.values.min(axis=(1, 2)) / self.horizon_s)
        return rate


def plan(
    plant: Plant,
    phases: Sequence[Phase],
    prices: Prices,
    *,
    step_s: float,
    bound_s: float,
    may_shrink: BitMap,
    came_rps: float | None = None,
    since_s: float = 0.0,
) -> PlannedCosts:
    """Everything from `since_s` to the last phase's end; sizes that may not be shrunk to will not keep up.

    What waits now has come at `came_rps`, where that is told; else as its phase has it.
    """
    ages = np.linspace(0.0, _MOST_AGE * bound_s, _AGES)
    unit_s = float(ages[1])
    paid = (plant.sizes * step_s)[None, :, None]
    fewer_cost = np.where(may_shrink, prices.change, _NEVER)[None, :, None]
    values = _at_the_end(plant, ages, phases[-1], prices, step_s, unit_s)
    ends = [round(phase.until_s / step_s) for phase in phases]
    for phase, end, begin in reversed(list(zip(phases, ends, [0, *ends[:-1]], strict=True))):
        moves = None
        for number in range(end - 1, max(begin, round(since_s / step_s)) - 1, -1):
            has_old = came_rps is not None and ages[-1] > number * step_s
            if moves is None or has_old:
                came = phase.rps[None, :, None, None]
                if came_rps is not None:
                    # Who is older than the time since now was there before.
                    came = np.where(ages > number * step_s, came_rps, phase.lumps[:, None, None, None] * came)
                moves = _moves(plant, ages, came, phase, step_s, prices.late, unit_s)
            stay, grow, shrink = moves
            kept = stay.cost(values) + paid
            if grow is not None:
                # At the load that is expected, and with all there is: with less, it would be a reason to have more.
                kept += step_s / _UNFORESEEN_S * grow.late[len(grow.late) // 2, -1]
            fewer = (kept if shrink is None else shrink.cost(values) + paid) + fewer_cost
            # Workers that come are paid at once and work from the next step on; a stop is over within its step.
            more = stay.cost(_least_above(values + (paid + prices.change))) if grow is None else _least_above(
                grow.cost(values) + (paid + prices.change)
            )  # fmt: skip
            values = np.minimum(kept, more, out=more)
            np.minimum(values, _least_below(fewer), out=values)
    return PlannedCosts(values, unit_s, phases[-1].until_s, float(plant.sizes[-1]))


def _at_the_end(plant: Plant, ages: Floats, phase: Phase, prices: Prices, step_s: float, unit_s: float) -> Floats:
    """What waits has to be worked off; where a change stops the job, who will not keep up still has one before him.

    Else a plan would let a job fall behind slowly, for as long as nobody is late before its horizon.
    """
    values: Floats = prices.work / 2 * ages * phase.rps[:, None, None] + np.zeros((1, len(plant.sizes), 1))
    rps = phase.lumps[:, None, None, None] * phase.rps[None, :, None, None]
    step = plant.change(ages[None, None, None, :], phase.rps[None, :, None, None], rps, step_s, grows=True)
    if step is None:
        return values
    grow = _Move(step, prices.late, unit_s)
    keeps_up = np.array([plant.keeps_up(float(rps)) for rps in phase.rps])
    keeps_up[:, -1] = True
    after = np.where(keeps_up[:, :, None], values, _NEVER)
    found: Floats = np.where(keeps_up[:, :, None], values, _least_above(grow.cost(after) + prices.change))
    return found


def _moves(
    plant: Plant, ages: Floats, came_rps: Floats, phase: Phase, step_s: float, price: float, unit_s: float
) -> tuple[_Move, _Move | None, _Move | None]:
    """What staying, growing and shrinking lead to; growing and shrinking only where a change stops something."""
    rps = phase.lumps[:, None, None, None] * phase.rps[None, :, None, None]
    now = ages[None, None, None, :], came_rps, rps, step_s
    changed = (plant.change(*now, grows=grows) for grows in (True, False))
    grow, shrink = (None if step is None else _Move(step, price, unit_s) for step in changed)
    return _Move(plant.step(*now), price, unit_s), grow, shrink


class _Place(NamedTuple):
    """Between which two ages one lies."""

    low: npt.NDArray[np.intp]
    part: Floats


def _place(age_s: Floats, unit_s: float) -> _Place:
    # What is no number counts as old.
    at = np.fmax(np.fmin(age_s / unit_s, _AGES - 1.001), 0.0)
    low = at.astype(np.intp)
    return _Place(low, at - low)


class _Move:
    """A step at every size and age, ready to be asked for what follows it."""

    def __init__(self, step: PlantStep, price: float, unit_s: float) -> None:
        low, self._part = _place(step.age_s, unit_s)
        _, loads, sizes, _ = low.shape
        self._low = low + (np.arange(loads * sizes) * _AGES).reshape(1, loads, sizes, 1)
        self._high = self._low + 1
        self._often = HOW_OFTEN[low.shape[0]]
        self.late = price * _mean(HOW_OFTEN[step.late.shape[0]], step.late)

        """What is late in it, at its price."""

    def cost(self, values: Floats) -> Floats:
        """What is late in it, and what comes after it."""
        flat = values.ravel()
        low, after = flat.take(self._low), flat.take(self._high)
        after -= low
        after *= self._part
        after += low
        return self.late + _mean(self._often, after)


def _mean(often: Floats, outcomes: Floats) -> Floats:
    """Over what may come of a step, the first axis."""
    mean: Floats = (often @ outcomes.reshape(len(often), -1)).reshape(outcomes.shape[1:])
    return mean


def _least_above(values: Floats) -> Floats:
    """For each size the least of all larger ones."""
    return _least_below(values[:, ::-1])[:, ::-1]


def _least_below(values: Floats) -> Floats:
    """For each size the least of all smaller ones."""
    least = np.empty_like(values)
    least[:, 0] = _NEVER
    np.minimum.accumulate(values[:, :-1], axis=1, out=least[:, 1:])
    return least

"""The least cost from every state to the end, backwards in time, for several prices of a late record at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elastream.experiments.optimum.problem import Engine, Floats, Moves, Places, Rounding

# Moves of so many moments are made at once.
_CHUNK = 256


class LeastCosts(NamedTuple):
    """What the whole time costs at least, late records at their price among it, and what to do."""

    values: Floats
    """One for each price."""
    decisions: npt.NDArray[np.uint8]
    """Moment, level, size -> size; for the first price. Empty where nobody wanted them."""


def solve(engine: Engine, prices: Floats, rounding: Rounding, *, keep: bool = False) -> LeastCosts:
    """Dynamic programming over moments, levels of what waits, and sizes."""
    workers = np.array(engine.problem.workers, dtype=float)
    levels, sizes, ring = engine.levels, len(workers), engine.reach + 1
    values = np.zeros((len(prices), ring * levels, sizes))
    decisions = np.zeros((engine.moments if keep else 0, levels, sizes), dtype=np.uint8)
    added, given_up = engine.prices(rounding)
    flat, columns = values.reshape(len(prices), -1), np.arange(sizes)
    late_price = prices[:, None, None]

    def cost(moves: Moves) -> Floats:
        places = (moves.after % (ring * levels)) * sizes + columns
        return moves.cost_s + late_price * moves.late + flat.take(places, axis=1)

    for last in range(engine.moments, 0, -_CHUNK):
        first = max(0, last - _CHUNK)
        turns = engine.turns(first, last, rounding)
        for moment in range(last - 1, first - 1, -1):
            turn = turns[moment - first]
            stay = cost(turn.stay)
            grow = (stay if turn.grow is None else cost(turn.grow)) + added * workers
            shrink = (stay if turn.shrink is None else cost(turn.shrink)) - given_up * workers
            above, below = _suffix_least(grow), np.minimum.accumulate(shrink, axis=2)
            best = np.minimum(np.minimum(above - added * workers, below + given_up * workers), stay)
            if keep:
                places = np.where(above[0] - added * workers <= best[0], _first_least(grow[0], above[0]), 0)
                is_below = below[0] + given_up * workers <= best[0]
                places = np.where(is_below, _last_least(shrink[0], below[0]), places)
                decisions[moment] = np.where(stay[0] <= best[0], columns, places)
            waiting_s = engine.waiting_s(moment) if rounding == "down" else None
            if waiting_s is not None and moment + 1 < engine.moments:
                after = (moment + 1) % ring * levels
                later = values[:, after + 1 : after + levels]
                np.minimum(best[:, :-1], later + waiting_s * workers, out=best[:, :-1])
            row = moment % ring * levels
            values[:, row : row + levels] = best
    return LeastCosts(values[:, 0, engine.problem.begins_with].copy(), decisions)


def _suffix_least(values: Floats) -> Floats:
    """For each size the least of it and all larger ones."""
    return np.minimum.accumulate(values[:, :, ::-1], axis=2)[:, :, ::-1]


def _first_least(values: Floats, least: Floats) -> Places:
    """Where the least of it and all larger ones stands."""
    sizes = values.shape[1]
    places = np.where(values <= least, np.arange(sizes), sizes)
    return np.asarray(np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1])


def _last_least(values: Floats, least: Floats) -> Places:
    """Where the least of it and all smaller ones stands."""
    places = np.where(values <= least, np.arange(values.shape[1]), -1)
    return np.asarray(np.maximum.accumulate(places, axis=1))

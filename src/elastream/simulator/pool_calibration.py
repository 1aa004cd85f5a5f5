"""How executors come and go, measured from what was seen of a pool.

A look shows what was asked for by then and who is there. A change was asked for right after the look before the one
that shows it, and whoever is there came between two looks: halfway is as likely as any other time. So each time has
an error of up to half a tick, which the mean of several does not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, median, pvariance

from elastream.core.observation import Observation, Pool
from elastream.simulator.pool_model import PoolModel

LEAST_STARTS = 3
"""Fewer say little about how far start-up times are spread."""
MOST_SPREAD = 0.9


def calibrated_pool(model: PoolModel, looks: Sequence[Observation], name: str) -> PoolModel:
    """The model with the times that were seen; what was not seen stays."""
    seen = [(now.at_s, now.pool(name)) for now in looks]
    starts, leaves = list(find_starts(seen)), list(find_leaves(seen))
    if starts:
        # What a new one does for the first time is measured of each stage, and not as slowness of all that it does.
        model = replace(model, start_s=fmean(starts), cold_s=0.0)
    if len(starts) >= LEAST_STARTS:
        model = replace(model, start_spread=_spread(starts, _tick_s(seen)))
    if leaves:
        model = replace(model, leave_s=median(leaves))
    return replace(model, leavers_hold_room=_is_room_held([pool for _, pool in seen]))


def find_starts(seen: Sequence[tuple[float, Pool]]) -> Iterator[float]:
    """How long each worker took from its request until it was ready; the first asked for is the first to come."""
    asked_s: deque[float] = deque()
    for (before_s, before), (now_s, now) in pairwise(seen):
        asked_s.extend([before_s] * (now.requested - before.requested))
        came = len(_named(now, "ready") - _named(before, "ready", "leaving"))
        for _ in range(min(came, len(asked_s))):
            yield max((before_s + now_s) / 2 - asked_s.popleft(), 0.0)
        # Of those that are not wanted any more, the last asked for do not come.
        for _ in range(min(max(before.requested - now.requested, 0), len(asked_s))):
            asked_s.pop()


def find_leaves(seen: Sequence[tuple[float, Pool]]) -> Iterator[float]:
    """How long each worker took to go once it had no task left."""
    idle_s: dict[str, float] = {}
    for (before_s, _), (now_s, now) in pairwise(seen):
        there = {worker.id: worker for worker in now.workers}
        for gone in [name for name in idle_s if name not in there]:
            yield max((before_s + now_s) / 2 - idle_s.pop(gone), 0.0)
        for worker in there.values():
            if worker.state == "leaving":
                # Its last task ended after the look that still saw it; it was told to go after the look before.
                idle_s[worker.id] = now_s if worker.running_tasks else idle_s.get(worker.id, before_s)
            else:
                idle_s.pop(worker.id, None)


def _is_room_held(seen: Sequence[Pool]) -> bool:
    """Whether workers that were wanted beside leaving ones did not come before these were gone."""
    beside = [pool for pool in seen if pool.leaving and pool.requested + pool.leaving > pool.max_workers]
    waited = any(pool.requested > pool.ready for pool in beside)
    return waited and all(pool.ready + pool.leaving <= pool.max_workers for pool in beside)


def _named(pool: Pool, *states: str) -> set[str]:
    return {worker.id for worker in pool.workers if worker.state in states}


def _tick_s(seen: Sequence[tuple[float, Pool]]) -> float:
    return median([now_s - before_s for (before_s, _), (now_s, _) in pairwise(seen)])


def _spread(starts: Sequence[float], tick_s: float) -> float:
    """Half of the width of an even distribution with that variance, as a share of its mean."""
    mean = fmean(starts)
    # That ticks are apart is a variance of its own.
    own = max(pvariance(starts, mean) - tick_s**2 / 12, 0.0)
    return min((3 * own) ** 0.5 / mean, MOST_SPREAD) if mean > 0 else 0.0

"""What the rows come to: how often a promise is kept, what that costs over the least there is, and who is better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, geometric_mean
from typing import NamedTuple

from experiments.foresight.rows import Least, Row, Situation

OURS = "foresight"
GOAL = 1.10
"""Worker-hours over the replayed plan that knew the load."""
# Who keeps less of the records by more than this is worse.
WORSE = 0.005
OWN = (OURS, "lag-proportional", "lcp", "fixed")
"""Policies that are not somebody else's, or are none."""


class Standing(NamedTuple):
    """A policy over some situations."""

    policy: str
    kept: int
    of: int
    share: float
    """Of the records in time, mean of a run."""
    over: float | None
    """Worker-hours over those of the plan that knew the load, geometric mean of the runs that keep the promise where
    that plan does."""
    over_of: int
    """Of so many."""
    hours: float
    """Of all runs."""
    changes: float
    """Mean of a run."""


class Against(NamedTuple):
    """A policy beside another one in the same situations."""

    policy: str
    kept: int
    base_kept: int
    of: int
    cost: float | None
    """Worker-hours over the other's, geometric mean where both keep the promise."""
    both: int
    changes: float | None
    """Over the other's, likewise over all situations."""
    worse: Sequence[Situation]
    """Where it has less of the records in time, by more than half a point."""


class EqualCost(NamedTuple):
    """What a policy costs where it is set so that just enough records are in time."""

    policy: str
    reached: int
    of: int
    over: float | None
    """Over the plan that knew the load, geometric mean where it is reached."""


def stand(rows: Sequence[Row], least: Mapping[Situation, Least]) -> list[Standing]:
    """Each policy over all its rows, those that keep most first."""
    found = [_stand(policy, [row for row in rows if row.policy == policy], least) for policy in _policies(rows)]
    return sorted(found, key=lambda one: (-one.kept / one.of, one.over or math.inf))


def compare(rows: Sequence[Row], base: str) -> list[Against]:
    """Each policy against one of them."""
    of_base = {row.at: row for row in rows if row.policy == base}
    found = (_against(policy, rows, of_base) for policy in _policies(rows) if policy != base)
    return [one for one in found if one.of]


def find_better(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Ours and a published policy's, where that has more of the records in time for less."""
    return [(our, row) for our, row in _published(rows) if row.hours < our.hours and row.share > our.share]


def find_cheaper(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Ours and a published policy's, where that keeps the promise for less."""
    return [(our, row) for our, row in _published(rows) if row.hours < our.hours and row.kept]


def find_fixed(rows: Sequence[Row], least: Mapping[Situation, Least]) -> list[tuple[Row, float]]:
    """Ours, and the worker-hours of the smallest fixed size that keeps the promise, where those are less."""
    ours = [(row, least[row.at].fixed) for row in rows if row.policy == OURS and row.at in least]
    return [(row, fixed) for row, fixed in ours if fixed is not None and fixed < row.hours]


def cost_at(share: float, points: Sequence[tuple[float, float]]) -> float | None:
    """Hours where so many records are in time, between two neighbours of a knob's (share, hours); the least of several.

    A knob that never gets so low costs what its cheapest setting does; one that never gets there has none.
    """
    found = [hours for reached, hours in points if reached >= share]
    if not found:
        return None
    crossings = [
        before[1] + (after[1] - before[1]) * (share - before[0]) / (after[0] - before[0])
        for before, after in pairwise(points)
        if min(before[0], after[0]) < share <= max(before[0], after[0])
    ]
    return min([*crossings, *found])


def equal_costs(rows: Sequence[Row], least: Mapping[Situation, Least], share: float) -> list[EqualCost]:
    """Each policy, whatever its knob, at the same share of records in time."""
    knobs = list(dict.fromkeys(_name(row.policy) for row in rows))
    situations = list(dict.fromkeys(row.at for row in rows))
    found = []
    for knob in knobs:
        own = [row for row in rows if _name(row.policy) == knob]
        costs = {at: cost_at(share, [(row.share, row.hours) for row in own if row.at == at]) for at in situations}
        known = {at: cost for at, cost in costs.items() if cost is not None}
        over = [cost / plan for at, cost in known.items() if (plan := _clairvoyant(least, at)) is not None]
        found.append(EqualCost(knob, len(known), len(situations), _mean(over)))
    return found


def _stand(policy: str, rows: Sequence[Row], least: Mapping[Situation, Least]) -> Standing:
    over = [row.hours / plan for row in rows if row.kept and (plan := _clairvoyant(least, row.at)) is not None]
    return Standing(
        policy=policy,
        kept=sum(row.kept for row in rows),
        of=len(rows),
        share=fmean(row.share for row in rows),
        over=_mean(over),
        over_of=len(over),
        hours=sum(row.hours for row in rows),
        changes=fmean(row.changes for row in rows),
    )


def _against(policy: str, rows: Sequence[Row], base: Mapping[Situation, Row]) -> Against:
    pairs = [(row, base[row.at]) for row in rows if row.policy == policy and row.at in base]
    both = [row.hours / other.hours for row, other in pairs if row.kept and other.kept]
    changes = [row.changes / other.changes for row, other in pairs if row.changes and other.changes]
    return Against(
        policy=policy,
        kept=sum(row.kept for row, _ in pairs),
        base_kept=sum(other.kept for _, other in pairs),
        of=len(pairs),
        cost=_mean(both),
        both=len(both),
        changes=_mean(changes),
        worse=[row.at for row, other in pairs if row.share < other.share - WORSE],
    )


def _published(rows: Sequence[Row]) -> Iterable[tuple[Row, Row]]:
    ours = {row.at: row for row in rows if row.policy == OURS}
    return [(ours[row.at], row) for row in rows if _name(row.policy) not in OWN and row.at in ours]


def _clairvoyant(least: Mapping[Situation, Least], at: Situation) -> float | None:
    return least[at].clairvoyant if at in least else None


def _policies(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row.policy for row in rows))


def _name(policy: str) -> str:
    return policy.partition("(")[0].strip()


def _mean(ratios: Sequence[float]) -> float | None:
    return geometric_mean(ratios) if ratios else None

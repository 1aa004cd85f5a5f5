"""How good settings are over a set of runs: the promise first, and then the cost."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from elastream.experiments.comparison import COST, KEPT
from elastream.experiments.statistics import Estimate, estimate
from elastream.experiments.store.folder import StoredRun

T = TypeVar("T")

RunKey = tuple[tuple[tuple[str, str], ...], int]
"""Everything but the policy that a run differs by: labels, and the seed."""
POINT = 0.01
"""Of records: by less than one of them settings that break a promise are not told apart."""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What came of one run."""

    load: str
    cost: float | None
    share: float | None
    promised: float | None
    kept: bool | None

    @classmethod
    def of(cls, load: str, promised: float | None, run: StoredRun | None) -> TrialOutcome:
        """From what is stored of it."""
        numbers: Mapping[str, float | None] = {} if run is None or run.error is not None else run.numbers
        kept = numbers.get("slo_kept")
        return cls(load, numbers.get(COST), numbers.get(KEPT), promised, None if kept is None else bool(kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Settings over some runs."""

    runs: int
    kept: int
    """Runs that kept their promise."""
    failed: int
    missing: float
    """Share of records that the promise lacks, mean over runs."""
    cost: Estimate | None
    """Worker-hours paid, mean of a run."""
    share: Estimate | None
    """Records in time, mean of a run."""

    @property
    def rank(self) -> tuple[int, int, float]:
        """Less is better: promises that are broken, by how much in points, and what it costs."""
        cost = math.inf if self.cost is None or self.failed else self.cost.mean
        return self.runs - self.kept, math.floor(self.missing / POINT + 1e-9), cost

    @property
    def badness(self) -> float:
        """The same as one number, for optimisers that look at the order of settings."""
        broken, points, cost = self.rank
        return broken * 1e9 + points * 1e6 + min(cost, 1e6 - 1)


def score(outcomes: Mapping[RunKey, TrialOutcome], loads: Iterable[str]) -> Score | None:
    """Over the runs of these loads; None without any."""
    wanted = set(loads)
    found = {key: one for key, one in outcomes.items() if one.load in wanted}
    if not found:
        return None
    lacks = [max(0.0, (one.promised or 0.0) - (one.share or 0.0)) for one in found.values() if one.kept is not True]
    return Score(
        runs=len(found),
        kept=sum(one.kept is True for one in found.values()),
        failed=sum(one.cost is None for one in found.values()),
        missing=sum(lacks) / len(found),
        cost=_estimate({key: one.cost for key, one in found.items()}),
        share=_estimate({key: one.share for key, one in found.items()}, most=1.0),
    )


def find_best(trials: Sequence[T], rank: Callable[[T], Score | None]) -> T:
    """The first of the best; what has no score comes last."""
    worst = (math.inf, math.inf, math.inf)
    return min(trials, key=lambda one: worst if (found := rank(one)) is None else found.rank)


def find_trial_front(trials: Sequence[T], rank: Callable[[T], Score | None]) -> list[T]:
    """Those that none is both cheaper and better than, the cheapest first."""
    placed = [
        (found.cost.mean, found.share.mean, one)
        for one in trials
        if (found := rank(one)) is not None and found.cost is not None and found.share is not None and not found.failed
    ]
    front: list[T] = []
    most = -math.inf
    for _, share, one in sorted(placed, key=lambda place: (place[0], -place[1])):
        if share > most:
            front.append(one)
            most = share
    return front


def find_costs(outcomes: Mapping[RunKey, TrialOutcome], loads: Iterable[str]) -> dict[RunKey, float]:
    """Worker-hours of the runs of these loads, as far as they are known."""
    wanted = set(loads)
    return {key: one.cost for key, one in outcomes.items() if one.load in wanted and one.cost is not None}


def _estimate(values: Mapping[RunKey, float | None], most: float = math.inf) -> Estimate | None:
    """The mean over everything but the seed, seed by seed; None where one is not known."""
    by_seed: dict[int, list[float]] = defaultdict(list)
    for (_, seed), value in values.items():
        if value is None:
            return None
        by_seed[seed].append(value)
    return estimate([fmean(one) for one in by_seed.values()], least=0.0, most=most)

"""What people may choose, what is to come, and what one query makes of the sizes of its pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from elastream.core.decision import Json
from elastream.estimators.outlook import Expected
from elastream.policies.foresight.plan import HOW_OFTEN, WEIGHTS, Phase
from elastream.policies.foresight.plant import BitMap, Floats

LEAST_RPS = 1e-3
# Loads that are planned for are those that are not exceeded in these shares of cases.
_SHARES = (0.25, 0.6, 0.9)
# Steps are told apart by so many standard deviations of what they bring, unless they are all alike.
_LUMPS, _EVEN = np.array([-1.3, 0.0, 1.3]), 0.03
# Between the tenth and the ninetieth of a hundred outcomes there are so many standard deviations.
_TENTHS = 2.56


Binding = Literal["ceiling", "floor", "load", "slack", "forecast", "backlog", "change"]
"""What keeps a size from being smaller, or larger where none is enough."""
BINDINGS: Mapping[Binding, str] = {
    "ceiling": "the largest size there may be binds",
    "floor": "the smallest size there may be binds",
    "load": "what arrives binds",
    "slack": "what the SLO leaves binds",
    "forecast": "the forecast binds",
    "backlog": "what waits binds",
    "change": "the price of a change binds",
}


Ingredient = Literal[
    "nothing", "ahead", "breaks", "care", "leaps", "noise", "outgrown", "slack", "spread", "stops", "waves"
]  # fmt: skip
"""What can be left out, to see what it is worth: nothing; the time after the next step; that a job may change; the
correction by what was late; that a leap may go on; that batches scatter; sizes that turned out to be too small; batches
that outlast their trigger; other loads than the expected one; what a stop costs; whole waves of tasks."""


class Taste(NamedTuple):
    """What people may choose."""

    calm: float
    late: float
    keep: float
    without: Ingredient = "nothing"


class QueryChoice(NamedTuple):
    """A size for one query, and why."""

    workers: int
    sentence: str
    evidence: Mapping[str, Json]
    slots: float
    """What of that it needs for itself."""
    expected: Mapping[str, Json] | None = None
    """What is expected of a new size, to be held against what comes of it."""


class Loads(NamedTuple):
    """What is going to arrive, in records per second: soon and later, less, as expected, and more."""

    level: float
    """As expected soon."""
    lasting: float
    """What a smaller size must keep up with."""
    soon: Floats
    later: Floats
    lumps: Floats
    """What one step may bring over that."""
    expected: Mapping[str, Json]
    """The middle of what may come in the time ahead, and between what it lies in eight of ten cases, for people."""


def find_loads(expected: Sequence[Expected], taste: Taste) -> Loads:
    """Out of what is expected of the next steps and of the time after them.

    What both are wrong by is another load; what only the next steps are wrong by comes in lumps that even out.
    """
    if taste.without == "leaps":
        expected = [one._replace(leap=0.0) for one in expected]
    near, far = expected
    if taste.without == "spread":
        alike = np.ones(len(_SHARES))
        soon_rps, later_rps = max(LEAST_RPS, near.rps), max(LEAST_RPS, far.rps)
        told: dict[str, Json] = {"expected_rps": far.rps}
        return Loads(near.rps, max(near.rps, far.rps), soon_rps * alike, later_rps * alike, np.ones(1), told)
    near_low, near_high, *near_shares = near.each((0.1, 0.9, *_SHARES))
    low, middle, high, kept, *later = far.each((0.1, 0.5, 0.9, taste.keep, *_SHARES))
    tenths = ((near.rps, near_low, near_high), (far.rps, low, high))
    spread = [math.log(most / least) / _TENTHS if rps > 0 else 0.0 for rps, least, most in tenths]
    lumpy = math.sqrt(max(0.0, spread[0] ** 2 - spread[1] ** 2))
    lumps = np.exp(lumpy * _LUMPS) if lumpy > _EVEN else np.ones(1)
    part = min(1.0, spread[1] / max(spread[0], 1e-9))
    soon = [near.rps * (one / max(near.rps, 1e-9)) ** part for one in near_shares]
    return Loads(
        level=near.rps,
        lasting=max(near.rps, kept),
        soon=np.maximum(LEAST_RPS, soon),
        later=np.maximum(LEAST_RPS, later),
        lumps=lumps / (HOW_OFTEN[len(lumps)] @ lumps),
        expected={"expected_rps": middle, "expected_low_rps": low, "expected_high_rps": high},
    )


def find_phases(loads: Loads, taste: Taste, step_s: float, *, soon: int, steps: int) -> list[Phase]:
    """The time ahead: so many steps that are soon, and all until the horizon."""
    if taste.without == "ahead":
        return [Phase(step_s, loads.soon, loads.lumps)]
    return [Phase(soon * step_s, loads.soon, loads.lumps), Phase(steps * step_s, loads.later, loads.lumps)]


class Weighed(NamedTuple):
    """Every size with what it costs from now on, and whether it may be had."""

    sizes: Sequence[int]
    cost: Floats
    """In seconds of a worker, over all loads."""
    allowed: BitMap
    keeps_up: BitMap

    @property
    def best(self) -> int:
        """Place of the cheapest that may be had."""
        return int(np.argmin(np.where(self.allowed & np.isfinite(self.cost), self.cost, np.inf)))

    @property
    def makes_sense(self) -> bool:
        """Whether there is one to choose."""
        return bool((self.allowed & np.isfinite(self.cost)).any())

    def binding(
        self, workers: int, wanted: int, change: float, *, can: BitMap, enough: BitMap, settled: bool
    ) -> Binding:
        """What decides on a size: why it is not the next smaller one.

        Some sizes `can` do what arrives now, and some of them do it within the bound, which is `enough`.
        """
        at = self.place_of(workers)
        if at == len(self.sizes) - 1 and not (enough[at] and self.keeps_up[at]):
            return "ceiling"
        if at == 0:
            return "floor"
        if not enough[at - 1]:
            return "slack" if can[at - 1] else "load"
        if not self.keeps_up[at - 1]:
            return "forecast"
        if not self.allowed[at - 1] and not settled:
            return "backlog"
        # Without its price the change would be made.
        is_dear = workers == wanted and self.cost[at - 1] - change < self.cost[at]
        return "change" if is_dear else "slack"

    def place_of(self, workers: int) -> int:
        """Where a size stands, or the one next to it."""
        return min(range(len(self.sizes)), key=lambda place: abs(self.sizes[place] - workers))

    def neighbours(self, workers: int) -> list[int]:
        """Places of the next smaller and the next larger size."""
        at = self.place_of(workers)
        return [place for place in (at - 1, at + 1) if 0 <= place < len(self.sizes)]


def weigh(costs: Floats) -> Floats:
    """One cost of several, one for each load."""
    weighed: Floats = WEIGHTS @ costs
    return weighed

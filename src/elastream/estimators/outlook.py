"""What will arrive soon: means over some times from now, each with what it was wrong by so far.

Rates are smoothed over times from seconds to minutes, and of these smoothings each is trusted by how well it has told
the mean over the coming time: a load that is steady but comes in lumps is told by the slow ones, one that wanders by
the fast ones. Some are also asked where they are heading (smoothed twice, after Brown): a load that rises evenly is
told by no mean of what has been. A rate beyond all that is usual is no lump but another load (a leap): all smoothings
then begin anew there.

What came over what was told is kept, so that a share of what may come can be asked for (split conformal prediction, as
`forecasting.bound` has it for a maximum). An outcome is known only when its time is over. The state is plain, and has
an entry per time looked ahead and not per look.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

State = dict[str, Any]

_SMOOTHED = (1, 2, 4, 8, 16, 32, 64)
"""In steps."""
# What is carried on goes no further than to so many times what it comes from, or to that part of it.
_MOST_CARRIED = 1.5
_USUAL = 2
"""The smoothing that a leap is measured from."""
_SHARPNESS = 2.0
# A leap is so many times the usual error of a step, and at least so many times the usual rate.
_LEAP_ERRORS, _LEAP_RATIO = 3.0, 1.5
_LEAP_LASTS = 0.7
_RISE_ERRORS = 2.0
_ERROR_MEMORY = 60
"""In steps."""
_FIRST_ERROR, _LEAST_ERROR, _MOST_USUAL = 0.2, 0.03, 3.0
_MOST_SCORE = 1.5
# Errors to start from, so that the first minutes have a spread; they leave as measured ones come in.
_PRIOR = (-0.4, -0.2, -0.1, -0.05, -0.02, 0.0, 0.0, 0.02, 0.05, 0.1, 0.2, 0.4)
_PRIOR_LEAVES_AFTER = 60
# Rates below one record a second are alike.
_LEAST_RPS = 1.0


class Expected(NamedTuple):
    """The mean rate over a time from now."""

    rps: float
    scores: Sequence[float]
    """Logarithms of what came over what was told."""
    leap: float = 0.0
    """How far the load has just leapt, as a logarithm: it may go on."""

    def at(self, share: float) -> float:
        """So much is not exceeded in this share of cases."""
        return self.each((share,))[0]

    def each(self, shares: Sequence[float]) -> list[float]:
        """The same for several, for which what was measured is ranked once."""
        ranked = sorted([*(_PRIOR * 2 if len(self.scores) < _PRIOR_LEAVES_AFTER else ()), *self.scores])
        places = (min(len(ranked) - 1, int(share * len(ranked))) for share in shares)
        return [
            self.rps * math.exp(ranked[place] + self.leap * max(0.0, 2 * share - 1))
            for place, share in zip(places, shares, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateOutlook:
    """The forecaster of one load."""

    step_s: float = 5.0
    horizons_s: tuple[float, ...] = (30.0, 120.0)
    heading: tuple[int, ...] = ()
    """Smoothings that are also asked where they are heading."""
    errors: int = 160
    """So many of the last ones are kept."""

    def start(self) -> State:
        """Nothing was seen."""
        return {
            "smooth": [],
            "twice": [],
            "error": _FIRST_ERROR,
            "leap": 0.0,
            "recent": [],
            "ahead": [self._nothing() for _ in self.horizons_s],
        }

    def add(self, state: State, rates: Sequence[float]) -> State:
        """After some more steps."""
        for rate in rates:
            state = self._added(state, rate)
        return state

    def expect(self, state: State) -> tuple[Expected, ...]:
        """For each time ahead, shortest first; none before the first step has ended."""
        if not state["smooth"]:
            return ()
        return tuple(Expected(ahead["told"], ahead["scores"], state["leap"]) for ahead in state["ahead"])

    def _added(self, state: State, rate: float) -> State:
        smooth, error, leap = self._smoothed(state, rate)
        twice = self._smoothed_twice(state["twice"], smooth, begins=bool(leap) and len(set(smooth)) == 1)
        steps = [max(1, round(horizon_s / self.step_s)) for horizon_s in self.horizons_s]
        recent = [*state["recent"], _short(rate)][-max(steps) :]
        ahead = [
            self._told(before, number, [*smooth, *self._carried_on(smooth, twice, number)], recent)
            for before, number in zip(state["ahead"], steps, strict=True)
        ]
        return {"smooth": smooth, "twice": twice, "error": error, "leap": leap, "recent": recent, "ahead": ahead}

    def _smoothed(self, state: State, rate: float) -> tuple[list[float], float, float]:
        """The smoothings after one more step, by how much a step is usually off, and how far the load leaps."""
        before = state["smooth"]
        if not before:
            return [_short(rate)] * len(_SMOOTHED), state["error"], 0.0
        usual = before[_USUAL]
        off = abs(math.log(max(rate, _LEAST_RPS) / max(usual, _LEAST_RPS)))
        leaps = rate > _LEAP_RATIO * max(usual, _LEAST_RPS) and off > _LEAP_ERRORS * state["error"]
        part = 1 - math.exp(-1 / _ERROR_MEMORY)
        # A leap counts for little, or the steps of one that takes several would seem usual.
        error = max(_LEAST_ERROR, state["error"] + (min(off, _MOST_USUAL * state["error"]) - state["error"]) * part)
        if leaps:
            return [_short(rate)] * len(_SMOOTHED), round(error, 6), round(min(off, _MOST_SCORE), 4)
        parts = [1 - math.exp(-1 / smoothed) for smoothed in _SMOOTHED]
        smooth = [_short(old + (rate - old) * part) for old, part in zip(before, parts, strict=True)]
        leap = _LEAP_LASTS * state["leap"]
        if rate > usual and off > _RISE_ERRORS * state["error"]:
            leap = max(leap, min(off, _MOST_SCORE))
        return smooth, round(error, 6), round(leap, 4)

    def _told(self, before: State, number: int, members: list[float], recent: list[float]) -> State:
        """What is told of the next `number` steps, once what was told that many steps ago has been judged."""
        losses, waiting, scores = before["losses"], before["waiting"], before["scores"]
        if len(waiting) >= number:
            came, said = sum(recent[-number:]) / number, waiting[0]
            losses = _judged(losses, said, came, number)
            if max(came, said[-1]) > _LEAST_RPS:
                score = math.log(max(came, _LEAST_RPS) / max(said[-1], _LEAST_RPS))
                scores = [*scores[1 - self.errors :], round(max(-_MOST_SCORE, min(_MOST_SCORE, score)), 4)]
            waiting = waiting[1:]
        told = _short(_mixed(losses, members))
        return {"losses": losses, "waiting": [*waiting, [*members, told]], "scores": scores, "told": told}

    def _smoothed_twice(self, before: list[float], smooth: list[float], *, begins: bool) -> list[float]:
        """The slow smoothings, smoothed again; all begin anew where these do."""
        slow = [smooth[_SMOOTHED.index(steps)] for steps in self.heading]
        if begins or not before:
            return slow
        parts = (1 - math.exp(-1 / steps) for steps in self.heading)
        return [_short(old + (once - old) * part) for old, once, part in zip(before, slow, parts, strict=True)]

    def _carried_on(self, smooth: list[float], twice: list[float], number: int) -> list[float]:
        """The mean over the next `number` steps, by where each slow smoothing is heading."""
        found = []
        for steps, again in zip(self.heading, twice, strict=True):
            once = smooth[_SMOOTHED.index(steps)]
            # Both lag behind a steady rise, the second twice as far.
            slope = (math.exp(1 / steps) - 1) * (once - again)
            carried = 2 * once - again + slope * (number + 1) / 2
            found.append(_short(min(max(carried, once / _MOST_CARRIED), _MOST_CARRIED * once)))
        return found

    def _nothing(self) -> State:
        return {"losses": [0.0] * (len(_SMOOTHED) + len(self.heading)), "waiting": [], "scores": [], "told": 0.0}


def _judged(losses: list[float], said: list[float], came: float, number: int) -> list[float]:
    """What each smoothing has lost, older losses counting less."""
    largest = max(came, said[-1], 1e-9)
    kept = math.exp(-0.25 / number)
    return [
        round(kept * loss + min(1.0, abs(came - one) / largest), 6) for loss, one in zip(losses, said, strict=False)
    ]


def _mixed(losses: list[float], smooth: list[float]) -> float:
    least = min(losses)
    weights = [math.exp(_SHARPNESS * (least - loss)) for loss in losses]
    return sum(weight * one for weight, one in zip(weights, smooth, strict=True)) / sum(weights)


def _short(value: float) -> float:
    """Six digits are more than a rate has, and a third of the text."""
    return float(f"{value:.6g}")

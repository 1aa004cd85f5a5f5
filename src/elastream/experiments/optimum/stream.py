"""A continuous job, for planning: so many records a second at each size, and a change stops it.

Sizes change at whole steps. What waits is a number of records, which is rounded to a level; nothing else is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from elastream.experiments.optimum.problem import Floats, Moves, Problem, Rounding, SizeChange, SizePlan, Turn

# Levels end at so many bounds, of what arrives at the highest rate.
_BOUNDS = 1.0
# Arrivals within a step are looked at so finely.
_SUBSTEPS = 5


@dataclass(frozen=True, kw_only=True)
class StreamJob:
    """Implements Engine. Levels are records that wait, in even parts."""

    problem: Problem
    rates_rps: Sequence[float]
    """Of each size."""
    grow_s: float = 0.0
    """For so long a change to more stops it."""
    shrink_s: float = 0.0
    replay_s: float = 0.0
    """So much of what came before a stop is done again; none of it in a lower bound."""
    base_s: float = 0.0
    """What a record takes even when nothing waits."""
    step_s: float = 10.0
    part: float = 0.02
    """A level is what arrives at the highest rate in such a part of a step."""

    @cached_property
    def moments(self) -> int:
        """Implements Engine."""
        return math.ceil(self.problem.duration_s / self.step_s - 1e-9)

    @cached_property
    def reach(self) -> int:
        """Implements Engine."""
        return max(1, *(math.ceil(stop_s / self.step_s - 1e-9) for stop_s in (self.grow_s, self.shrink_s)))

    @cached_property
    def _level(self) -> float:
        """Records in a level."""
        return max(1e-9, self.problem.curve.max_rps * self.step_s * self.part)

    @cached_property
    def levels(self) -> int:
        """Implements Engine."""
        longest_s = _BOUNDS * (self._bound_s + max(self.grow_s, self.shrink_s))
        return math.ceil(longest_s / self.step_s / self.part) + 1

    @property
    def _bound_s(self) -> float:
        return max(0.0, self.problem.slo.delay_s - self.base_s)

    @property
    def record_s(self) -> float:
        """Implements Engine."""
        return self.problem.workers[0] / self.rates_rps[0]

    def coarser(self, factor: int) -> StreamJob:
        """Implements Engine."""
        return replace(self, part=self.part * factor)

    def prices(self, rounding: Rounding) -> tuple[float, float]:
        """Implements Engine. Who is to go is paid until the job goes on."""
        problem = self.problem
        return problem.least_start_s if rounding == "down" else problem.start_s, self.shrink_s

    def waiting_s(self, moment: int) -> float | None:
        """Implements Engine: sizes are chosen at every step."""
        return None

    def turns(self, first: int, last: int, rounding: Rounding) -> Sequence[Turn]:
        """Implements Engine."""
        return [self._turn(moment, rounding) for moment in range(first, last)]

    def _turn(self, moment: int, rounding: Rounding) -> Turn:
        stay = self._moves(moment, 0.0, 1, rounding)
        if not self.grow_s and not self.shrink_s:
            return Turn(stay)
        grow, shrink = (
            self._moves(moment, stop_s, max(1, math.ceil(stop_s / self.step_s - 1e-9)), rounding)
            for stop_s in (self.grow_s, self.shrink_s)
        )
        return Turn(stay, grow, shrink)

    def _moves(self, moment: int, stop_s: float, steps: int, rounding: Rounding) -> Moves:
        """What comes of some steps at each size, of which the first seconds stand still."""
        start_s, end_s = moment * self.step_s, min((moment + steps) * self.step_s, self.problem.duration_s)
        held = np.arange(self.levels, dtype=np.float64)[:, None] * np.float64(self._level)
        again = 0.0
        if stop_s and rounding == "up":
            again = float(self._arrived(start_s) - self._arrived(start_s - self.replay_s))
        waits, late = self._work(held, start_s, end_s, min(stop_s, end_s - start_s), again, rounding)
        level = waits / self._level
        level = np.floor(level + 1e-9) if rounding == "down" else np.ceil(level - 1e-9)
        after = min(moment + steps, self.moments)
        places = np.minimum(level, 0 if after == self.moments else self.levels - 1).astype(np.intp)
        cost_s = np.broadcast_to(np.array(self.problem.workers) * (end_s - start_s), waits.shape)
        return Moves(cost_s, late, after * self.levels + places)

    def _work(
        self, held: Floats, start_s: float, end_s: float, stop_s: float, again: float, rounding: Rounding
    ) -> tuple[Floats, Floats]:
        """What waits at the end, and who became late: down, as if all were done at once; up, at the end."""
        rates, go_s = np.array(self.rates_rps), start_s + stop_s
        times = np.linspace(go_s, end_s, _SUBSTEPS + 1)
        arrived = self._arrived(times)
        came = self._arrived(np.array([start_s, go_s, end_s]))
        # With nothing left at some time, only what came since then waits.
        since = (arrived[-1] - arrived)[:, None] - rates * (end_s - times)[:, None]
        waits = np.maximum(held + again + came[2] - came[0] - rates * (end_s - go_s), since.max(axis=0))
        due = self._arrived(np.array([start_s, go_s, end_s]) - self._bound_s)
        done = came[0] - held
        late = np.maximum(0.0, due[1] - np.maximum(done, due[0]))
        done = np.maximum(done, came[2] - waits) if rounding == "down" else done
        late = late + np.maximum(0.0, due[2] - np.maximum(done, due[1]))
        return waits, late

    def _arrived(self, at_s: float | Floats) -> Floats:
        arrived: Floats = self.problem.curve.arrived(np.maximum(0.0, np.asarray(at_s)))
        return arrived

    def roll_out(self, decisions: npt.NDArray[np.uint8]) -> SizePlan:
        """Implements Engine: what waits is not rounded, and who is late is looked at more finely."""
        problem, end_s = self.problem, self.problem.duration_s
        size, moment, held, cost_s, late = problem.begins_with, 0, 0.0, 0.0, 0.0
        changes = [SizeChange(0.0, problem.workers[size])]
        while moment < self.moments:
            level = min(math.ceil(held / self._level - 1e-9), self.levels - 1)
            wanted, stop_s, steps = int(decisions[moment, level, size]), 0.0, 1
            start_s = moment * self.step_s
            if wanted != size:
                more = problem.workers[wanted] - problem.workers[size]
                stop_s = self.grow_s if more > 0 else self.shrink_s
                cost_s += more * problem.start_s if more > 0 else -more * self.shrink_s
                steps = max(1, math.ceil(stop_s / self.step_s - 1e-9))
                changes.append(SizeChange(start_s, problem.workers[wanted]))
                size = wanted
            until_s = min((moment + steps) * self.step_s, end_s)
            held, missed = self._run(held, start_s, until_s, stop_s, self.rates_rps[size])
            cost_s += problem.workers[size] * (until_s - start_s)
            late, moment = late + missed, moment + steps
        done = problem.records - held
        return SizePlan(
            changes=changes, cost_s=cost_s, late=late, judged=max(done, float(self._arrived(end_s - self._bound_s)))
        )

    def _run(self, held: float, start_s: float, end_s: float, stop_s: float, rate_rps: float) -> tuple[float, float]:
        """What waits at the end, and who became late."""
        go_s = min(start_s + stop_s, end_s)
        pauses = [start_s, go_s] if stop_s else [start_s]
        times = np.array([*pauses, *np.linspace(go_s, end_s, 2 * _SUBSTEPS + 1)[1:]])
        came, due = self._arrived(times), self._arrived(times - self._bound_s)
        late = 0.0
        if stop_s:
            held += float(self._arrived(start_s) - self._arrived(start_s - self.replay_s))
        for place in range(1, len(times)):
            works = 0.0 if times[place] <= go_s else rate_rps
            before = came[place - 1] - held
            held = max(0.0, held + came[place] - came[place - 1] - works * (times[place] - times[place - 1]))
            late += max(0.0, due[place] - max(before, due[place - 1]))
        return float(held), float(late)

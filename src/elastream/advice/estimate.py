"""A number that was simulated, as an interval: how far off the simulator was on what is known of the same recording.

The recorded policy is simulated as well, and compared with what really happened in each part of the recording. The root
mean square of these differences is the error; of records that are late it is a factor, for a policy that leaves a wide
margin is not told wrong by as many points as one at the edge. Work per record is uncertain by that of the busy time, so
that each draw of a simulation has its own, evenly over that range: what it does to delays near the edge of what a size
can do is then in the draws. An interval holds all draws, and the error around their median.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from elastream.advice.figures import AdviceFigures
from elastream.evaluation.measures import Value

LEAST_WORK_ERROR = 0.05
"""Two runs of one job under one load differ by some percent, also where the only one that is known is told exactly."""
MOST_WORK_ERROR = 0.5
LEAST_HOURS_ERROR = 0.10
LEAST_DELAY_ERROR = 0.15
"""Of another policy than the recorded one. Runs on Spark under other policies and loads were off by 8 % and 15 % in the
median of seven, by models whose own run was told better."""
_FEW_LATE = 0.001
"""Of shares below this it makes no difference by what factor they are off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertainNumber:
    """What is expected, and between what it is expected to be."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> UncertainNumber:
        """In another unit."""
        return UncertainNumber(value=self.value * factor, low=self.low * factor, high=self.high * factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedError:
    """How far off a simulation of what really happened is, as shares of it; None where that cannot be told."""

    executor_hours: Value
    late_factor: Value
    """How many times as many records are late, or as few."""
    delay_p95_s: Value
    work: float
    """Of the busy time of all slots."""
    parts: int
    """Of the recording that were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A simulated run in numbers with their intervals; None where they are not known."""

    executor_hours: UncertainNumber | None
    within: UncertainNumber | None
    delay_p95_s: UncertainNumber | None
    changes: UncertainNumber


def find_observed_error(real: Sequence[AdviceFigures], simulated: Sequence[Sequence[AdviceFigures]]) -> ObservedError:
    """From what really came of each part, and what each draw made of it."""
    pairs = list(zip(real, zip(*simulated, strict=True), strict=True))

    def compare(name: str, differ: Callable[[float, float], float]) -> Value:
        differences = []
        for was, draws in pairs:
            found, said = getattr(was, name), _median(getattr(draw, name) for draw in draws)
            if found is not None and said is not None:
                differences.append(differ(said, found))
        return (sum(one**2 for one in differences) / len(differences)) ** 0.5 if differences else None

    work = compare("busy_slot_s", _differ)
    late = compare("within", lambda said, found: math.log(_late(said) / _late(found)))
    return ObservedError(
        executor_hours=compare("executor_hours", _differ),
        late_factor=math.exp(late) if late is not None else None,
        delay_p95_s=compare("delay_p95_s", _differ),
        work=min(max(work if work is not None else 0.0, LEAST_WORK_ERROR), MOST_WORK_ERROR),
        parts=len(pairs),
    )


def find_factors(error: ObservedError, draws: int) -> list[float]:
    """How many times as much work each draw has: evenly over what is uncertain."""
    if draws < 2:
        return [1.0] * draws
    return [1.0 + error.work * (2.0 * draw / (draws - 1) - 1.0) for draw in range(draws)]


def predict(draws: Sequence[AdviceFigures], error: ObservedError, *, is_recorded: bool = False) -> Prediction:
    """The median of draws, with an interval; of what was not recorded never less than others were off by."""
    least_hours, least_delay = (0.0, 0.0) if is_recorded else (LEAST_HOURS_ERROR, LEAST_DELAY_ERROR)
    return Prediction(
        executor_hours=_around([one.executor_hours for one in draws], max(error.executor_hours or 0.0, least_hours)),
        within=_within([one.within for one in draws], error.late_factor or 1.0),
        delay_p95_s=_around([one.delay_p95_s for one in draws], max(error.delay_p95_s or 0.0, least_delay)),
        changes=_around([float(one.changes) for one in draws], 0.0) or UncertainNumber(value=0.0, low=0.0, high=0.0),
    )


def _around(values: Sequence[Value], error: float) -> UncertainNumber | None:
    """The error is a share of the number."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    # What nothing moves, such as the cost of a fixed size, is known.
    wide = 1.0 + error if max(known) > min(known) else 1.0
    middle = median(known)
    return UncertainNumber(value=middle, low=min(*known, middle / wide), high=max(*known, middle * wide))


def _within(values: Sequence[Value], factor: float) -> UncertainNumber | None:
    """The error is a factor of what is late."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    middle = median(known)
    low, high = 1.0 + _FEW_LATE - _late(middle) * factor, 1.0 + _FEW_LATE - _late(middle) / factor
    return UncertainNumber(value=middle, low=max(min(*known, low), 0.0), high=min(max(*known, high), 1.0))


def _late(within: float) -> float:
    return 1.0 - within + _FEW_LATE


def _differ(said: float, found: float) -> float:
    return (said - found) / found if found > 0 else 0.0


def _median(values: Iterable[Value]) -> Value:
    known = [value for value in values if value is not None]
    return median(known) if known else None

"""Who says what a run will come to: a simulated run, and two that know nothing but the run that was calibrated on.

`last value` says that all will be as in that run. `linear in the rate` says that sizes, delay and backlog grow with the
mean rate of the load. A model that is no better than these is not worth its calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from elastream.evaluation.curve import StepCurve
from elastream.evaluation.measures import Value
from elastream.experiments.experiment import ExecutorBounds
from elastream.experiments.fidelity.figures import LoadFigures
from elastream.workloads.series import RateSeries


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasted:
    """What is said of a run before it takes place."""

    worker_hours: Value
    delay_p95_s: Value
    mean_backlog: Value
    changes: float
    wanted: StepCurve


def by_simulation(draws: Sequence[LoadFigures]) -> Forecasted:
    """The medians of simulated runs that differ in their noise: a policy that is near a threshold makes much of it."""
    return Forecasted(
        worker_hours=_median([one.worker_hours for one in draws]),
        delay_p95_s=_median([one.delay_p95_s for one in draws]),
        mean_backlog=_median([one.mean_backlog for one in draws]),
        changes=median(one.changes for one in draws),
        wanted=find_typical(draws).wanted,
    )


def find_typical(draws: Sequence[LoadFigures]) -> LoadFigures:
    """The run whose cost is nearest to the median of all: what is drawn."""
    middle = _median([one.worker_hours for one in draws]) or 0.0
    return min(draws, key=lambda one: abs((one.worker_hours or 0.0) - middle))


def by_last_value(known: LoadFigures, load: RateSeries) -> Forecasted:
    """All as it was in the run that is known, for as long as this load lasts."""
    longer = load.duration_s / known.duration_s
    return Forecasted(
        worker_hours=_times(known.worker_hours, longer),
        delay_p95_s=known.delay_p95_s,
        mean_backlog=known.mean_backlog,
        changes=round(known.changes * longer),
        wanted=known.wanted,
    )


def by_rate(known: LoadFigures, load: RateSeries, bounds: ExecutorBounds) -> Forecasted:
    """As many times as much as there are records per second; the size at each moment follows the rate there."""
    ratio = load.mean_rps / known.mean_rps
    longer = load.duration_s / known.duration_s
    mean_size = known.wanted.mean
    at = [float(second) for second in range(int(load.duration_s) + 1)]

    def size(at_s: float) -> Value:
        if mean_size is None:
            return None
        needed = round(mean_size * load.rate(at_s) / known.mean_rps)
        return float(min(max(needed, bounds.min or 1), bounds.max or needed))

    wanted = StepCurve(at, [size(at_s) for at_s in at])
    return Forecasted(
        worker_hours=_times(known.worker_hours, longer * ratio),
        delay_p95_s=_times(known.delay_p95_s, ratio),
        mean_backlog=_times(known.mean_backlog, ratio),
        changes=len(wanted.changes()),
        wanted=wanted,
    )


def _median(values: Sequence[Value]) -> Value:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _times(value: Value, factor: float) -> Value:
    return None if value is None else value * factor


def find_error(said: Value, found: Value) -> Value:
    """How far off, as a share of what was found; None where one of them is unknown or nothing was found."""
    return abs(said - found) / found if said is not None and found else None


def find_agreement(said: StepCurve, found: StepCurve) -> Value:
    """Share of the time in which both sizes are the same, of the time for which both are known."""
    moments = sorted({*said.at, *found.at})
    known_s = same_s = 0.0
    for since, until in pairwise(moments):
        pair = _at(said, since), _at(found, since)
        if None not in pair:
            known_s += until - since
            same_s += (until - since) * (pair[0] == pair[1])
    return same_s / known_s if known_s else None


def _at(curve: StepCurve, moment: float) -> Value:
    """The value that holds then; beyond the last moment none does."""
    if not curve.at or not curve.at[0] <= moment < curve.at[-1]:
        return None
    found: Value = None
    for at_s, value in zip(curve.at, curve.values, strict=True):
        if at_s > moment:
            break
        found = value
    return found

"""What arrived during an interval of DS2, and how much of it was achieved.

The target rate ratio is what arrives over the rate at which a query keeps up: micro-batches commit in lumps, so that
what a query commits within an interval says little.
"""

from collections.abc import Mapping
from typing import NamedTuple

from elastream.core.observation import Observation, Query
from elastream.estimators.left_behind import Behind, growth_rps, is_batched, period_s, records_behind, surely_grows
from elastream.policies.ds2.equations import rate_ratio
from elastream.policies.ds2.interval import Totals, arrivals, reading_rps

# Where looks and commits fall, a healthy query seems to leave some records behind: so much of a period is nothing.
_NOTHING = 0.1
_SEVERAL = 3


class Load(NamedTuple):
    """What arrived during an interval."""

    flows: dict[str, dict[str, float]]
    """Query -> operator that reads a source -> records per second."""
    rps: float
    arrival_ratio: float | None
    """Of the rate that arrives to the rate achieved; None where nothing is achieved."""
    ratio: float | None
    """The same; where lag is to be gone within a time, what waits arrives too, and what is worked off is achieved."""
    waits: bool
    """Whether micro-batches have left records behind."""
    is_seen: bool
    """Whether every query has shown since the last change how it keeps up."""


class Watch(NamedTuple):
    """How long queries are watched, and what they are to make of their lag."""

    since_s: float
    """When the last change had settled."""
    window_s: float
    catch_up_s: float | None
    noise: float
    """A share of the rate that is none."""


class _Keeping(NamedTuple):
    """How one query keeps up."""

    lag: float
    left: float
    """The same when its last batch was committed."""
    waits: bool
    """Whether the lag of micro-batches is worth to be spoken of."""
    growth_rps: float
    """Records per second by which it falls behind, or works off where that is negative."""
    is_seen: bool


def load_of(now: Observation, began: Totals, ended: Totals, behind: Mapping[str, Behind], watch: Watch) -> Load | str:
    """The load of an interval, or why it is not known."""
    target: dict[str, float] = {}
    keeping: dict[str, _Keeping] = {}
    flows: dict[str, dict[str, float]] = {}
    for query in now.queries:
        if query.phase == "terminated":
            continue
        arriving = arrivals(query, began, ended)
        if isinstance(arriving, str):
            return arriving
        flow = reading_rps(query, arriving)
        if isinstance(flow, str):
            return flow
        flows[query.id], target[query.id] = flow, sum(arriving.values())
        keeping[query.id] = _keeping(query, behind[query.id], now.at_s, target[query.id], watch)
    # Who has nothing left behind keeps up, whatever came within the interval.
    achieved = {name: target[name] - (max(0.0, how.growth_rps) if how.lag else 0.0) for name, how in keeping.items()}
    arrival_ratio = rate_ratio(target, achieved)
    return Load(
        flows,
        sum(target.values()),
        arrival_ratio,
        arrival_ratio if watch.catch_up_s is None else _lag_ratio(target, keeping, watch.catch_up_s),
        any(how.waits for how in keeping.values()),
        all(how.is_seen or not target[name] for name, how in keeping.items()),
    )


def _lag_ratio(target: Mapping[str, float], keeping: Mapping[str, _Keeping], catch_up_s: float) -> float | None:
    waiting = {name: how for name, how in keeping.items() if how.waits}
    wanted = {name: rps + (waiting[name].left / catch_up_s if name in waiting else 0.0) for name, rps in target.items()}
    achieved = {name: rps - (waiting[name].growth_rps if name in waiting else 0.0) for name, rps in target.items()}
    return rate_ratio(wanted, achieved)


def _keeping(query: Query, behind: Behind, now_s: float, arrival_rps: float, watch: Watch) -> _Keeping:
    """What was seen of a query since the last change."""
    since: Behind = {**behind, "samples": [at for at in behind["samples"] if at[0] >= watch.since_s]}
    lag, left = records_behind(behind, query) or 0.0, behind["samples"][-1][1] if behind["samples"] else 0.0
    least_s = max(_NOTHING * period_s(query), watch.noise * (watch.catch_up_s or 0.0))
    waits = is_batched(query) and lag > least_s * arrival_rps
    growth = growth_rps(since, query, now_s, watch.window_s)
    # A batch that leaves nothing behind tells enough; so do several that do, and of two the second that leaves less.
    is_seen = growth is not None or (bool(since["samples"]) and not waits)
    if watch.catch_up_s is not None and waits and growth is not None and growth > 0:
        # Batches that are late for once, or now more and now less, are no shortfall.
        is_seen = len(since["samples"]) >= _SEVERAL
        growth = growth if surely_grows(since, now_s, watch.window_s) else 0.0
    return _Keeping(lag, left, waits, growth or 0.0, is_seen)

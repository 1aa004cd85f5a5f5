"""What arrived during an interval of DS2, and how much of it was achieved.

The target rate ratio is what arrives over the rate at which a query keeps up: micro-batches commit in lumps, so that
what a query commits within an interval says little.
"""

from collections.abc import Mapping
from typing import NamedTuple

from elastream.core.observation import Observation, Query
from elastream.estimators.left_behind import Behind, growth_rps, has_lasted, is_batched, period_s, records_behind
from elastream.policies.ds2.equations import rate_ratio
from elastream.policies.ds2.interval import Totals, arrivals, reading_rps

# Where looks and commits fall, a healthy query seems to leave some records behind: so much of a period is nothing.
_NOTHING = 0.1


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


class _Keeping(NamedTuple):
    """How one query keeps up."""

    lag: float
    waits: bool
    """Whether the lag of micro-batches is more than may seem."""
    growth_rps: float
    """Records per second by which it falls behind, or works off where that is negative."""
    has_lasted: bool
    is_seen: bool


def load_of(
    now: Observation,
    began: Totals,
    ended: Totals,
    behind: Mapping[str, Behind],
    *,
    since_s: float,
    window_s: float,
    catch_up_s: float | None,
) -> Load | str:
    """The load of an interval, or why it is not known. How queries keep up counts from `since_s` on."""
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
        keeping[query.id] = _keeping(query, behind[query.id], now.at_s, since_s, window_s, target[query.id])
    # Who has nothing left behind keeps up, whatever came within the interval.
    achieved = {name: target[name] - (max(0.0, how.growth_rps) if how.lag else 0.0) for name, how in keeping.items()}
    arrival_ratio = rate_ratio(target, achieved)
    return Load(
        flows,
        sum(target.values()),
        arrival_ratio,
        arrival_ratio if catch_up_s is None else _lag_ratio(target, keeping, catch_up_s),
        any(how.waits for how in keeping.values()),
        all(how.is_seen or not target[name] for name, how in keeping.items()),
    )


def _lag_ratio(target: Mapping[str, float], keeping: Mapping[str, _Keeping], catch_up_s: float) -> float | None:
    waiting = {name: how for name, how in keeping.items() if how.waits}
    wanted = {name: rps + (waiting[name].lag / catch_up_s if name in waiting else 0.0) for name, rps in target.items()}
    # A single batch that was late is an accident, and waits for nobody's correction.
    growth = {name: how.growth_rps for name, how in waiting.items() if how.growth_rps < 0 or how.has_lasted}
    return rate_ratio(wanted, {name: rps - growth.get(name, 0.0) for name, rps in target.items()})


def _keeping(
    query: Query, behind: Behind, now_s: float, since_s: float, window_s: float, arrival_rps: float
) -> _Keeping:
    """What was seen of a query since the last change."""
    since: Behind = {**behind, "samples": [at for at in behind["samples"] if at[0] >= since_s]}
    lag = records_behind(behind, query) or 0.0
    waits = is_batched(query) and lag > _NOTHING * period_s(query) * arrival_rps
    growth = growth_rps(since, query, now_s, window_s)
    # Two batches tell how it keeps up, and so does one that has left nothing behind.
    is_seen = growth is not None or (bool(since["samples"]) and not waits)
    return _Keeping(lag, waits, growth or 0.0, has_lasted(since, query), is_seen)

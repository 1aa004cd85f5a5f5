"""What Gesscale watches (sections II-B and IV-B): the throughput of a minute, and whether it was all that could be had.

An operator is overloaded if it is not held up itself while all that feeds it is: back-pressure at most 0.5 of its own
time, more than 0.5 of the time of every operator upstream. What feeds a source is its log, and the log is held up when
a batch leaves records behind. So the same rule serves an engine without back-pressure, where a pool is taken as one
operator that the log feeds: that is the stand-in on Spark.

Throughput is counted in records of the query's sources, whatever the operator: a model only ever compares throughputs
of the same operator, and these differ from its own by a factor.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypedDict

from elastream.core.observation import Observation, OperatorWork, Pool, Query

_STEADY = ("running", "between-triggers", "no-data")

Point = list[float]
"""A time and a total, as JSON has it."""


class QueryMark(TypedDict):
    """Totals of one query at a moment."""

    committed: Point
    arrived: Point | None
    held_s: dict[str, Point]
    """Operator -> back-pressure time; empty unless it is known for all."""


class CapacityMark(TypedDict):
    """Where a minute begins: the workers of the pool, and the totals of the queries that run in it."""

    at_s: float
    workers: list[str]
    queries: dict[str, QueryMark]


class Minute(TypedDict):
    """What a minute has shown."""

    at_s: float
    rps: float | None
    """Records committed per second; None if there was no commit, which happens only under overload."""
    overloaded: str
    """What was found overloaded; empty if nothing."""


class Rule(NamedTuple):
    """When something counts as held up."""

    backpressure: float
    """Above this share of its time, an operator is."""
    waiting_s: float
    """A log is when records are left that took longer than this to arrive, or than the trigger's interval."""


def running_in(pool: Pool, now: Observation) -> list[Query]:
    """Queries with an operator in a pool."""
    return [
        query
        for query in now.queries
        if query.phase != "terminated" and any(operator.pool == pool.name for operator in query.topology.operators)
    ]


def mark(pool: Pool, now: Observation) -> CapacityMark | str:
    """The totals of now, or why no minute can begin or end here."""
    if pool.in_flux:
        return f"{pool.name} is changing: {pool.ready} ready, {pool.wanted} wanted"
    queries: dict[str, QueryMark] = {}
    for query in running_in(pool, now):
        found = _query_mark(query)
        if isinstance(found, str):
            return found
        queries[query.id] = found
    if not queries:
        return f"no query runs in {pool.name}"
    # Workers that a platform cannot name are told apart by their number alone.
    workers = sorted(worker.id for worker in pool.workers if worker.state != "leaving") or [f"{pool.wanted} workers"]
    return CapacityMark(at_s=now.at_s, workers=workers, queries=queries)


def continues(since: CapacityMark, seen: CapacityMark) -> bool:
    """Whether two marks belong to the same workers and the same runs of the same queries."""
    if since["workers"] != seen["workers"] or since["queries"].keys() != seen["queries"].keys():
        return False
    return not any(
        later[1] < earlier[1] or later[0] < earlier[0]
        for name, before in since["queries"].items()
        for earlier, later in _pairs(before, seen["queries"][name])
    )


def minute(since: CapacityMark, seen: CapacityMark, pool: Pool, now: Observation, rule: Rule) -> Minute | None:
    """What has happened between two marks; None while no batch has ended and none is late."""
    queries = running_in(pool, now)
    found = (_overloaded(q, pool, since["queries"][q.id], seen["queries"][q.id], now, rule) for q in queries)
    overloaded = next((sentence for sentence in found if sentence), "")
    total: float | None = 0.0
    for query in queries:
        rps = _rate(since["queries"][query.id]["committed"], seen["queries"][query.id]["committed"])
        total = None if rps is None or total is None else total + rps
    if total is None and not overloaded:
        return None
    return Minute(at_s=seen["at_s"], rps=total, overloaded=overloaded)


def _query_mark(query: Query) -> QueryMark | str:
    if query.phase not in _STEADY:
        return f"{query.name} is {query.phase}"
    committed = [source.committed for source in query.sources]
    arrived = [source.arrived for source in query.sources]
    if not committed or any(reading is None for reading in committed):
        return query.not_known("throughput")
    held_s = {
        work.name: [work.backpressure_s.at_s, work.backpressure_s.value]
        for work in query.operators
        if work.backpressure_s is not None
    }
    knows_all = held_s.keys() >= {operator.name for operator in query.topology.operators}
    knows_arrived = all(reading is not None for reading in arrived)
    if not knows_all and not knows_arrived:
        return query.not_known("back-pressure, or in its place the backlog,")
    total = sum(reading.value for reading in committed if reading is not None)
    at_s = min(reading.at_s for reading in committed if reading is not None)
    # Between commits the total stands still: a rate goes from commit to commit, not from look to look.
    if query.finished is not None and query.backlog != 0:
        at_s = query.finished.ended_s
    return QueryMark(
        committed=[at_s, total],
        arrived=_sum((reading.at_s, reading.value) for reading in arrived if reading) if knows_arrived else None,
        held_s=held_s if knows_all else {},
    )


def _sum(points: Iterable[tuple[float, float]]) -> Point:
    times, values = zip(*points, strict=True)
    return [min(times), sum(values)]


def _pairs(before: QueryMark, after: QueryMark) -> Iterable[tuple[Point, Point]]:
    """Each total of a query, at both moments. A total that fell was reset: it was another run."""
    yield before["committed"], after["committed"]
    if before["arrived"] and after["arrived"]:
        yield before["arrived"], after["arrived"]
    for name in before["held_s"].keys() & after["held_s"].keys():
        yield before["held_s"][name], after["held_s"][name]


def _rate(before: Point, after: Point) -> float | None:
    return (after[1] - before[1]) / (after[0] - before[0]) if after[0] > before[0] else None


def _overloaded(
    query: Query, pool: Pool, before: QueryMark, after: QueryMark, now: Observation, rule: Rule
) -> str | None:
    """The part of a query that a pool is too small for, with the numbers; None if there is none."""
    log = _log_held_up(query, before, after, now, rule)
    shares = _held_shares(query, before, after, now)
    if not shares:
        return log
    for operator in query.topology.operators:
        if operator.pool != pool.name or shares.get(operator.name, 1.0) > rule.backpressure:
            continue
        feeding = [shares.get(name, 0.0) for name in query.topology.upstream(operator.name)]
        if feeding and min(feeding) > rule.backpressure:
            own = shares[operator.name]
            return f"{operator.name} is held up {own:.0%} of its time and all that feeds it {min(feeding):.0%}"
        if not feeding and log:
            return log
    return None


def _held_shares(query: Query, before: QueryMark, after: QueryMark, now: Observation) -> dict[str, float]:
    """Share of its time in which each operator was held up by what follows it."""
    tasks = {
        operator.name: _instances(query, operator.name, operator.pool, now) for operator in query.topology.operators
    }
    shares: dict[str, float] = {}
    for name in before["held_s"].keys() & after["held_s"].keys():
        held = _rate(before["held_s"][name], after["held_s"][name])
        if held is None or not tasks.get(name):
            return {}
        shares[name] = min(1.0, held / tasks[name])
    return shares


def _instances(query: Query, operator: str, pool: str, now: Observation) -> int:
    work = next((work for work in query.operators if work.name == operator), OperatorWork(name=operator))
    if work.tasks:
        return work.tasks
    return next((other.slots for other in now.pools if other.name == pool), 0)


def _log_held_up(query: Query, before: QueryMark, after: QueryMark, now: Observation, rule: Rule) -> str | None:
    """Whether more records were left behind than one batch would read, with the numbers."""
    backlog = query.backlog
    if backlog is None or before["arrived"] is None or after["arrived"] is None:
        return None
    arrival = _rate(before["arrived"], after["arrived"]) or 0.0
    left = backlog
    if query.finished is not None:
        left = max(0.0, backlog - arrival * (now.at_s - query.finished.ended_s))
    if query.running is not None:
        # A batch that takes hours has left nothing behind yet, but what comes meanwhile will be.
        left = max(left, arrival * (now.at_s - query.running.started_s))
    bearable = arrival * (query.trigger.interval_s or rule.waiting_s)
    return (
        f"{query.name} leaves {left:,.0f} records behind, {bearable:,.0f} of them bearable" if left > bearable else None
    )

"""What one look says over all pools and queries, a function for each number. None is unknown."""

from collections.abc import Sequence

from elastream.core.observation import Delay, Observation, Query
from elastream.core.tick import Tick

Value = float | None
"""None is unknown."""


def count_wanted(tick: Tick) -> int | None:
    """Workers decided on, also while nothing could be seen; before the first decision, the size that was found."""
    if tick.decision is not None:
        return sum(tick.decision.allocation.values())
    return None if tick.observation is None else sum(pool.wanted for pool in tick.observation.pools)


def count_ready(now: Observation) -> int:
    """Workers that can run tasks."""
    return sum(pool.ready for pool in now.pools)


def count_leaving(now: Observation) -> int:
    """Workers on their way out."""
    return sum(pool.leaving for pool in now.pools)


def count_paid(now: Observation) -> int:
    """Workers that somebody pays for: from their request until they have left.

    Over all pools, `max(requested, ready) + leaving`: those requested and not ready are starting, those ready beyond
    the request are about to be told to go. What was requested from a cluster that is known to have no room for it does
    not start and costs nothing, so that the sum is at most `cluster_workers`, or what is there already if that is more.
    A request counts from the look that shows it: a decision does not tell whether it was carried out.
    """
    paid = sum(max(pool.requested, pool.ready) + pool.leaving for pool in now.pools)
    if now.cluster_workers is None:
        return paid
    return min(paid, max(now.cluster_workers, count_ready(now) + count_leaving(now)))


def living_queries(now: Observation) -> list[Query]:
    """Queries that have not ended: what has ended waits for nothing and delays nobody."""
    return [query for query in now.queries if query.phase != "terminated"]


def sum_backlogs(queries: Sequence[Query]) -> Value:
    """Records that wait; unknown if it is for one of the queries, or if there is none."""
    return sum_known([query.backlog for query in queries])


def find_slowest(queries: Sequence[Query]) -> Delay | None:
    """The delay of the query whose 95th percentile is longest; None if none is known."""
    return max((query.delay for query in queries if query.delay), key=lambda delay: delay.p95_s, default=None)


def sum_known(values: Sequence[Value]) -> Value:
    """The sum, unknown if a part of it is, or if there are no parts."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total if values else None

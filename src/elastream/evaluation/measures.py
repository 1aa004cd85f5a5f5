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


def count_requested(now: Observation) -> int:
    """Workers that the cluster was asked for."""
    return sum(pool.requested for pool in now.pools)


def count_ready(now: Observation) -> int:
    """Workers that can run tasks."""
    return sum(pool.ready for pool in now.pools)


def count_leaving(now: Observation) -> int:
    """Workers on their way out."""
    return sum(pool.leaving for pool in now.pools)


def mean_cpu(now: Observation) -> Value:
    """Processor use of the workers that tell it, as a share of what they may use; unknown if none does."""
    return _mean([worker.cpu.value for pool in now.pools for worker in pool.workers if worker.cpu is not None])


def mean_memory(now: Observation) -> Value:
    """Memory of the workers that tell it, in bytes for each; unknown if none does."""
    workers = [worker for pool in now.pools for worker in pool.workers]
    return _mean([worker.memory_bytes.value for worker in workers if worker.memory_bytes is not None])


def living_queries(now: Observation) -> list[Query]:
    """Queries that have not ended: what has ended waits for nothing and delays nobody."""
    return [query for query in now.queries if query.phase != "terminated"]


def sum_backlogs(queries: Sequence[Query]) -> Value:
    """Records that wait; unknown if it is for one of the queries, or if there is none."""
    return sum_known([query.backlog for query in queries])


def find_slowest(queries: Sequence[Query]) -> Delay | None:
    """The delay of the query whose 95th percentile is longest; None if none is known."""
    return max((query.delay for query in queries if query.delay), key=lambda delay: delay.p95_s, default=None)


def find_longest_batch(queries: Sequence[Query]) -> Value:
    """How long the last batch of a query took, of that which took longest; None before one has ended."""
    return max((query.finished.duration_s for query in queries if query.finished), default=None)


def sum_known(values: Sequence[Value]) -> Value:
    """The sum, unknown if a part of it is, or if there are no parts."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total if values else None


def _mean(values: Sequence[float]) -> Value:
    return sum(values) / len(values) if values else None

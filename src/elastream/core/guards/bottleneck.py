"""No growth for what more workers cannot help."""

import math
from dataclasses import dataclass

from elastream.core.bottleneck import Bottleneck, find_bottlenecks
from elastream.core.decision import Decision
from elastream.core.guards.demand import count_useful_workers
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool, Query
from elastream.core.protocols import Forgetful, LetsThePolicySpeak


@dataclass(frozen=True, kw_only=True)
class BottleneckGuard(Forgetful, LetsThePolicySpeak):
    """A query that is held by its sink, a hot key, its driver or its source counts for the slots that it can use.

    What others need is left alone, and the size never falls below the present one because of this.
    """

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Take back the growth that cannot help, and name what would."""
        if decision.kind == "hold" or all(decision.allocation[pool.name] <= pool.wanted for pool in now.pools):
            return decision
        found = [one for one in find_bottlenecks(now, known) if one.stops_growth]
        if not found:
            return decision
        for pool in now.pools:
            workers = _helpful_workers(decision, pool, now, known, found)
            if workers is not None and pool.wanted <= workers < decision.allocation[pool.name]:
                reason = "; ".join(one.sentence for one in found)
                decision = decision.adjusted("bottleneck", {**decision.allocation, pool.name: workers}, reason)
        return decision


def _helpful_workers(
    decision: Decision, pool: Pool, now: Observation, known: Knowledge, found: list[Bottleneck]
) -> int | None:
    """Workers that help, and at least those there are; None where growth may be for a query without a limit."""
    useful = {one.query: one.useful_slots for one in found if one.useful_slots is not None}
    workers = count_useful_workers(decision, pool, now, useful)
    if workers is None:
        live = [query for query in now.queries if query.phase != "terminated"]
        if len(now.pools) != 1 or not all(query.id in useful or _is_idle(query, known) for query in live):
            return None
        others = math.ceil(now.other_busy_slots.value) if now.other_busy_slots else 0
        workers = pool.workers_for(sum(useful.values()) + others)
    return max(pool.wanted, workers)


def _is_idle(query: Query, known: Knowledge) -> bool:
    return query.backlog == 0 and known.arrival_rps(query, 60.0) == 0

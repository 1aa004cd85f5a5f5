"""What a decision would ask for if no query counted for more slots than it can use."""

from collections.abc import Mapping

from elastream.core.decision import Decision
from elastream.core.observation import Observation, Pool


def count_useful_workers(decision: Decision, pool: Pool, now: Observation, useful: Mapping[str, int]) -> int | None:
    """Workers of a pool without what the policy asks for queries beyond their useful slots.

    A query that is not in `useful` counts as the policy says. Of one that the policy says nothing of it is not known
    what it needs, so that none of the workers there are is taken from it. None where the policy does not tell queries
    apart, or where several pools share them.
    """
    running = [query.id for query in now.queries if query.phase != "terminated"]
    live = [query for query in running if query in decision.slots]
    if len(now.pools) != 1 or not live:
        return None
    asked = sum(decision.slots[query] for query in live)
    counted = sum(min(decision.slots[query], useful.get(query, decision.slots[query])) for query in live)
    workers = decision.allocation[pool.name]
    if counted >= asked:
        return workers
    # The share that a guard put on top stays on top of what is left.
    on_top = max(1.0, decision.after("over-provision")[pool.name] / max(1, pool.workers_for(asked)))
    least = 1 if len(live) == len(running) else pool.wanted
    return min(workers, max(least, pool.workers_for(counted * on_top)))

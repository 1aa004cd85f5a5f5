"""No more slots than there are tasks to run on them."""

import math
from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.guards.demand import count_useful_workers
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool, Query
from elastream.core.protocols import Forgetful, LetsThePolicySpeak


@dataclass(frozen=True, kw_only=True)
class PartitionCeiling(Forgetful, LetsThePolicySpeak):
    """A stage cannot use more slots than it has tasks; queries run at the same time, so theirs add up.

    Where a policy says what each query needs, a query counts for no more slots than its own widest stage has tasks,
    however many the others have.
    """

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Lower what would stand idle, and say what would help instead."""
        if decision.kind == "hold":
            return decision
        for pool in now.pools:
            tasks = useful_slots(pool, now)
            if tasks is not None and decision.allocation[pool.name] > pool.workers_for(tasks):
                reason = (
                    f"{tasks} partitions keep at most {tasks} slots busy, so more than {pool.workers_for(tasks)} "
                    f"workers in {pool.name} cannot help; raise the partitions of the widest stage to go further"
                )
                allocation = {**decision.allocation, pool.name: pool.workers_for(tasks)}
                decision = decision.adjusted("partition-ceiling", allocation, reason)
            decision = _without_excess(decision, pool, now)
        return decision


def _without_excess(decision: Decision, pool: Pool, now: Observation) -> Decision:
    """The decision without what it asks for a query beyond that query's own tasks."""
    widths = {query.id: widest_stage(query, pool) for query in now.queries if query.phase != "terminated"}
    useful = {query: width for query, width in widths.items() if width is not None}
    workers = count_useful_workers(decision, pool, now, useful)
    if workers is None or workers >= decision.allocation[pool.name]:
        return decision
    told = "; ".join(
        f"{query.name} needs {decision.slots[query.id]:.1f} slots and its widest stage has "
        f"{useful[query.id]} task{'s' * (useful[query.id] != 1)}"
        for query in now.queries
        if query.id in useful and decision.slots.get(query.id, 0.0) > useful[query.id]
    )
    allocation = {**decision.allocation, pool.name: workers}
    return decision.adjusted("partition-ceiling", allocation, f"{told}: more cannot help; raise its partitions")


def useful_slots(pool: Pool, now: Observation) -> int | None:
    """Slots that can be kept busy: the widest stage of each query, and other work. None if a width is unknown."""
    total = math.ceil(now.other_busy_slots.value) if now.other_busy_slots else 0
    for query in now.queries:
        if query.phase == "terminated":
            continue
        if not query.topology.operators:
            # Of a query that has only just begun, nothing is known yet.
            return None
        width = widest_stage(query, pool)
        if width is None:
            return None
        total += width
    return total or None


def widest_stage(query: Query, pool: Pool) -> int | None:
    """Tasks of a query's widest stage in a pool; None if the width of one is unknown."""
    last_tasks = {work.name: work.tasks for work in query.operators}
    widths = [
        operator.partitions or last_tasks.get(operator.name)
        for operator in query.topology.operators
        if operator.pool == pool.name
    ]
    if not query.topology.operators or any(width is None for width in widths):
        return None
    return max((width for width in widths if width is not None), default=0)

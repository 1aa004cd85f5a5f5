"""No more slots than there are tasks to run on them."""

import math
from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.guards.speak import LetsThePolicySpeak
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool
from elastream.core.protocols import Forgetful


@dataclass(frozen=True, kw_only=True)
class PartitionCeiling(Forgetful, LetsThePolicySpeak):
    """A stage cannot use more slots than it has tasks; queries run at the same time, so theirs add up."""

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Lower what would stand idle, and say what would help instead."""
        if decision.kind == "hold":
            return decision
        for pool in now.pools:
            tasks = useful_slots(pool, now)
            if tasks is None or decision.allocation[pool.name] <= pool.workers_for(tasks):
                continue
            reason = (
                f"{tasks} partitions keep at most {tasks} slots busy, so more than {pool.workers_for(tasks)} workers "
                f"in {pool.name} cannot help; raise the partitions of the widest stage to go further"
            )
            allocation = {**decision.allocation, pool.name: pool.workers_for(tasks)}
            decision = decision.adjusted("partition-ceiling", allocation, reason)
        return decision


def useful_slots(pool: Pool, now: Observation) -> int | None:
    """Slots that can be kept busy: the widest stage of each query, and other work. None if a width is unknown."""
    total = math.ceil(now.other_busy_slots.value) if now.other_busy_slots else 0
    for query in now.queries:
        if query.phase == "terminated":
            continue
        if not query.topology.operators:
            # Of a query that has only just begun, nothing is known yet.
            return None
        last_tasks = {work.name: work.tasks for work in query.operators}
        widths = [
            operator.partitions or last_tasks.get(operator.name)
            for operator in query.topology.operators
            if operator.pool == pool.name
        ]
        if any(width is None for width in widths):
            return None
        total += max((width for width in widths if width is not None), default=0)
    return total or None

"""A hold must not starve: where every slot is taken and tasks wait, what is not known can never be measured."""

from dataclasses import dataclass, replace
from typing import TypedDict

from elastream.core.bottleneck import find_bottlenecks
from elastream.core.decision import Decision
from elastream.core.errors import require_setting as require
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool, Query
from elastream.core.protocols import LetsThePolicySpeak
from elastream.core.signals import Signal

# Between two short tasks a slot is empty for some milliseconds.
_FULL_WITH_WAITING = 0.8
_FULL = 0.95
_GROWTH_WINDOW_S = 60.0


class StarvationSteps(TypedDict):
    """StarvationSteps in a row, when the last one was, and the size of each pool on the last look."""

    steps: int
    last_s: float | None
    wanted: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Starvation(LetsThePolicySpeak):
    """Turns a hold into a step of 1, 1, 2, 4, ... workers while all slots are busy and a query gets too few of them.

    The next step is due when the last one has arrived and all slots have been busy for another `settle_s`. Slots that
    are idle, and queries that workers cannot help, are no reason. A size that a policy sets is for queries: slots that
    work of no query holds count on top, so that nothing is given up for them, and steps lead there too.
    """

    settle_s: float = 10.0
    forget_s: float = 120.0
    """StarvationSteps begin anew after so long without one."""

    def __post_init__(self) -> None:
        require("starvation", self.settle_s > 0, f"settle_s is {self.settle_s:g}; it must be above 0")

    def start(self) -> StarvationSteps:
        """No step was made."""
        return {"steps": 0, "last_s": None, "wanted": {}}

    def learn(self, memory: StarvationSteps, now: Observation, last: Decision | None) -> StarvationSteps:
        """Count the step that was made on the look before, if it was carried out."""
        asked = {note.pool for note in last.adjustments if note.guard == "starvation"} if last is not None else set()
        wanted, before = now.wanted(), memory["wanted"]
        if any(wanted.get(pool, 0) > before.get(pool, 0) for pool in asked):
            return {"steps": memory["steps"] + 1, "last_s": now.at_s, "wanted": wanted}
        if memory["last_s"] is not None and now.at_s - memory["last_s"] > self.forget_s:
            return {"steps": 0, "last_s": None, "wanted": wanted}
        return {**memory, "wanted": wanted}

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: StarvationSteps) -> Decision:
        """One step more for every pool that starves, and no shrink that would leave queries to other work's mercy."""
        for pool in now.pools:
            asked = decision.allocation[pool.name]
            others = now.other_busy_slots.value if now.other_busy_slots and len(now.pools) == 1 else 0.0
            enough = pool.max_workers
            if decision.kind != "hold":
                enough = min(enough, pool.workers_for(asked * pool.slots_per_worker + others))
                if asked >= enough:
                    continue
            reason = self._starves(pool, now, known) if pool.wanted < enough else None
            if reason is not None:
                # 1, 1, 2, 4, 8: from 1 to 16 in five steps, and gently at first.
                workers = min(pool.wanted + 2 ** max(0, min(memory["steps"], 8) - 1), enough)
            elif asked < pool.wanted:
                reason = f"work of no query holds {others:.0f} slots, and they count on top"
                workers = min(pool.wanted, enough)
            else:
                continue
            adjusted = decision.adjusted("starvation", {**decision.allocation, pool.name: workers}, reason)
            # What grows is no longer a hold, so that the limits of growth apply to it.
            decision = replace(adjusted, kind="set") if workers > pool.wanted else adjusted
        return decision

    def _starves(self, pool: Pool, now: Observation, known: Knowledge) -> str | None:
        """Why a pool should grow although something is not known; None if holding does no harm."""
        # Events are lost when there are most of them: then the tasks that run now must do.
        is_blind = Signal.BUSY_SLOTS in now.lacks
        watched = Signal.READY if is_blind else Signal.BUSY_SLOTS
        if pool.ready < 1 or pool.in_flux or not self._has_settled(watched, pool, known):
            return None
        busy = _running_share(pool) if is_blind else known.busy_share(pool, self.settle_s, just_now=True)
        if busy is None or busy < _FULL_WITH_WAITING:
            return None
        limited = {one.query for one in find_bottlenecks(now, known) if one.stops_growth}
        for query in now.queries:
            if query.phase != "terminated" and query.id not in limited:
                wants = _wants(query, known, busy)
                if wants is not None:
                    others = now.other_busy_slots.value if now.other_busy_slots else 0.0
                    work = f" ({others:.0f} by work of no query)" if others else ""
                    since = "are busy now" if is_blind else f"have been busy for {self.settle_s:g} s"
                    return (
                        f"{busy:.0%} of {pool.slots} slots {since}{work} and {wants}: "
                        "as long as it gets too few slots it cannot be measured"
                    )
        return None

    def _has_settled(self, watched: Signal, pool: Pool, known: Knowledge) -> bool:
        """Whether the last change has arrived, and slots were watched for long enough since."""
        if not known.covers(watched, pool.name, self.settle_s):
            return False
        last = next((action for action in reversed(known.actions) if action.pool == pool.name), None)
        return last is None or (last.done_s is not None and known.now_s - last.done_s >= self.settle_s)


def _running_share(pool: Pool) -> float | None:
    """Share of the slots that run a task at this moment."""
    tasks = [worker.running_tasks for worker in pool.workers if worker.state == "ready"]
    known = [number for number in tasks if number is not None]
    return min(1.0, sum(known) / pool.slots) if known and len(known) == len(tasks) else None


def _wants(query: Query, known: Knowledge, busy: float) -> str | None:
    """What shows that a query needs slots that it does not get."""
    growth = known.backlog_growth_rps(query, _GROWTH_WINDOW_S)
    backlog = query.backlog
    if growth is not None and growth < 0:
        return None
    waits = f", and {backlog:,.0f} records wait" if backlog else ""
    waiting = query.running.tasks_waiting if query.running is not None else None
    if waiting is not None:
        return f"{waiting} tasks of {query.name} wait for one{waits}" if waiting > 0 else None
    # Where tasks cannot be seen, a backlog that grows beside full slots says the same.
    grows = growth is not None and growth > 0 and backlog
    return f"the backlog of {query.name} grows by {growth:,.0f}/s{waits}" if grows and busy >= _FULL else None

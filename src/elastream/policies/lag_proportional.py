"""Workers in proportion to what arrives plus what waits.

What most lag-based autoscalers come down to: enough slots for the arrival rate, and as many more as drain the backlog
within a given time. With micro-batches a backlog rises until a batch is committed and then falls, so what counts is
what was left right after the last commit; and of that, what arrives within one trigger interval is no reason to grow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from elastream.core.decision import Decision, Json
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.estimators.batch_cost import BatchCost, batch_cost
from elastream.policies.catalogue import policies
from elastream.registry import setting

_KEPT_BATCHES = 60
# Before that many rows, what tasks have cost is what starting them cost.
_FEWEST_ROWS = 1_000

Memory = dict[str, list[list[float]]]
"""Query -> id, rows and slot-seconds of its last batches, as they were seen."""


@policies.register("lag-proportional")
@dataclass(frozen=True, kw_only=True)
class LagProportional:
    """Slots for the arrival rate, plus slots that drain the backlog within `drain_s`."""

    drain_s: float = setting(120.0, doc="a backlog should be gone after this time")
    headroom: float = setting(1.2, doc="slots per slot that the arithmetic asks for")
    window_s: float = setting(60.0, doc="the arrival rate is taken over this time")
    asap_batch_s: float = setting(5.0, doc="how long batches may be where the trigger is as fast as possible")
    interval_s: float = setting(30.0, doc="how often to decide")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.ARRIVED), Need(Signal.COMMITTED), Need(Signal.BUSY_TIME))

    def start(self) -> Memory:
        """No batch was seen."""
        return {}

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """Remember what each batch read and cost."""
        seen = dict(memory)
        for query in now.queries:
            batch, known = query.finished, memory.get(query.id, [])
            # The first batch loads classes and starts Python workers: it takes several times as long as any other.
            if batch is None or batch.id == 0 or batch.rows is None or batch.busy_s is None:
                continue
            if not known or known[-1][0] != batch.id:
                seen[query.id] = [*known[1 - _KEPT_BATCHES :], [batch.id, batch.rows, batch.busy_s]]
        # What belongs to queries that are gone is forgotten.
        return {query.id: seen[query.id] for query in now.queries if query.id in seen}

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """Add up what the queries need, and share it out to the pools that run them."""
        slots: dict[str, float] = {}
        sentences: list[str] = []
        for query in now.queries:
            demand = self._demand(query, now.at_s, known, memory)
            if isinstance(demand, str):
                return Decision.hold(now, demand)
            slots[query.id], sentence = demand
            sentences.append(sentence)
        allocation = {
            pool.name: max(1, pool.workers_for(sum(slots[q.id] * _share(q, pool, now) for q in now.queries)))
            for pool in now.pools
        }
        evidence: dict[str, Json] = {f"slots/{name}": need for name, need in slots.items()}
        return Decision(allocation=allocation, reason="; ".join(sentences) or "no query runs", evidence=evidence)

    def _demand(self, query: Query, now_s: float, known: Knowledge, memory: Memory) -> tuple[float, str] | str:
        """Slots for one query and a sentence about it, or why they are not known."""
        if query.phase == "terminated":
            return 0.0, f"{query.name} has failed: {query.error}" if query.error else f"{query.name} has ended"
        arrival, backlog = known.arrival_rps(query, self.window_s), query.backlog
        if arrival is None or backlog is None:
            return query.not_known("arrival rate" if arrival is None else "backlog")
        if arrival == 0 and backlog == 0:
            return 0.0, f"{query.name} is idle"
        cost = batch_cost([batch[1:] for batch in memory.get(query.id, [])]) or _cost_so_far(query)
        if cost is None:
            return f"no batch of {query.name} has been measured yet; a first one, which is always slow, does not count"
        period_s = query.trigger.interval_s or self.asap_batch_s
        excess = max(0.0, _left_behind(query, now_s, arrival, backlog) - arrival * period_s)
        return self._slots(query, known, cost, arrival, excess)

    def _slots(
        self, query: Query, known: Knowledge, cost: BatchCost, arrival: float, excess: float
    ) -> tuple[float, str]:
        period_s = query.trigger.interval_s or self.asap_batch_s
        rows = (arrival + excess / self.drain_s) * period_s
        # Never less than half a period for tasks, however long the driver takes: slots cannot shorten it.
        task_s = max(period_s - _driver_s(query, known, self.window_s), period_s / 2)
        slots = cost.slot_s(rows) / task_s * self.headroom
        uneven = next((said for source in query.sources if (said := source.uneven)), None) if excess else None
        return slots, (
            f"{query.name}: {arrival:,.0f}/s arrive and {excess:,.0f} records wait beyond one batch"
            f"{f' ({uneven})' if uneven else ''}, {cost.per_record_s * 1e6:.1f} slot-us each: {slots:.1f} slots"
        )


def _left_behind(query: Query, now_s: float, arrival: float, backlog: float) -> float:
    """The backlog right after the last commit, or what has come since the running batch began, if that is more."""
    if query.finished is None:
        return backlog
    after_commit = backlog - arrival * (now_s - query.finished.ended_s)
    since_start = arrival * (now_s - query.running.started_s) if query.running else 0.0
    return max(after_commit, since_start)


def _cost_so_far(query: Query) -> BatchCost | None:
    """For a first batch that is long: what its finished tasks have cost. Too low while later stages have not begun."""
    sources = {operator.name for operator in query.topology.sources()}
    rows = busy = 0.0
    for work in query.operators:
        if work.busy_s is None or work.records_in is None:
            return None
        rows += work.records_in.value if work.name in sources else 0.0
        busy += work.busy_s.value
    return batch_cost([[rows, busy]]) if rows >= _FEWEST_ROWS else None


def _driver_s(query: Query, known: Knowledge, window_s: float) -> float:
    """Driver seconds per batch."""
    driver = known.rate(Signal.DRIVER_TIME, query.id, window_s)
    batches = known.rate(Signal.BATCHES, query.id, window_s)
    return driver / batches if driver and batches else 0.0


def _share(query: Query, pool: Pool, now: Observation) -> float:
    """The part of a query's work that falls to a pool: all of it where there is one pool."""
    if len(now.pools) == 1:
        return 1.0
    busy: Mapping[str, float] = {work.name: work.busy_s.value for work in query.operators if work.busy_s}
    total = sum(busy.values())
    mine = sum(busy.get(operator.name, 0.0) for operator in query.topology.operators if operator.pool == pool.name)
    return mine / total if total else 1 / len(now.pools)


_: type[Policy[Memory]] = LagProportional

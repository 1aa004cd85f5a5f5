"""Workers in proportion to what arrives plus what waits.

What most lag-based autoscalers come down to: enough slots for the arrival rate, and as many more as drain the backlog
within a given time. With micro-batches a backlog rises until a batch is committed and then falls, so what counts is
what was left right after the last commit; and of that, what arrives within one trigger interval is no reason to grow.

How long a batch may take, how fast a backlog is drained and how much is kept in reserve follow from the query's SLO
(`pace.py`), unless they are set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from elastream.core.decision import Decision, Json
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.estimators.batch_cost import NEAR, BatchCost, Doubt
from elastream.estimators.batch_history import BatchHistory, find_cost, is_continuous, with_batch
from elastream.estimators.waves import slots_for, stages_of
from elastream.policies.catalogue import policies
from elastream.policies.pace import Pace, pace
from elastream.registry import setting

# What came just now. Readings carry the time they were taken at, so that a look that is late makes no rate.
_FAST_S = 5.0

Memory = dict[str, BatchHistory]
"""Query -> what was seen of its batches."""


class Demand(NamedTuple):
    """Slots that a query needs, and the sentence that computes them."""

    slots: float
    sentence: str
    doubt: Doubt | None = None
    """Why the number rests on little."""

    @property
    def sure(self) -> float:
        """Slots that it needs in any case."""
        return self.slots * self.doubt.sure if self.doubt else self.slots


@policies.register("lag-proportional")
@dataclass(frozen=True, kw_only=True)
class LagProportional:
    """Slots for the arrival rate, plus slots that drain the backlog in time."""

    drain_s: float | None = setting(None, doc="a backlog should be gone after this time; none: as the SLO has it")
    headroom: float | None = setting(None, doc="slots per slot that the arithmetic asks for; none: as the SLO has it")
    asap_batch_s: float | None = setting(
        None, doc="how long batches may be where the trigger is as fast as possible; none: as the SLO has it"
    )
    window_s: float = setting(60.0, doc="the arrival rate is the largest over this time and over the last 5 s of it")
    interval_s: float = setting(5.0, doc="how often to decide")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.ARRIVED), Need(Signal.COMMITTED), Need(Signal.BUSY_TIME))

    def start(self) -> Memory:
        """No batch was seen."""
        return {}

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """Remember what each batch read and cost."""
        seen = dict(memory)
        for query in now.queries:
            if history := with_batch(memory.get(query.id, []), query):
                seen[query.id] = history
        # What belongs to queries that are gone is forgotten.
        return {query.id: seen[query.id] for query in now.queries if query.id in seen}

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """Add up what the queries need, and share it out to the pools that run them."""
        demands: dict[str, Demand] = {}
        unknown: list[str] = []
        for query in now.queries:
            demand = self._demand(query, now, known, memory)
            if isinstance(demand, str):
                unknown.append(demand)
            else:
                demands[query.id] = demand
        if not now.queries:
            return Decision(allocation={pool.name: 1 for pool in now.pools}, reason="no query runs")
        if not demands:
            return Decision.hold(now, "; ".join(unknown))
        doubts = [
            f"{demand.doubt.reason}; {demand.sure:.1f} slots are sure" for demand in demands.values() if demand.doubt
        ]
        slots = {name: demand.slots for name, demand in demands.items()}
        sizes = {pool.name: _size(pool, now, slots) for pool in now.pools}
        if doubts:
            sure = {name: demand.sure for name, demand in demands.items()}
            sizes = {pool.name: _step(pool.wanted, sizes[pool.name], _size(pool, now, sure)) for pool in now.pools}
        if unknown:
            sizes = {pool.name: max(sizes[pool.name], pool.wanted) for pool in now.pools}
        sentences = [demands[query.id].sentence for query in _worth_telling(now.queries) if query.id in demands]
        sentences += [
            f"little is known ({doubt}), so at most twice the size or what is sure" for doubt in dict.fromkeys(doubts)
        ]
        sentences += [f"{reason}, so no fewer than now" for reason in unknown]
        evidence: dict[str, Json] = {f"slots/{name}": demand.slots for name, demand in demands.items()}
        if unknown and sizes == now.wanted():
            return Decision.hold(now, "; ".join(sentences), evidence)
        return Decision(allocation=sizes, reason="; ".join(sentences), evidence=evidence, slots=slots)

    def _demand(self, query: Query, now: Observation, known: Knowledge, memory: Memory) -> Demand | str:
        """What one query needs, or why that is not known."""
        if query.phase == "terminated":
            return Demand(0.0, f"{query.name} has failed: {query.error}" if query.error else f"{query.name} has ended")
        chosen = pace(
            query,
            interval_s=self.interval_s,
            grow_s=_grow_s(now, known),
            drain_s=self.drain_s,
            headroom=self.headroom,
            asap_batch_s=self.asap_batch_s,
        )
        arrival, backlog = self._arrival_rps(query, known, chosen), query.backlog
        if arrival is None or backlog is None:
            return query.not_known("arrival rate" if arrival is None else "backlog")
        if arrival == 0 and backlog == 0:
            return Demand(0.0, f"{query.name} is idle")
        if query.phase == "restarting" and query.id not in memory:
            return f"{query.name} is restarting"
        cost = find_cost(memory.get(query.id), query)
        if cost is None:
            return f"no batch of {query.name} has been measured yet; a first one, which is always slow, does not count"
        excess = max(0.0, _left_behind(query, now.at_s, arrival, backlog) - arrival * chosen.period_s)
        return self._slots(query, known, cost, arrival, excess, chosen, alone=len(now.queries) == 1)

    def _arrival_rps(self, query: Query, known: Knowledge, chosen: Pace) -> float | None:
        """The larger of what came lately and just now: quick to grow, slow to shrink."""
        fast_s = min(_FAST_S, self.window_s)
        lately = known.arrival_rps(query, self.window_s)
        just_now = known.arrival_rps(query, fast_s)
        if lately is None or just_now is None:
            return lately
        burst = known.burst_rps(query, fast_s, chosen.remember_s) if chosen.remember_s else 0.0
        return max(lately, just_now, burst or 0.0)

    def _slots(
        self,
        query: Query,
        known: Knowledge,
        cost: BatchCost,
        arrival: float,
        excess: float,
        chosen: Pace,
        *,
        alone: bool,
    ) -> Demand:
        rows = (arrival + excess / chosen.drain_s) * chosen.period_s
        # A query that keeps up may be a little smaller for once, which tells what is not known; not one that is behind
        # or whose load leaps.
        leaps = arrival > NEAR * (known.arrival_rps(query, self.window_s) or arrival)
        work_s = cost.slot_s(rows) if excess or leaps else cost.likely_slot_s(rows)
        within_s = chosen.task_s(_driver_s(query, known, self.window_s))
        slots = work_s / within_s
        stages = stages_of(query) if alone and not is_continuous(query) else []
        whole = slots_for(work_s, within_s, stages) if stages else slots
        waits = f" and {excess:,.0f} records wait beyond one batch{_uneven(query)}" if excess else ""
        sentence = (
            f"{query.name}: {arrival:,.0f}/s arrive{waits}; a batch of {rows:,.0f} rows costs "
            f"{_spell_cost(cost, rows, work_s)} slot-s and should take {within_s:.1f} s: {slots:.1f} slots"
        )
        if stages:
            sentence += _spell_waves(slots, whole, max(stage.tasks for stage in stages))
        return Demand(whole, sentence + (f" ({chosen.note})" if chosen.note else ""), cost.doubt(rows))


def _spell_cost(cost: BatchCost, rows: float, work_s: float) -> str:
    """The cost of a batch with the numbers that make it."""
    if cost.slot_s(rows) != work_s:
        low, high = cost.slot_s(cost.most_rows), cost.slot_s(rows)
        return f"{low:.1f} (as {cost.most_rows:,.0f} rows did) to {high:.1f}, say {work_s:.1f}"
    return f"{cost.per_batch_s:.1f} + {cost.per_record_s * 1e6:,.1f} us x rows = {work_s:.1f}"


def _spell_waves(slots: float, whole: float, tasks: int) -> str:
    """What the cut into tasks makes of a number of slots, where it makes a difference."""
    if slots > tasks:
        return f", but {tasks} tasks keep at most {tasks} busy; raise the partitions of the widest stage to go further"
    return f", {whole:g} so that {tasks} tasks make whole waves" if whole > slots + 1 else ""


def _size(pool: Pool, now: Observation, slots: Mapping[str, float]) -> int:
    """Workers of a pool for what queries need."""
    return max(1, pool.workers_for(sum(slots[q.id] * _share(q, pool, now) for q in now.queries if q.id in slots)))


def _worth_telling(queries: Sequence[Query]) -> Sequence[Query]:
    """All but those that have ended as they should, unless there are no others."""
    return [query for query in queries if query.phase != "terminated" or query.error] or queries


def _step(wanted: int, size: int, sure: int) -> int:
    """On little evidence: at most twice the size, or what is needed in any case, and one fewer."""
    return min(max(size, wanted - 1), max(2 * wanted, sure))


def _left_behind(query: Query, now_s: float, arrival: float, backlog: float) -> float:
    """The backlog right after the last commit, or what has come since the running batch began, if that is more."""
    if query.finished is None:
        return backlog
    after_commit = backlog - arrival * (now_s - query.finished.ended_s)
    since_start = arrival * (now_s - query.running.started_s) if query.running else 0.0
    # Of a rate that was reached for a moment only, more would have come than there is.
    return max(after_commit, min(since_start, backlog))


def _driver_s(query: Query, known: Knowledge, window_s: float) -> float:
    """Driver seconds per batch."""
    driver = known.rate(Signal.DRIVER_TIME, query.id, window_s)
    batches = known.rate(Signal.BATCHES, query.id, window_s)
    return driver / batches if driver and batches else 0.0


def _grow_s(now: Observation, known: Knowledge) -> float | None:
    """How long new workers take, where that was seen."""
    return max((took for pool in now.pools if (took := known.grow_s(pool.name)) is not None), default=None)


def _uneven(query: Query) -> str:
    said = next((text for source in query.sources if (text := source.uneven)), None)
    return f" ({said})" if said else ""


def _share(query: Query, pool: Pool, now: Observation) -> float:
    """The part of a query's work that falls to a pool: all of it where there is one pool."""
    if len(now.pools) == 1:
        return 1.0
    busy: Mapping[str, float] = {work.name: work.busy_s.value for work in query.operators if work.busy_s}
    total = sum(busy.values())
    mine = sum(busy.get(operator.name, 0.0) for operator in query.topology.operators if operator.pool == pool.name)
    return mine / total if total else 1 / len(now.pools)


_: type[Policy[Memory]] = LagProportional

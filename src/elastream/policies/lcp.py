"""Lazy capacity provisioning (Lin, Wierman, Andrew, Thereska, INFOCOM 2011; for whole servers Albers and Quedenfeld,
SPAA 2018, arXiv 1807.05112): move no further than what is known by now forces one to.

Every interval brings a cost of each size: its workers, and `short` times those that the load would have needed beyond
them. Adding a worker costs `change_s` of its time. Of the cheapest schedules for all that came so far one ends lowest,
with changes paid by those who add workers, and one ends highest, with changes paid by those who give them up; the size
is kept as long as it lies between both. For such costs it pays at most three times what the cheapest schedule pays
that knew the future, and no deterministic rule does better. That is all that is guaranteed: waiting records, batches
and a job that stops for a change are no part of that cost, so nothing is said of an SLO.

Ours is what the load needs: slot time per record over the last minute, times what arrives and what waits beyond a batch
worked off within `drain_s`, over `full`. The papers take it as given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.registry import setting

LcpMemory = dict[str, list[float]]
"""Pool -> cost of the cheapest schedule so far that ends with each size, over that of the cheapest of all."""


class Lazy(NamedTuple):
    """The size after an interval, and what it lies between."""

    workers: int
    low: int
    high: int
    costs: list[float]


@policies.register("lcp")
@dataclass(frozen=True, kw_only=True)
class Lcp:
    """Lazy capacity provisioning: at most three times the cost of a schedule that knew the future."""

    change_s: float = setting(60.0, doc="what adding a worker costs, in seconds of a worker")
    short: float = setting(10.0, doc="what a worker that lacks costs, in workers")
    full: float = setting(0.8, doc="share of the slots' time that work can have")
    drain_s: float = setting(60.0, doc="what waits beyond a batch is to be worked off within this time")
    window_s: float = setting(60.0, doc="rates and work per record are means over this time")
    interval_s: float = setting(15.0, doc="how often to decide")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.ARRIVED), Need(Signal.COMMITTED), Need(Signal.BUSY_TIME))
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def __post_init__(self) -> None:
        if not (self.change_s >= 0 and self.short > 1 and 0 < self.full <= 1 and self.drain_s > 0):
            raise BadInput(
                f"policy lcp: change {self.change_s:g} s, short {self.short:g}, full {self.full:g}, drain "
                f"{self.drain_s:g} s; they must be at least 0, above 1, above 0 and at most 1, and above 0"
            )

    def start(self) -> LcpMemory:
        """No interval has passed."""
        return {}

    def learn(self, memory: LcpMemory, now: Observation, last: Decision | None) -> LcpMemory:
        """What the last decision has found."""
        if last is None or not last.note:
            return memory
        return {pool: list(costs) for pool, costs in last.note.items() if isinstance(costs, list)}

    def decide(self, now: Observation, known: Knowledge, memory: LcpMemory) -> Decision:
        """Every pool by itself."""
        needed = {pool.name: 0.0 for pool in now.pools}
        for query in now.queries:
            if query.phase == "terminated":
                continue
            found = self._needed(query, known)
            if isinstance(found, str):
                return Decision.hold(now, found)
            for name, slots in found.items():
                if name in needed:
                    needed[name] += slots
        lazy = {pool.name: self._lazy(pool, needed[pool.name], memory) for pool in now.pools}
        evidence: dict[str, Json] = {f"needed_slots/{name}": slots for name, slots in needed.items()}
        for name, one in lazy.items():
            evidence |= {f"low/{name}": one.low, f"high/{name}": one.high}
        note: dict[str, Json] = {name: one.costs for name, one in lazy.items()}
        reason = "; ".join(
            f"{pool.name}: the load needs {needed[pool.name]:.1f} slots; the cheapest schedules so far end between "
            f"{lazy[pool.name].low} and {lazy[pool.name].high}"
            for pool in now.pools
        )
        allocation = {name: one.workers for name, one in lazy.items()}
        if allocation == now.wanted():
            return Decision.keep(now, reason, evidence, note)
        return Decision(allocation=allocation, reason=reason, evidence=evidence, note=note)

    def _needed(self, query: Query, known: Knowledge) -> dict[str, float] | str:
        """Slots by pool, or why they are not known."""
        arrival, backlog = known.arrival_rps(query, self.window_s), query.backlog
        if arrival is None or backlog is None:
            return query.not_known("arrival rate" if arrival is None else "backlog")
        taken = known.committed_rps(query, self.window_s)
        if arrival == 0 and backlog == 0:
            return {}
        if not taken:
            return query.not_known("throughput")
        excess = max(0.0, backlog - 2 * arrival * (query.trigger.interval_s or 0.0))
        slots: dict[str, float] = {}
        for operator in query.topology.operators:
            busy = known.rate(Signal.BUSY_TIME, f"{query.id}/{operator.name}", self.window_s)
            if busy is None:
                return query.not_known(f"busy time of {operator.name}")
            work = busy / taken * (arrival + excess / self.drain_s) / self.full
            slots[operator.pool] = slots.get(operator.pool, 0.0) + work
        return slots

    def _lazy(self, pool: Pool, slots: float, memory: LcpMemory) -> Lazy:
        needed = slots / max(1, pool.slots_per_worker)
        least = max(1, pool.min_workers)
        steps = range(least, max(least, pool.max_workers) + 1)
        before = memory.get(pool.name, [])
        if len(before) != len(steps):
            before = [self.change_s * max(0, workers - pool.wanted) for workers in steps]
        spent = [self.interval_s * (workers + self.short * max(0.0, needed - workers)) for workers in steps]
        return be_lazy(before, spent, pool.wanted, least=least, change_s=self.change_s)


def be_lazy(before: Sequence[float], spent: Sequence[float], size: int, *, least: int, change_s: float) -> Lazy:
    """One interval: `before` and `spent` are costs of `least`, `least + 1`, ... workers."""
    rises = change_s * np.arange(len(before))
    # From a larger size it costs nothing to come down, from a smaller one each worker is paid.
    kept = np.minimum.accumulate(np.asarray(before)[::-1])[::-1]
    grown = np.minimum.accumulate(np.asarray(before) - rises) + rises
    costs = np.minimum(kept, grown) + np.asarray(spent)
    low = least + int(np.flatnonzero(costs <= costs.min() + 1e-9)[0])
    down = costs - rises
    high = least + int(np.flatnonzero(down <= down.min() + 1e-9)[-1])
    return Lazy(min(max(size, low), max(low, high)), low, high, (costs - costs.min()).tolist())

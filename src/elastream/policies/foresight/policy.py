"""Foresight: the size that keeps the promise for the least, planned anew at every look with what was learned.

People say what they want (an SLO, bounds), not how to get it. Out of what was measured follows a model of the engine
(`learning`, `plant`), out of the model and of what is going to arrive the cheapest path of sizes (`plan`). Model
predictive control of elasticity is known for multicore streams (De Matteis and Mencagli) and with chance constraints
for clusters (OptScaler); this is the first for Spark's micro-batches, and says no more than that.

Micro-batches (`batches`): a change costs seconds, so it looks two minutes ahead, and often; what pays is to know
how long batches take at each size, waves of tasks counted, and to use the slack that the SLO leaves. A continuous job
(`stream`) is stopped by a change: it looks ten minutes ahead, so that it changes before it must, and seldom.

Whatever the plan says, it shrinks neither while it drains nor to a size that will not keep up, and a wrong model
corrects itself: when records are late it plans for a shorter bound until they are not. Where it cannot measure, the
simple rule (`lag-proportional`) decides, and the reason says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from elastream.core.decision import Decision, Json
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.policies.foresight import learning
from elastream.policies.foresight.batches import choose_for_batches
from elastream.policies.foresight.choice import Ingredient, QueryChoice, Taste
from elastream.policies.foresight.stream import choose_for_stream
from elastream.policies.lag_proportional import LagProportional
from elastream.registry import setting

Memory = dict[str, Any]
"""Query -> what was learned of it; those of another run stand there by their names until they run."""

_BEFORE = "before/"

_SIMPLE = LagProportional()


@policies.register("foresight")
@dataclass(frozen=True, kw_only=True)
class Foresight:
    """The cheapest path of sizes that keeps the SLO, by a model that is learned on line."""

    calm: float = setting(5.0, doc="what a change is worth, in seconds of a worker: more is calmer, and costs more")
    late: float = setting(25.0, doc="what a late record is worth, in times of what its work costs")
    keep: float = setting(0.7, doc="shrinks to what keeps up with a load that is not exceeded in this share of cases")
    ahead_s: float = setting(120.0, doc="how far to look where a change stops nothing: minutes, as loads of days move")
    interval_s: float = setting(5.0, doc="how often to decide")
    without: Ingredient = setting("nothing", doc="a part of the idea to leave out, to see what it is worth")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.ARRIVED), Need(Signal.COMMITTED), Need(Signal.BUSY_TIME))
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def start(self) -> Memory:
        """Nothing was seen."""
        return {}

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """What every query did since the last look; what belongs to queries that are gone is forgotten."""
        expected = dict(last.note) if last is not None else {}
        if not now.queries:
            return {key: state for key, state in memory.items() if key.startswith(_BEFORE)}
        return {
            query.id: learning.update(self._state(memory, query, now.at_s), query, now, expected.get(query.id))
            for query in now.queries
        }

    def carry_over(self, memory: Memory) -> Memory:
        """What of all that holds in another run of the same job."""
        return {f"{_BEFORE}{state['name']}": state for state in memory.values()}

    def _state(self, memory: Memory, query: Query, now_s: float) -> learning.State:
        state: learning.State | None = memory.get(query.id)
        if state is not None:
            return state
        new = learning.start(query, self.ahead_s)
        before = memory.get(f"{_BEFORE}{query.name}")
        return new if before is None else learning.warm(new, before, now_s)

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """The largest of what the queries need, each planned beside what the others use."""
        running = [query for query in now.queries if query.phase != "terminated"]
        if not running or len(now.pools) != 1:
            return self._decide_simply(now, known, memory, "there are several pools" if running else None)
        (pool,) = now.pools
        choices: list[QueryChoice] = []
        for query in running:
            choice = self._choose(query, pool, now, known, memory[query.id])
            if isinstance(choice, QueryChoice):
                choices.append(choice)
            elif learning.is_continuous(query):
                # Any change would stop it before it can be measured.
                return Decision.hold(now, choice)
            else:
                return self._decide_simply(now, known, memory, choice)
        workers = max(choice.workers for choice in choices)
        reason = "; ".join(choice.sentence for choice in choices)
        evidence: dict[str, Json] = {
            f"{query.name}/{key}": value
            for query, choice in zip(running, choices, strict=True)
            for key, value in choice.evidence.items()
        }
        if workers == pool.wanted:
            return Decision.keep(now, reason, evidence)
        note: dict[str, Json] = {
            query.id: dict(choice.expected)
            for query, choice in zip(running, choices, strict=True)
            if choice.expected and choice.workers == workers
        }
        slots = {query.id: choice.slots for query, choice in zip(running, choices, strict=True)}
        return Decision(allocation={pool.name: workers}, reason=reason, evidence=evidence, note=note, slots=slots)

    def _choose(
        self, query: Query, pool: Pool, now: Observation, known: Knowledge, state: learning.State
    ) -> QueryChoice | str:
        """The size for one query, or why the simple rule has to decide."""
        taste = Taste(calm=self.calm, late=self.late, keep=self.keep, without=self.without)
        if query.backlog is None:
            return query.not_known("backlog")
        choose = choose_for_stream if learning.is_continuous(query) else choose_for_batches
        # Out of absurd readings come sizes that cost nothing that is a number; such are not chosen.
        with np.errstate(all="ignore"):
            return choose(query, pool, now, known, state, taste)

    def _decide_simply(self, now: Observation, known: Knowledge, memory: Memory, why: str | None) -> Decision:
        """What the simple rule says, and why it is asked."""
        decision = _SIMPLE.decide(now, known, {query: state["batches"] for query, state in memory.items()})
        return decision if why is None else replace(decision, reason=f"{decision.reason} (the simple rule: {why})")


_: type[Policy[Memory]] = Foresight

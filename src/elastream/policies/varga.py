"""Two metrics for an HPA of stream processors (Varga et al. 2021): utilisation, and relative change of lag.

Utilisation is the share of time that is not idle, with a target of 0.7; the relative change of lag is 1 + growth of
lag / throughput, with a target of 1: how much more would have to be taken in for the lag to stand still. The higher of
the two wins, and then it goes as in `behaviour`.

`form: pool` is the original: one size for everything, and the lag is ignored while it is below a threshold, because
otherwise its target of 1 would never let a pool shrink. `form: operator` is the extension by Kanis (2023, section
6.7.4), without tolerance and step limits as in the thesis: only while lag grows faster than a threshold does it count,
and only at the operators that cause it; those without are given -1. The causes are found by back-pressure, and if
nothing is back-pressured they are the sources. `varga-10k` has the threshold that the thesis really deployed.

Where no back-pressure is measured (micro-batches), sources are the cause. Lag is what batches leave behind.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypedDict

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query
from elastream.core.signals import Signal
from elastream.estimators.left_behind import Behind, growth_rps, records_behind, watched
from elastream.policies.catalogue import policies
from elastream.policies.dhalion.symptoms import Unknown, below_back_pressure, share_of_time
from elastream.policies.hpa.behaviour import Behaviour, Recommendations, ratio_of
from elastream.registry import setting

_NO_CAUSE = -1.0
"""Relative change of lag of an operator that does not cause any: utilisation alone decides."""


class VargaMemory(TypedDict):
    """What is remembered from look to look."""

    recommendations: Recommendations
    behind: dict[str, Behind]


@policies.register("varga")
@dataclass(frozen=True, kw_only=True)
class Varga(Behaviour):
    """Keep utilisation at its target and lag from growing, whichever asks for more."""

    form: Literal["operator", "pool"] = setting("operator", doc="by operator (Kanis), or one size for all (Varga)")
    utilisation_target: float = setting(0.7, doc="share of time that is not idle")
    lag_change_target: float = setting(1.0, doc="1 + growth of lag / throughput; at 1 lag stands still")
    backpressured_rps: float = setting(1_000.0, doc="operator form: lag that grows slower than this has no cause")
    ignored_lag: float = setting(10_000.0, doc="pool form: records up to which lag is ignored")
    backpressured_above: float = setting(0.02, doc="share of time below which back-pressure is noise")
    derivative_s: float = setting(60.0, doc="growth of lag and throughput are taken over this time")
    window_s: float = setting(60.0, doc="utilisation is a mean over this time")
    ceiling: float | None = setting(
        None, doc="utilisation when saturated, about 0.9; a pool that reaches it is doubled"
    )
    tolerance: float = setting(0.0, doc="a ratio to the target this close to 1 changes nothing")
    up_pods: int | None = setting(None, doc="workers added within up_pods_s at most, or none")
    up_percent: float | None = setting(None, doc="percent added within up_percent_s at most, or none")

    def __post_init__(self) -> None:
        Behaviour.__post_init__(self)
        for name in ("utilisation_target", "lag_change_target"):
            if getattr(self, name) <= 0:
                raise BadInput(f"policy varga: {name} is {getattr(self, name):g}; it must be above 0")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Lag and useful time; by operator also back-pressure, or the lag alone."""
        needs = (Need(Signal.ARRIVED), Need(Signal.COMMITTED), Need(Signal.BUSY_TIME))
        if self.form == "pool":
            return needs
        return (*needs, Need(Signal.BACKPRESSURE_TIME, stand_ins=(Signal.COMMITTED,)))

    def start(self) -> VargaMemory:
        """Nothing was recommended or seen."""
        return {"recommendations": {"made_s": None, "recent": []}, "behind": {}}

    def learn(self, memory: VargaMemory, now: Observation, last: Decision | None) -> VargaMemory:
        """Follow the lag, and remember the last recommendation."""
        return {
            "recommendations": self.remembered(memory["recommendations"], now, last),
            "behind": {query.id: watched(memory["behind"].get(query.id), query) for query in now.queries},
        }

    def decide(self, now: Observation, known: Knowledge, memory: VargaMemory) -> Decision:
        """Recommend by the higher of the two metrics, pool by pool."""
        queries = [query for query in now.queries if query.phase != "terminated"]
        try:
            use = {pool.name: self._utilisation(pool, queries, known) for pool in now.pools}
            change = {pool.name: _NO_CAUSE for pool in now.pools}
            for query in queries:
                for name, value in self._lag_changes(query, now, known, memory["behind"]).items():
                    change[name] = max(change[name], value)
        except Unknown as unknown:
            return Decision.hold(now, str(unknown))
        ratios = {name: self._ratio(use[name], change[name]) for name in use}
        recommended = {pool.name: self._size(pool, ratios[pool.name]) for pool in now.pools}
        allocation, notes = self.settled(recommended, now, known, memory["recommendations"])
        evidence: dict[str, Json] = {
            "recommended": dict(recommended),
            "utilisation": dict(use),
            "relative_lag_change": dict(change),
        }
        sentences = [self._words(name, use[name], change[name], recommended[name]) for name in use]
        reason = "; ".join([*sentences, *notes]) or "no pool is known"
        note = self.note(recommended)
        if allocation == now.wanted():
            return Decision.keep(now, reason, evidence, note)
        return Decision(allocation=allocation, reason=reason, evidence=evidence, note=note)

    def _ratio(self, use: float, change: float) -> float:
        return max(ratio_of(use, self.utilisation_target, self.ceiling), change / self.lag_change_target)

    def _size(self, pool: Pool, ratio: float) -> int:
        if self.is_tolerated(ratio):
            return pool.wanted
        # 7 x 0.7 / 0.7 is seven workers, not eight.
        return max(1, math.ceil(max(1, pool.ready) * ratio - 1e-9))

    def _utilisation(self, pool: Pool, queries: list[Query], known: Knowledge) -> float:
        """Share of the pool's time in which its operators were busy or held up: all but idle."""
        share = 0.0
        for query in queries:
            for operator in query.topology.operators:
                if operator.pool != pool.name:
                    continue
                subject = f"{query.id}/{operator.name}"
                busy = share_of_time(Signal.BUSY_TIME, subject, pool, known, self.window_s)
                if busy is None:
                    raise Unknown(f"busy time of {query.name}/{operator.name} is not known")
                held_up = share_of_time(Signal.BACKPRESSURE_TIME, subject, pool, known, self.window_s)
                share += busy + (held_up or 0.0)
        return min(1.0, share)

    def _lag_changes(
        self, query: Query, now: Observation, known: Knowledge, memory: Mapping[str, Behind]
    ) -> dict[str, float]:
        """Relative change of lag by pool, where there is one that counts."""
        behind = memory.get(query.id)
        taken = known.committed_rps(query, self.derivative_s)
        if behind is None or query.backlog is None or taken is None:
            raise Unknown(query.not_known("lag"))
        grows = growth_rps(behind, query, now.at_s, self.derivative_s) or 0.0
        if self.form == "pool":
            counts = (records_behind(behind, query) or 0.0) > self.ignored_lag
            causes = tuple(operator.name for operator in query.topology.operators)
        else:
            counts = grows >= self.backpressured_rps
            causes = self._causes(query, now, known) if counts else ()
        if not counts:
            return {}
        if taken <= 0:
            raise Unknown(f"lag of {query.name} grows by {grows:,.0f}/s and nothing is taken in")
        pools = {operator.name: operator.pool for operator in query.topology.operators}
        there = now.wanted().keys()
        return {pools[name]: 1 + grows / taken for name in causes if pools[name] in there}

    def _causes(self, query: Query, now: Observation, known: Knowledge) -> tuple[str, ...]:
        """Operators that cause the lag: below back-pressure, or the sources if nothing is back-pressured."""
        sources = tuple(operator.name for operator in query.topology.sources())
        if Signal.BACKPRESSURE_TIME not in known.provides:
            return sources
        pools = {pool.name: pool for pool in now.pools}
        pressed = set()
        for operator in query.topology.operators:
            subject = f"{query.id}/{operator.name}"
            share = (
                share_of_time(Signal.BACKPRESSURE_TIME, subject, pools[operator.pool], known, self.window_s)
                if operator.pool in pools
                else None
            )
            if share is None:
                raise Unknown(f"back-pressure of {query.name}/{operator.name} is not known")
            if share > self.backpressured_above:
                pressed.add(operator.name)
        above = {operator.name: query.topology.upstream(operator.name) for operator in query.topology.operators}
        return below_back_pressure(above, pressed) if pressed else sources

    def _words(self, name: str, use: float, change: float, recommended: int) -> str:
        lag = "no lag to answer for" if change == _NO_CAUSE else f"relative change of lag {change:.2f}"
        return f"{name}: utilisation {use:.2f}, the target {self.utilisation_target:g}; {lag}: {recommended}"


policies.preset(
    "varga-10k",
    of="varga",
    doc="Varga by operator with the threshold the thesis deployed: lag that grows by 10,000/s",
    backpressured_rps=10_000.0,
)
policies.preset(
    "varga-pool",
    of="varga",
    doc="Varga as first published: one size for all, on the real HPA",
    form="pool",
    tolerance=0.1,
    up_pods=4,
    up_percent=100.0,
)

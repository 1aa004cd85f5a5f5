"""A run small enough to record in a test: a policy that follows the arrivals, and a platform that plays rates."""

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from elastream.core.decision import Decision
from elastream.core.errors import ObservationFailed
from elastream.core.guards.step_limit import StepLimit
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query, Reading, Source
from elastream.core.protocols import Guard, Policy
from elastream.core.signals import Signal
from elastream.core.tick import Tick
from elastream.core.topology import Edge, Operator, Topology
from elastream.journal.format import Header, describe
from elastream.journal.writer import Recorder
from elastream.loop.clock import VirtualClock
from elastream.loop.controller import Controller
from elastream.loop.planner import Planner

TOPOLOGY = Topology(
    operators=(Operator(name="read", pool="executors", partitions=8), Operator(name="count", pool="executors")),
    edges=(Edge("read", "count"),),
)
UTC_S = 1_767_268_800.0
"""2026-01-01 12:00 UTC."""


@dataclass(frozen=True, kw_only=True)
class ByArrival:
    """Remembers the largest rate it ever saw, and never goes below half of what that needs."""

    rps_per_worker: float = 100.0
    interval_s: float = 10.0
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.ARRIVED),)

    def start(self) -> dict[str, float]:
        return {"most_rps": 0.0}

    def learn(self, memory: dict[str, float], now: Observation, last: Decision | None) -> dict[str, float]:
        arrived = now.queries[0].sources[0].arrived if now.queries else None
        if arrived is None:
            return memory
        most = memory["most_rps"]
        if "at_s" in memory:
            most = max(most, (arrived.value - memory["arrived"]) / (arrived.at_s - memory["at_s"]))
        return {"arrived": arrived.value, "at_s": arrived.at_s, "most_rps": most}

    def decide(self, now: Observation, known: Knowledge, memory: dict[str, float]) -> Decision:
        rate = known.arrival_rps(now.queries[0], 10) if now.queries else None
        if rate is None:
            return Decision.hold(now, "the arrival rate is not known")
        workers = math.ceil(max(rate, memory["most_rps"] / 2) / self.rps_per_worker)
        reason = f"arrival {rate:,.0f}/s needs {workers} workers"
        return Decision(allocation={"executors": workers}, reason=reason, evidence={"rate": rate})


class Rates:
    """A platform on which so many records arrive per second, one rate per look; None is a look that fails."""

    name = "rates"
    provides = frozenset({Signal.ARRIVED, Signal.COMMITTED, Signal.READY})

    def __init__(
        self,
        clock: VirtualClock,
        rates: Sequence[float | None],
        *,
        ready_after: int = 2,
        lacks_at: Container[float] = (),
    ) -> None:
        self._clock, self._rates, self._ready_after = clock, iter(rates), ready_after
        self._lacks_at = lacks_at
        self._arrived, self._wanted, self._ready, self._since = 0.0, 1, 1, 0

    def observe(self) -> Observation:
        rate = next(self._rates)
        self._arrived += 5 * (rate or 0.0)
        if rate is None:
            raise ObservationFailed("the driver does not answer")
        self._since += 1
        if self._since >= self._ready_after:
            self._ready = self._wanted
        now = observation(self._clock.now_s(), self._arrived, wanted=self._wanted, ready=self._ready)
        return replace(now, lacks={Signal.ARRIVED: "the log is silent"}) if now.at_s in self._lacks_at else now

    def apply(self, decision: Decision) -> None:
        if decision.allocation["executors"] != self._wanted:
            self._wanted, self._since = decision.allocation["executors"], 0

    def has_ended(self) -> bool:
        return False


def observation(at_s: float, arrived: float = 0.0, *, wanted: int = 1, ready: int | None = None) -> Observation:
    pool = Pool(
        name="executors",
        slots_per_worker=2,
        min_workers=1,
        max_workers=20,
        wanted=wanted,
        requested=wanted,
        ready=wanted if ready is None else ready,
        leaving=0,
        worker_memory_bytes=2.0**30,
    )
    source = Source(name="kafka", arrived=Reading(arrived, at_s), committed=Reading(arrived / 3, at_s))
    query = Query(id="q1", name="clicks", phase="running", topology=TOPOLOGY, sources=(source,))
    return Observation(at_s=at_s, utc_s=UTC_S + at_s, application="app-1", pools=(pool,), queries=(query,))


def planner(policy: Policy[Any] | None = None, guards: dict[str, Guard[Any]] | None = None) -> Planner:
    return Planner(policy or ByArrival(), {"step_limit": StepLimit(up=3)} if guards is None else guards, Rates.provides)


def header(one: Planner, *, policy: str = "by-arrival", utc_s: float = UTC_S) -> Header:
    platform = Rates(VirtualClock(), [])
    return describe(one, platform, policy=policy, tick_s=5, max_age_s=15, utc_s=utc_s, spark="4.2.0")


def record(
    folder: Path,
    rates: Sequence[float | None],
    *,
    one: Planner | None = None,
    max_bytes: int = 10**6,
    keep: int = 99,
    lacks_at: Container[float] = (),
) -> list[Tick]:
    """Run the loop over some rates, one look every five seconds, and record it."""
    one = one or planner()
    clock = VirtualClock(utc_s=UTC_S)
    with Recorder(folder, planner=one, header=header(one), max_bytes=max_bytes, keep=keep) as recorder:
        platform = Rates(clock, rates, lacks_at=lacks_at)
        loop = Controller(platform=platform, planner=one, clock=clock, tick_s=5, journals=[recorder])
        ticks = []
        for number in range(len(rates)):
            clock.sleep_until(5.0 * number)
            ticks.append(loop.tick())
    return ticks


def tick(number: int, now: Observation | None, decision: Decision | None, *troubles: str) -> Tick:
    at_s = now.at_s if now else 5.0 * number
    return Tick(
        number=number, at_s=at_s, utc_s=UTC_S + at_s, observation=now, decision=decision, troubles=tuple(troubles)
    )


def with_arrivals(now: Observation, factor: float) -> Observation:
    """The same look with other arrivals."""
    query = now.queries[0]
    source = query.sources[0]
    assert source.arrived is not None
    arrived = Reading(source.arrived.value * factor, source.arrived.at_s)
    return replace(now, queries=(replace(query, sources=(replace(source, arrived=arrived),)),))

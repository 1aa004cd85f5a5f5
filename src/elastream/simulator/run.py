"""Run a policy on a model under a workload, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from elastream.core.guards import Guards
from elastream.core.protocols import Clock, Journal, Policy
from elastream.core.slo import Judged, worst_of
from elastream.core.tick import Tick
from elastream.estimators.delay import quantiles
from elastream.loop.clock import VirtualClock
from elastream.loop.controller import Controller, checked
from elastream.loop.planner import Planner
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.continuous.platform import SimulatedDataflow
from elastream.simulator.faults import Fault
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.microbatch.platform import SimulatedSpark
from elastream.workloads import Workload
from elastream.workloads.series import RateSeries


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run in numbers. Delays are exact and over all records that were committed."""

    policy: str
    duration_s: float
    records: int
    backlog_left: int
    mean_workers: float
    max_workers: int
    worker_hours: float
    actions: int
    holds: int
    delay_p50_s: float | None
    delay_p95_s: float | None
    delay_p99_s: float | None
    delay_max_s: float | None
    within_slo: float | None
    """Share of the records that were judged and committed within the bound: what an SLO speaks of."""
    slo_kept: bool | None
    """Whether that is at least what was promised."""
    time_within_slo: float | None
    """Share of the looks that could tell at which the 95th percentile of a sliding window was within the bound."""

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


@dataclass(slots=True)
class Strips:
    """What to draw: one value per tick. Implements Journal."""

    at_s: list[float] = field(default_factory=list)
    rate_rps: list[float] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)
    ready: list[int] = field(default_factory=list)
    leaving: list[int] = field(default_factory=list)
    backlog: list[float | None] = field(default_factory=list)
    delay_p95_s: list[float | None] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    within: list[bool | None] = field(default_factory=list)
    on_time: dict[str, Judged] = field(default_factory=dict)
    """Query -> its promise, and how it was kept so far."""
    actions: int = 0

    def write(self, tick: Tick) -> None:
        """Take in one tick; where the platform could not be looked at there is nothing to draw."""
        now, decision = tick.observation, tick.decision
        if now is None or decision is None:
            return
        self.at_s.append(now.at_s)
        self.wanted.append(sum(decision.allocation.values()))
        self.ready.append(sum(pool.ready for pool in now.pools))
        self.leaving.append(sum(pool.leaving for pool in now.pools))
        backlogs = [query.backlog for query in now.queries]
        self.backlog.append(None if None in backlogs else sum(b for b in backlogs if b is not None))
        delays = [query.delay.p95_s for query in now.queries if query.delay]
        self.delay_p95_s.append(max(delays, default=None))
        self.kinds.append(decision.kind)
        self.actions += len(decision.changes(now))
        self.within.append(now.is_within_slo)
        for query in now.queries:
            if query.slo is not None and query.on_time is not None:
                self.on_time[query.id] = query.slo, query.on_time

    def close(self) -> None:
        """Nothing to close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run."""

    summary: Summary
    strips: Strips
    form: str
    """In which form the policy ran."""


class Simulation:
    """A run that has not begun: one policy, one model, one workload, in virtual time."""

    def __init__(
        self,
        model: ApplicationModel | DataflowModel,
        workload: Workload | Mapping[str, Workload],
        policy: Policy[Any],
        *,
        name: str,
        guards: Guards | None = None,
        duration_s: float,
        tick_s: float = 15.0,
        seed: int = 0,
        faults: Sequence[Fault] = (),
    ) -> None:
        self.name = name
        self.duration_s = duration_s
        self._curves = _curves(model, workload, duration_s, seed)
        clock = VirtualClock()
        self.platform = simulated(model, self._curves, clock, seed=seed, faults=faults)
        self.planner = Planner(policy, guards or {}, self.platform.provides)
        self.controller = Controller(platform=self.platform, planner=self.planner, clock=clock, tick_s=tick_s)

    def run(self, journals: Sequence[Journal] = (), progress: Callable[[float], None] | None = None) -> Outcome:
        """Run to the end. `progress` is told the time of every tick."""
        form = checked(self.planner, self.platform, self.name)
        strips = Strips()
        told = [_Progress(progress)] if progress else []
        self.controller.journals = [strips, *journals, *told]
        self.controller.run(until_s=self.duration_s)
        self.controller.close()
        self.platform.engine.advance(self.duration_s)
        strips.rate_rps = [sum(curve.rate(at_s) for curve in self._curves.values()) for at_s in strips.at_s]
        return Outcome(summary=_summary(self.name, self.platform, strips, self.duration_s), strips=strips, form=form)


def simulated(
    model: ApplicationModel | DataflowModel,
    curves: Mapping[str, RateSeries],
    clock: Clock,
    *,
    seed: int = 0,
    faults: Sequence[Fault] = (),
) -> SimulatedSpark | SimulatedDataflow:
    """The platform that a model is simulated on."""
    if isinstance(model, DataflowModel):
        return SimulatedDataflow(model, curves, clock, seed=seed, faults=faults)
    return SimulatedSpark(model, curves, clock, seed=seed, faults=faults)


def _curves(
    model: ApplicationModel | DataflowModel,
    workload: Workload | Mapping[str, Workload],
    duration_s: float,
    seed: int,
) -> dict[str, RateSeries]:
    """One curve per query, or per log of a dataflow; a single workload is what every query gets, or what logs share."""
    names = [log.name for log in model.logs] if isinstance(model, DataflowModel) else [q.name for q in model.queries]
    if isinstance(workload, Mapping):
        return {name: workload[name].series(duration_s=duration_s, seed=seed) for name in names}
    curve = workload.series(duration_s=duration_s, seed=seed)
    if isinstance(model, DataflowModel):
        return {log.name: curve * log.share for log in model.logs}
    return dict.fromkeys(names, curve)


def _summary(name: str, platform: SimulatedSpark | SimulatedDataflow, strips: Strips, duration_s: float) -> Summary:
    parts = platform.engine.delays
    p50, p95, p99 = quantiles(parts, (0.5, 0.95, 0.99)).tolist() if parts else (None, None, None)
    records, backlog = platform.engine.counted()
    worst = worst_of(strips.on_time.values())
    told = [kept for kept in strips.within if kept is not None]
    busy = [ready + leaving for ready, leaving in zip(strips.ready, strips.leaving, strict=True)]
    mean = sum(busy) / len(busy) if busy else 0.0
    return Summary(
        policy=name,
        duration_s=duration_s,
        records=records,
        backlog_left=backlog,
        mean_workers=mean,
        max_workers=max(busy, default=0),
        worker_hours=mean * duration_s / 3600,
        actions=strips.actions,
        holds=strips.kinds.count("hold"),
        delay_p50_s=p50,
        delay_p95_s=p95,
        delay_p99_s=p99,
        delay_max_s=max((part.longest_s for part in parts), default=None),
        within_slo=None if worst is None else worst[1].share,
        slo_kept=None if worst is None else worst[1].keeps(worst[0]),
        time_within_slo=sum(told) / len(told) if told else None,
    )


class _Progress:
    """Tells the time of every tick. Implements Journal."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell

    def write(self, tick: Tick) -> None:
        self._tell(tick.at_s)

    def close(self) -> None:
        pass

"""Run a policy on a model under a workload, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elastream.core.guards import Guards
from elastream.core.protocols import Clock, Journal, Policy
from elastream.core.tick import Tick
from elastream.estimators.delay import quantiles
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import Summary, summarise
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
class ExactFigures:
    """What only a simulator knows, beside what its ticks tell: over all records, and at the very end."""

    records: int
    """That were committed."""
    backlog_left: int
    delay_p50_s: float | None
    """Delays are over all records that were committed; None if there were none."""
    delay_p95_s: float | None
    delay_p99_s: float | None
    delay_max_s: float | None

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run."""

    series: RunSeries
    summary: Summary
    """Of the series, as of any other run."""
    exact: ExactFigures
    offered_rps: tuple[float, ...]
    """What the workload brought at each moment of the series, over all queries."""
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
        noise_seed: int | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        self.name = name
        self.duration_s = duration_s
        self._curves = _curves(model, workload, duration_s, seed)
        clock = VirtualClock()
        self.platform = simulated(
            model, self._curves, clock, seed=seed if noise_seed is None else noise_seed, faults=faults
        )
        self.planner = Planner(policy, guards or {}, self.platform.provides)
        self.controller = Controller(platform=self.platform, planner=self.planner, clock=clock, tick_s=tick_s)

    def run(self, journals: Sequence[Journal] = (), progress: Callable[[float], None] | None = None) -> Outcome:
        """Run to the end. `progress` is told the time of every tick."""
        controller = self.controller
        form = checked(self.planner, self.platform, self.name, tick_s=controller.tick_s)
        series = RunSeries(tick_s=controller.tick_s, max_age_s=controller.max_age_s)
        told = [_Progress(progress)] if progress else []
        controller.journals = [series, *journals, *told]
        controller.run(until_s=self.duration_s)
        controller.close()
        self.platform.engine.advance(self.duration_s)
        return Outcome(
            series=series,
            summary=summarise(series),
            exact=_exact(self.platform),
            # Virtual time begins with the series, at 0.
            offered_rps=tuple(sum(curve.rate(at_s) for curve in self._curves.values()) for at_s in series.at),
            form=form,
        )


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


def _exact(platform: SimulatedSpark | SimulatedDataflow) -> ExactFigures:
    parts = platform.engine.delays
    p50, p95, p99 = quantiles(parts, (0.5, 0.95, 0.99)).tolist() if parts else (None, None, None)
    records, backlog = platform.engine.counted()
    return ExactFigures(
        records=records,
        backlog_left=backlog,
        delay_p50_s=p50,
        delay_p95_s=p95,
        delay_p99_s=p99,
        delay_max_s=max((part.longest_s for part in parts), default=None),
    )


class _Progress:
    """Tells the time of every tick. Implements Journal."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell

    def write(self, tick: Tick) -> None:
        self._tell(tick.at_s)

    def close(self) -> None:
        pass

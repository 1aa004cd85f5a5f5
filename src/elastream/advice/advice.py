"""What another policy, other bounds or another SLO would have cost and kept in the time of a recorded run.

A model is calibrated on the recording, and what is to be compared runs on it under the load that was recorded. The
recorded policy runs there as well: how far that is from what really happened is the error of all that is said.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from elastream.advice.estimate import ObservedError, Prediction, find_factors, find_observed_error, predict
from elastream.advice.figures import AdviceFigures, RunSpan
from elastream.advice.recorded_load import RecordedLoad, find_loads
from elastream.advice.recorded_model import calibrate
from elastream.advice.recorded_run import RecordedRun
from elastream.config import build_guards
from elastream.core.callform import parse_call
from elastream.core.errors import ElastreamError
from elastream.core.protocols import Guard, Policy
from elastream.core.slo import Slo
from elastream.core.tick import Tick
from elastream.evaluation.measures import count_ready, count_wanted
from elastream.evaluation.series import RunSeries
from elastream.policies import Schedule, policies
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel
from elastream.simulator.run import Simulation

DRAWS = 9
"""Simulated runs for each option: their median hardly moves with more."""
PARTS = 4
LEAST_PART_S = 60.0
NEAR = 0.05
"""Of an interval: batches that begin so near to one place in it begin there."""
MOST_PHASES = 200
CALMING = "hysteresis"
LIVE = "spark"

Tell = Callable[[str, float], None]
"""Is told what is simulated, and the share of all that is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceOption:
    """What might have been: a policy, and bounds and an SLO where others than the recorded ones."""

    label: str
    policy: Policy[Any]
    bounds: tuple[int, int] | None = None
    slo: Slo | None = None


def parse_option(text: str) -> AdviceOption:
    """`threshold(high=0.9)`, under the recorded bounds and SLO."""
    return AdviceOption(label=" ".join(text.split()), policy=policies.build_call(parse_call(text, what="policy")))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedOption:
    """An option, and what it comes to."""

    label: str
    bounds: tuple[int, int]
    slo: Slo | None
    prediction: Prediction
    series: RunSeries
    """Of the draw in the middle."""

    @property
    def keeps(self) -> bool | None:
        """Whether it keeps the SLO: for sure, surely not, or, as None, perhaps."""
        within = self.prediction.within
        if within is None or self.slo is None:
            return None
        return True if within.low >= self.slo.share else False if within.high < self.slo.share else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What really happened, what the simulator makes of that, and what might have been."""

    run: RecordedRun
    model: ApplicationModel
    slo: Slo | None
    """Of the recorded run."""
    bounds: tuple[int, int]
    real: AdviceFigures
    real_series: RunSeries
    error: ObservedError
    same: SimulatedOption
    """The recorded policy, simulated."""
    options: tuple[SimulatedOption, ...]
    notes: tuple[str, ...]
    """What must be known of all this, a sentence each."""
    asked: Slo | None = None
    """What the options had to keep."""
    real_within: float | None = None
    """The share of records that really kept that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDraw:
    """What one simulated run came to. Its ticks are gone: those of all draws would be as much again as the recording,
    as many times as there are draws."""

    whole: AdviceFigures
    parts: tuple[AdviceFigures, ...]
    series: RunSeries


class Adviser:
    """A recorded run with its model; BadInput where it cannot be calibrated on."""

    def __init__(
        self, run: RecordedRun, *, trusted: Collection[str] = (), draws: int = DRAWS, promise: Slo | None = None
    ) -> None:
        """`promise` is what the recorded run is compared by where it promised nothing."""
        self.run = run
        self._draws = draws
        self._recorded: AdviceOption | None = None
        self._trusted = trusted
        model = calibrate(run.as_recording(), "recorded", run.where)
        names = [query.name for query in model.queries]
        self.loads = find_loads(run, names)
        last, first = run.looks[-1].pools[0], run.looks[0].pools[0]
        self.bounds = (last.min_workers, last.max_workers)
        start = max(first.requested, first.ready, 1)
        self.slo = min(
            (query.slo for query in run.looks[-1].queries if query.slo), key=lambda slo: slo.delay_s, default=promise
        )
        pool = replace(
            model.pool,
            min_workers=max(self.bounds[0], 1),
            max_workers=max(self.bounds[1], 1),
            initial_workers=start,
            cluster_workers=run.looks[-1].cluster_workers,
        )
        self.model = replace(model, pool=pool, queries=tuple(_begin(query, run) for query in model.queries))
        self.notes = [*run.unknown, *_tell_left_out(run, names)]
        self._real = RunSpan(run.ticks, self.loads, run.header.tick_s, run.header.max_age_s)
        self._since_s, self._until_s = run.since_s - run.start_s, run.end_s - run.start_s

    def advise(self, options: Sequence[AdviceOption], tell: Tell = lambda label, done: None) -> Advice:
        """Simulate the recorded policy and then each option."""
        total = (1 + len(options)) * self._draws
        done = 0

        def step(label: str) -> None:
            nonlocal done
            tell(label, done / total)
            done += 1

        recorded = self._recorded = self.find_recorded()
        same = [self._simulate(recorded, draw, 1.0, step) for draw in range(self._draws)]
        error = self._compare(same)
        simulated = [
            self._sum_up(option, [
                self._simulate(option, draw, factor, step)
                for draw, factor in enumerate(find_factors(error, self._draws))
            ], error)
            for option in options
        ]  # fmt: skip
        asked = next((option.slo for option in options if option.slo is not None), self.slo)
        return Advice(
            run=self.run,
            model=self.model,
            slo=self.slo,
            bounds=self.bounds,
            real=self._real.measure(self._since_s, self._until_s, self.slo),
            real_series=self._real.draw(self._since_s, self._until_s),
            error=error,
            same=self._sum_up(recorded, same, error),
            options=tuple(simulated),
            notes=tuple(self.notes),
            asked=asked,
            real_within=self._real.measure(self._since_s, self._until_s, asked).within,
        )

    def find_recorded(self) -> AdviceOption:
        """The recorded policy; where it is unknown or not to be imported, the sizes that there were."""
        name = self.run.header.policy
        if name and (":" not in name or name in self._trusted):
            try:
                return AdviceOption(label=name, policy=policies.build(name, self.run.header.policy_settings))
            except ElastreamError as wrong:
                reason = str(wrong)
        else:
            reason = f"{name} is a class outside of Elastream; --trust {name} runs it" if name else ""
        if reason:
            self._note(f"the recorded policy is not run, its sizes are: {reason}")
        return AdviceOption(label="the same sizes", policy=self._replay_sizes())

    def _replay_sizes(self) -> Schedule:
        at_s: list[float] = []
        workers: list[int] = []
        # Who is there was asked for a while before; what was wanted is told by who decides.
        ahead_s = 0.0 if self.run.header.policy else self.model.pool.start_s
        for tick in self.run.ticks:
            assert tick.observation is not None
            size = count_wanted(tick) if self.run.header.policy else count_ready(tick.observation)
            if size is not None and (not workers or size != workers[-1]):
                moment = max(tick.at_s - self.run.start_s - (ahead_s if workers and size > workers[-1] else 0.0), 0.0)
                if at_s and moment <= at_s[-1]:
                    moment = at_s[-1] + 1e-3
                at_s.append(moment)
                workers.append(size)
        return Schedule(at_s=tuple(at_s), workers=tuple(workers))

    def _parts(self) -> list[tuple[float, float]]:
        """From when until when each part is that is compared by itself."""
        parts = int(max(1, min(PARTS, self.run.counted_s // LEAST_PART_S)))
        ends = [self._since_s + self.run.counted_s * place / parts for place in range(parts + 1)]
        return list(itertools.pairwise(ends))

    def _compare(self, same: Sequence[MeasuredDraw]) -> ObservedError:
        real = [self._real.measure(since_s, until_s, self.slo) for since_s, until_s in self._parts()]
        return find_observed_error(real, [one.parts for one in same])

    def _sum_up(self, option: AdviceOption, draws: Sequence[MeasuredDraw], error: ObservedError) -> SimulatedOption:
        figures = [one.whole for one in draws]
        order = sorted(range(len(draws)), key=lambda place: figures[place].executor_hours or 0.0)
        return SimulatedOption(
            label=option.label,
            bounds=option.bounds or self.bounds,
            slo=option.slo or self.slo,
            prediction=predict(figures, error, is_recorded=option is self._recorded),
            series=draws[order[len(order) // 2]].series,
        )

    def _simulate(self, option: AdviceOption, draw: int, factor: float, step: Callable[[str], None]) -> MeasuredDraw:
        step(option.label)
        model = _with_work(self.model, factor)
        if option.bounds is not None:
            model = model.resized(min_workers=option.bounds[0], max_workers=option.bounds[1])
        if (slo := option.slo or self.slo) is not None:
            model = model.promising(slo)
        simulation = Simulation(
            model,
            {name: RecordedLoad(curve) for name, curve in self.loads.items()},
            option.policy,
            name=option.label,
            guards=self._guards(option.policy),
            duration_s=self.run.end_s - self.run.start_s,
            tick_s=self.run.header.tick_s,
            noise_seed=draw,
        )
        kept = KeptTicks()
        simulation.run([kept])
        span = RunSpan(kept.ticks, self.loads, self.run.header.tick_s, self.run.header.max_age_s)
        parts = self._parts() if option is self._recorded else []
        return MeasuredDraw(
            whole=span.measure(self._since_s, self._until_s, slo),
            parts=tuple(span.measure(since_s, until_s, slo) for since_s, until_s in parts),
            series=span.draw(self._since_s, self._until_s),
        )

    def _guards(self, policy: Policy[Any]) -> dict[str, Guard[Any]]:
        """Those that were recorded; what calms is on where a live run would have it: where a policy does not wait."""
        recorded = dict(self.run.header.guards)
        foreign = [name for name in recorded if ":" in name and name not in self._trusted]
        for name in foreign:
            del recorded[name]
            self._note(f"guard {name} is not run: a class outside of Elastream; --trust {name} runs it")
        if self.run.header.platform == LIVE:
            if getattr(policy, "damped", False):
                recorded.pop(CALMING, None)
            else:
                recorded.setdefault(CALMING, {})
        return build_guards(recorded)

    def _note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def _begin(query: QueryModel, run: RecordedRun) -> QueryModel:
    """The query as it ran then: its first batch, and where between two looks its batches began.

    Where that is, a policy that looks as often as batches begin depends on.
    """
    seen = [one.finished for now in run.looks for one in now.queries if one.name == query.name and one.finished]
    first = seen[0] if seen else None
    begun_s = max(first.started_s - run.start_s, 0.0) if run.is_whole and first and first.id == 0 else 0.0
    interval_s = query.trigger.interval_s
    phase_s = find_phase([batch.started_s - run.start_s for batch in seen], interval_s) if interval_s else None
    if phase_s is not None:
        query = replace(query, is_aligned=True, phase_s=phase_s)
    return replace(query, first_trigger_s=begun_s)


def find_phase(started_s: Sequence[float], interval_s: float) -> float | None:
    """How long after a multiple of an interval most of these are; None where they are anywhere."""
    phases = sorted({round(one % interval_s, 2) for one in started_s})

    def far(phase_s: float) -> float:
        return median(abs((one - phase_s + interval_s / 2) % interval_s - interval_s / 2) for one in started_s)

    step = max(len(phases) // MOST_PHASES, 1)
    best = min(phases[::step], key=far, default=None)
    return best if best is not None and far(best) <= NEAR * interval_s else None


def _tell_left_out(run: RecordedRun, names: Collection[str]) -> list[str]:
    """Queries of which there were too few batches."""
    there = dict.fromkeys(query.name for now in run.looks for query in now.queries)
    left_out = [name for name in there if name not in names]
    return [f"left out, for too few of their batches were seen: {', '.join(left_out)}"] if left_out else []


class KeptTicks:
    """Keeps all ticks. Implements Journal."""

    def __init__(self) -> None:
        self.ticks: list[Tick] = []

    def write(self, tick: Tick) -> None:
        self.ticks.append(tick)

    def close(self) -> None:
        pass


def _with_work(model: ApplicationModel, factor: float) -> ApplicationModel:
    """As much work in each task as that many times."""
    return replace(
        model,
        queries=tuple(
            replace(query, stages=tuple(
                replace(stage, slot_s_per_record=stage.slot_s_per_record * factor, task_s=stage.task_s * factor)
                for stage in query.stages
            ))
            for query in model.queries
        ),
    )  # fmt: skip

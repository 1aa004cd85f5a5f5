"""What the lists of a plan multiply to: every experiment, with the labels that it is told apart by."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from elastream.config import settings_of
from elastream.core.errors import BadInput, ElastreamError, suggestion
from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.experiments.experiment import (
    ExecutorBounds,
    Experiment,
    LiveJob,
    NamedSettings,
    SimulatedModel,
)
from elastream.experiments.plan.blame import Problems
from elastream.experiments.plan.document import AXES, Exclusion, Live, Override, matches
from elastream.experiments.plan.reader import Plan, PlanProblems
from elastream.experiments.simulated import build_model, find_capacity
from elastream.workloads import Pattern, Trace, parse_workload
from elastream.workloads.constant import Constant
from elastream.workloads.trace import find_traces, place_traces
from elastream.workloads.tracefile import is_recording

T = TypeVar("T")

MOST_EXPERIMENTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Case:
    """One experiment of a plan."""

    experiment: Experiment
    labels: Mapping[str, str]
    """Axis -> what the value is called there; axes of which the plan says nothing have none."""

    @property
    def title(self) -> str:
        """What tells it apart, for people."""
        return ", ".join([*self.labels.values(), f"seed {self.experiment.seed}"])

    def name_among(self, cases: Sequence[Case]) -> str:
        """The same of what it differs in from others."""
        differing = [label for axis, label in self.labels.items() if len({one.labels.get(axis) for one in cases}) > 1]
        seeds = [f"seed {self.experiment.seed}"] if len({one.experiment.seed for one in cases}) > 1 else []
        return ", ".join([*differing, *seeds]) or self.title


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is not run, and why."""

    what: str
    why: str
    experiments: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """All experiments of a plan, and what was left out of it."""

    plan: Plan
    cases: tuple[Case, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """Axis -> its labels, in their order, for those on which experiments differ or are named."""
        found: dict[str, dict[str, None]] = {}
        for case in self.cases:
            for axis, label in case.labels.items():
                found.setdefault(axis, {})[label] = None
        return {axis: tuple(found[axis]) for axis in AXES if axis in found}


def multiply(plan: Plan) -> Matrix:
    """Every experiment of a plan; BadInput for what cannot be one."""
    factors, problems = _Factors(), Problems(plan)
    cases, left_out = list[Case](), dict[tuple[str, str], int]()
    for label, draw in plan.drawn.items() or [(None, None)]:
        part = plan if draw is None else replace(plan, document=draw.document)
        found, out = _multiply_draw(part, label, factors, problems)
        cases += found
        for one in out:
            left_out[one.what, one.why] = left_out.get((one.what, one.why), 0) + one.experiments
    problems.throw()
    if not cases:
        raise BadInput(f"{plan.place('exclude')}: exclude: nothing is left; every experiment is excluded")
    return Matrix(plan, tuple(cases), tuple(LeftOut(what, why, number) for (what, why), number in left_out.items()))


def _multiply_draw(
    plan: Plan, draw: str | None, factors: _Factors, problems: Problems
) -> tuple[list[Case], list[LeftOut]]:
    """The experiments of one draw, and what is left out of them; without draws those of the plan."""
    loads, absent = _find_loads(plan)
    axes: dict[str, list[tuple[str | None, object]]] = {"draw": [(draw, None)], **_find_axes(plan, loads)}
    _check_labels(plan, {axis: [label for label, _ in values] for axis, values in axes.items()}, absent)
    total = len(plan.document.how.all_seeds) * max(1, len(plan.drawn))
    for values in axes.values():
        total *= len(values)
    if total > MOST_EXPERIMENTS:
        raise BadInput(f"{plan.path}: its lists multiply to {total:,} experiments; {MOST_EXPERIMENTS:,} are the most")
    cases, excluded = list[Case](), dict[int, int]()
    for chosen in product(*axes.values()):
        labels = {axis: label for axis, (label, _) in zip(axes, chosen, strict=True) if label is not None}
        given = {axis: value for axis, (_, value) in zip(axes, chosen, strict=True)}
        out = next((number for number, one in enumerate(plan.document.exclude) if matches(one.where, labels)), None)
        if out is not None:
            excluded[out] = excluded.get(out, 0) + len(plan.document.how.all_seeds)
            continue
        for seed in plan.document.how.all_seeds:
            try:
                cases.append(Case(_build(plan, given, labels, seed, factors), labels))
            except ElastreamError as wrong:
                problems.add(labels, str(wrong))
                break
        else:
            problems.add(labels, None)
    left_out = [
        LeftOut(_spell(one.where), one.why, excluded.get(number, 0)) for number, one in enumerate(plan.document.exclude)
    ]
    return cases, [*absent, *left_out]


def _find_axes(plan: Plan, loads: Mapping[str, Pattern]) -> dict[str, list[tuple[str | None, object]]]:
    """Axis -> labels and values; one that the plan does not mention has a single value without a label."""
    what, how = plan.document.what, plan.document.how
    named: dict[str, Mapping[str, object]] = {
        "model": {label: _place_model(plan, label, text) for label, text in what.model.items()},
        "job": {label: _parse_job(plan, label, text) for label, text in what.job.items()},
        "workload": loads,
        "slo": what.slo,
        "faults": what.faults,
        **{axis: getattr(how, axis) for axis in AXES if hasattr(how, axis)},
    }
    unnamed: dict[str, object] = {"faults": (), "guards": ()}
    return {axis: list(named[axis].items()) or [(None, unnamed.get(axis))] for axis in AXES if axis != "draw"}


def _find_loads(plan: Plan) -> tuple[dict[str, Pattern], list[LeftOut]]:
    """Label -> workload, with the paths of recordings as seen from here; and those that are not there."""
    what, found, absent = plan.document.what, dict[str, Pattern](), list[LeftOut]()
    for label, text in what.workload.items():
        load = place_traces(parse_workload(text), plan.folder("what", "workload", label))
        lacking = next((trace.file for trace in find_traces(load) if not is_recording(trace.file)), None)
        if lacking is None:
            found[label] = load
        else:
            absent.append(LeftOut(label, f"there is no recording {lacking}", 0))
    for number, pattern in enumerate(what.traces):
        folder = plan.folder("what", "traces", number)
        # A pattern may go up (`..`), which a path's own glob does not.
        files = sorted(glob.glob(str(folder / pattern)))  # noqa: PTH207
        there = [Path(file) for file in files if is_recording(file)]
        if not there:
            absent.append(LeftOut(pattern, f"there is no recording {folder / pattern}", 0))
        for file in there:
            if file.stem in found:
                raise BadInput(f"{plan.place('what', 'traces', number)}: what.traces: two loads are called {file.stem}")
            found[file.stem] = Trace(file=str(file))
    if absent and what.absent == "fail":
        raise PlanProblems([
            f"{plan.place('what')}: what: {one.what}: {one.why}; `absent: skip` leaves such loads out" for one in absent
        ])  # fmt: skip
    if not found:
        raise BadInput(f"{plan.place('what')}: what: none of its loads is there: {absent[0].why}")
    return found, absent


def _check_labels(plan: Plan, axes: Mapping[str, Sequence[str | None]], absent: Sequence[LeftOut]) -> None:
    """Whoever names a label that no axis has would exclude or change nothing, and not notice."""
    gone = {one.what for one in absent}
    parts: dict[str, Sequence[Exclusion | Override]] = {
        "exclude": plan.document.exclude, "cases": plan.document.cases
    }  # fmt: skip
    named: list[tuple[str, tuple[str | int, ...], str, list[str]]] = [
        (part, (part, number, "where", axis), axis, labels)
        for part, rules in parts.items()
        for number, rule in enumerate(rules)
        for axis, labels in rule.where.items()
    ]
    named += [("calibrate", ("calibrate", axis), axis, labels) for axis, labels in plan.document.calibrate.items()]
    for part, path, axis, labels in named:
        place = plan.place(*path)
        if axis not in AXES:
            raise BadInput(f"{place}: {part}: there is no axis {axis!r}{suggestion(axis, AXES)}")
        known = [label for label in axes[axis] if label is not None]
        known += [label.partition("(")[0] for label in known]
        wrong = next((label for label in labels if label not in known and label not in gone), None)
        if wrong is not None:
            raise BadInput(f"{place}: {part}: {axis} has no {wrong!r}{suggestion(wrong, set(known))}")


class _Factors:
    """What loads are multiplied by so that their peak fits, each found once."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], float] = {}

    def scale(self, load: Pattern, experiment: Experiment, share: float, seed: int) -> Pattern:
        """The load, with its highest rate at that share of what the largest size can do."""
        subject = experiment.subject
        if not isinstance(subject, SimulatedModel):
            raise BadInput("what.peak: what a job can do live is not known before it ran; name rates in the workload")
        key = (load, subject, experiment.executors, experiment.duration_s, share, seed)
        if key not in self._found:
            capacity_rps = find_capacity(build_model(subject, experiment.executors))
            highest = load.series(duration_s=experiment.duration_s, seed=seed).max_rps
            if not 0 < capacity_rps < float("inf") or not highest > 0:
                raise BadInput("what.peak: there is nothing to scale: no load, or records that cost nothing")
            self._found[key] = float(f"{share * capacity_rps / highest:.6g}")
        return load * Constant(rps=self._found[key])


def _build(
    plan: Plan, values: Mapping[str, object], labels: Mapping[str, str], seed: int, factors: _Factors
) -> Experiment:
    of_plan = {"peak": plan.document.what.peak, "capacity": plan.document.how.live.capacity}
    given = {**values, **of_plan, **_overrides(plan.document.cases, labels)}
    policy: NamedSettings = given["policy"]
    slo: Slo | None = given["slo"]
    bounds: tuple[int, int] | None = given["executors"]
    load: Pattern = given["workload"]
    experiment = Experiment(
        subject=_subject(plan.document.how.live, given),
        workload=str(load),
        duration_s=given["duration"],
        policy=policy,
        guards=given["guards"],
        executors=ExecutorBounds(
            min=bounds[0] if bounds else None, max=bounds[1] if bounds else None, start=given["start"]
        ),
        slo=slo,
        tick_s=given["tick"],
        seed=seed,
    )
    _check_platform(plan, experiment)
    if given["peak"] is None:
        return experiment
    # Of all repetitions the same: they differ in their noise and not in their size.
    scaled = factors.scale(load, experiment, given["peak"], plan.document.how.all_seeds[0])
    return replace(experiment, workload=str(scaled))


def _overrides(rules: Sequence[Override], labels: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, object] = {}
    for rule in rules:
        if matches(rule.where, labels):
            found |= {key: getattr(rule.set, key) for key in rule.set.model_fields_set}
    return found


def _subject(live: Live, given: Mapping[str, Any]) -> SimulatedModel | LiveJob:
    trigger: Trigger | None = given["trigger"]
    if given["model"] is not None:
        return SimulatedModel(model=given["model"], trigger=trigger, slots=given["slots"], faults=given["faults"])
    found = LiveJob(
        job=given["job"],
        capacity_rps=given["capacity"],
        time_factor=live.time_scale,
        events=tuple((name, str(value)) for name, value in live.options.items()),
        sink=live.sink,
        master=live.master,
        warm_up=not live.cold,
    )
    return found if trigger is None else replace(found, trigger_s=trigger.interval_s)


def _check_platform(plan: Plan, experiment: Experiment) -> None:
    wanted = "simulator" if plan.document.how.platform == "simulator" else "live"
    if experiment.platform != wanted:
        subject = "a model runs on the simulator" if wanted == "live" else "a job runs on spark"
        raise BadInput(f"how.platform: found {plan.document.how.platform}; {subject}")


def _place_model(plan: Plan, label: str, text: str) -> str:
    """A model's name, or its file as seen from here."""
    file = plan.folder("what", "model", label) / text
    found = str(file) if text.endswith((".yaml", ".yml")) and file.is_file() else text
    try:
        build_model(SimulatedModel(model=found))
    except BadInput as wrong:
        raise PlanProblems([f"{plan.place('what', 'model', label)}: what.model: {wrong}"]) from None
    return found


def _parse_job(plan: Plan, label: str, text: str) -> NamedSettings:
    # Jobs need Spark's Python, which the simulator does without.
    from elastream.jobs.catalogue import jobs, parse_job

    try:
        job = parse_job(text)
    except BadInput as wrong:
        raise PlanProblems([f"{plan.place('what', 'job', label)}: what.job: {wrong}"]) from None
    return NamedSettings.of(jobs.name_of(job), settings_of(job), written=text)


def _spell(where: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{axis} {' or '.join(names)}" for axis, names in where.items())

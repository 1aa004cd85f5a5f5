"""What a fidelity plan comes to: the run of each job that is calibrated on, and the runs that are judged by it.

A fidelity plan is a plan for executors that says which of its experiments calibrates: one for each job, so that what
is limited and what is real work have a model of their own. All others are judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.core.observation import Trigger
from elastream.experiments.experiment import Experiment, LiveJob, SimulatedModel
from elastream.experiments.plan.document import matches
from elastream.experiments.plan.matrix import Case, Matrix


@dataclass(frozen=True, slots=True)
class FidelityGroup:
    """A run to calibrate on, and what is judged by its model."""

    job: str
    """As the plan calls it."""
    known: Case
    judged: tuple[Case, ...]

    @property
    def live(self) -> LiveJob:
        """The job."""
        subject = self.known.experiment.subject
        assert isinstance(subject, LiveJob)
        return subject

    @property
    def slots(self) -> str:
        """What slots do, in words."""
        limit = self.live.capacity_rps
        return "real work" if limit is None else f"slots limited to {limit:,.0f} rows/s"


def find_groups(matrix: Matrix) -> tuple[FidelityGroup, ...]:
    """The groups of a plan; BadInput where it is no fidelity plan, with the line that says so."""
    plan = matrix.plan
    where = plan.document.calibrate
    if plan.document.how.platform != "spark":
        raise BadInput(f"{plan.place('how')}: how: platform: a fidelity plan runs on spark; the simulator is compared")
    if not where:
        raise BadInput(
            f"{plan.path}: calibrate: it is missing; say which run of each job calibrates, such as "
            "calibrate: {workload: wave, policy: lag-proportional}"
        )
    place = plan.place("calibrate")
    groups = []
    for job in matrix.axes["job"]:
        cases = [case for case in matrix.cases if case.labels["job"] == job]
        known = [case for case in cases if matches(where, case.labels)]
        if not known:
            raise BadInput(f"{place}: calibrate: it names no run of job {job}; it needs one to calibrate on")
        if len({tuple(sorted(case.labels.items())) for case in known}) > 1:
            told = "; ".join(case.title for case in known[:2])
            raise BadInput(f"{place}: calibrate: it names {len(known)} runs of job {job} ({told}); name one")
        judged = tuple(case for case in cases if case is not known[0])
        if not judged:
            raise BadInput(f"{place}: calibrate: job {job} has no other run, so that nothing is judged; add one")
        groups.append(FidelityGroup(job, known[0], judged))
        _check_alike(groups[-1], str(place))
    return tuple(groups)


def _check_alike(group: FidelityGroup, place: str) -> None:
    """What is judged by a model does the same work as what that was measured on."""
    for case in group.judged:
        subject = case.experiment.subject
        assert isinstance(subject, LiveJob)
        if subject.capacity_rps != group.live.capacity_rps:
            raise BadInput(f"{place}: calibrate: {case.title}: its slots are limited otherwise than those it goes by")
        if subject.time_factor != 1:
            raise BadInput(f"{place}: how.live: time-scale: found {subject.time_factor:g}; a fidelity plan needs 1")


def find_twin(case: Case, model: Path, draw: int) -> Case:
    """The same experiment on the simulator, under the same load; draws differ in what is random beside it."""
    experiment = case.experiment
    subject = experiment.subject
    assert isinstance(subject, LiveJob)
    trigger = Trigger(interval_s=subject.trigger_s)
    simulated = SimulatedModel(model=str(model), trigger=trigger, noise_seed=draw)
    bounds = replace(experiment.executors, start=experiment.executors.start or experiment.executors.min)
    return Case(replace(experiment, subject=simulated, executors=bounds), case.labels)


def find_partitions(experiment: Experiment) -> int:
    """Into how many partitions a job is cut: as many as the largest size has slots, unless its options say more."""
    subject = experiment.subject
    assert isinstance(subject, LiveJob)
    return int(dict(subject.events).get("partitions", experiment.executors.max or 1))


def spell_groups(groups: Sequence[FidelityGroup]) -> str:
    """What must stand before every figure: which slots were limited."""
    return "; ".join(f"{group.job}: {group.slots}, {len(group.judged)} runs judged" for group in groups)

"""What is known of a plan before anything runs: how much there is, what policies lack, which promises cannot hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from elastream.core.errors import ElastreamError
from elastream.core.needs import find_caution, fit
from elastream.core.quantity import spell_seconds
from elastream.estimators.delay import quantiles
from elastream.experiments.experiment import Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.plan.blame import Problems
from elastream.experiments.plan.matrix import Case, Matrix
from elastream.experiments.simulated import set_up_simulation

Tell = Callable[[int, int], None]
"""How many of how many are done."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """A policy that cannot run on some of the subjects."""

    policy: str
    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """A promise that not even the largest size keeps."""

    subject: str
    workload: str
    promised: str
    least_s: float | None
    """The smallest bound that it keeps, in whole seconds; None: it falls behind, and no bound can be named."""

    def sentence(self) -> str:
        """One line for a person."""
        if self.least_s is None:
            best = "it falls behind, so that no bound can be named"
        else:
            best = f"the smallest bound that it keeps is {spell_seconds(self.least_s)}"
        return f"{self.subject}, {self.workload}: the largest size does not keep {self.promised}; {best}"


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """What is known of a plan before anything runs."""

    matrix: Matrix
    unfit: tuple[Unfit, ...]
    forms: tuple[str, ...]
    """What stands in where a policy lacks a signal, or what it is to be known for there: a sentence for each."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """The experiments that can run."""
        cannot = {(one.policy, one.subject) for one in self.unfit}
        return tuple(case for case in self.matrix.cases if (_policy(case), _subject(case)) not in cannot)

    @property
    def duration_s(self) -> float:
        """How long they last one after the other, in their own time."""
        return sum(case.experiment.duration_s for case in self.cases)


def check_plan(matrix: Matrix) -> PlanCheck:
    """Build every experiment, once for each that differs in more than its seed; nothing runs."""
    problems, unfit, forms = Problems(matrix.plan), dict[tuple[str, str], Unfit](), dict[str, None]()
    for case in _differing(matrix.cases):
        try:
            found = _check(case)
        except ElastreamError as wrong:
            problems.add(case.labels, str(wrong))
            continue
        problems.add(case.labels, None)
        if isinstance(found, Unfit):
            unfit[found.policy, found.subject] = found
        else:
            forms[found] = None
    problems.throw()
    return PlanCheck(matrix, tuple(unfit.values()), tuple(form for form in forms if form))


def find_impossible(cases: Sequence[Case], tell: Tell | None = None) -> list[Impossible]:
    """Promises that no policy can keep: a run of the largest size for each load of each model."""
    differing: dict[Experiment, Case] = {}
    for case in cases:
        if case.experiment.slo is not None and isinstance(case.experiment.subject, SimulatedModel):
            differing.setdefault(_largest(case.experiment), case)
    found = []
    for number, (experiment, case) in enumerate(differing.items()):
        found += _judge_largest(experiment, case)
        if tell is not None:
            tell(number + 1, len(differing))
    return found


def _check(case: Case) -> Unfit | str:
    """Why its policy cannot run there, or in which form it does."""
    experiment = case.experiment
    if not isinstance(experiment.subject, SimulatedModel):
        # Spark is not needed by whoever simulates.
        from elastream.experiments.live_setup import set_up_live

        setup = set_up_live(experiment)
        policy, (platform, provides) = setup.policy, setup.provided()
    else:
        simulated = set_up_simulation(experiment)
        policy, (platform, provides) = simulated.policy, simulated.provided()
        if fit(policy.needs, provides).runs:
            simulated.check()
    found = fit(policy.needs, provides)
    if not found.runs:
        return Unfit(_policy(case), _subject(case), f"{found.sentence()} on {platform}")
    told = filter(None, (found.sentence() if found.standing_in else None, find_caution(policy, provides)))
    return "".join(f"{_policy(case)} on {platform}: {sentence}" for sentence in ["; ".join(told)] if sentence)


def _differing(cases: Iterable[Case]) -> list[Case]:
    found: dict[Experiment, Case] = {}
    for case in cases:
        found.setdefault(replace(case.experiment, seed=0), case)
    return list(found.values())


def _largest(experiment: Experiment) -> Experiment:
    """The same with as many workers as there may be, all the time, and nothing that goes wrong."""
    subject = experiment.subject
    assert isinstance(subject, SimulatedModel)
    setup = set_up_simulation(experiment)
    most = max(pool.max_workers for pool in setup.model.pools.values())
    return replace(
        experiment,
        subject=replace(subject, faults=()),
        policy=parse_policy(f"fixed(workers={most})"),
        executors=replace(experiment.executors, start=most),
        guards=(),
        seed=0,
    )


def _judge_largest(experiment: Experiment, case: Case) -> list[Impossible]:
    slo = experiment.slo
    assert slo is not None
    simulation = set_up_simulation(experiment).simulation()
    if simulation.run().summary.slo_kept is not False:
        return []
    parts = simulation.platform.engine.delays
    least_s = float(math.ceil(quantiles(parts, (slo.share,))[0])) if parts else None
    # What was never committed has no delay: of a load that is too much, only the first records would be counted.
    if least_s is not None and not _keeps(replace(experiment, slo=replace(slo, delay_s=least_s))):
        least_s = None
    return [Impossible(_subject(case), case.labels.get("workload", ""), slo.sentence(), least_s)]


def _keeps(experiment: Experiment) -> bool:
    return set_up_simulation(experiment).simulation().run().summary.slo_kept is True


def _policy(case: Case) -> str:
    return case.labels["policy"]


def _subject(case: Case) -> str:
    return case.labels.get("model") or case.labels["job"]

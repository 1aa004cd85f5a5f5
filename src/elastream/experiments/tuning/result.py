"""What a search has found: for each policy the best settings, what they cost elsewhere, and the whole front."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass

from elastream.experiments.plan.reader import Plan
from elastream.experiments.statistics import Estimate, estimate_difference
from elastream.experiments.tuning.folds import Fold
from elastream.experiments.tuning.score import (
    RunKey,
    Score,
    TrialOutcome,
    find_best,
    find_costs,
    find_trial_front,
    score,
)
from elastream.experiments.tuning.search import require_search


@dataclass(frozen=True, slots=True)
class TuningTrial:
    """A policy with settings, and what came of every load that it was run on."""

    text: str
    outcomes: Mapping[RunKey, TrialOutcome]

    def score(self, loads: Sequence[str]) -> Score | None:
        """Over these loads; None where one of them was not run."""
        return score(self.outcomes, loads) if set(loads) <= {one.load for one in self.outcomes.values()} else None


@dataclass(frozen=True, slots=True)
class PolicyTuning:
    """A policy: its settings in the plan, and what was tried on each part of the loads."""

    label: str
    own: TuningTrial
    tried: Sequence[Sequence[TuningTrial]]


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """What was chosen on some loads, and how it does on others."""

    fold: Fold
    chosen: TuningTrial
    front: tuple[TuningTrial, ...]
    tuned: Score | None
    held_out: Score | None
    own_tuned: Score | None
    own_held_out: Score | None


@dataclass(frozen=True, slots=True)
class TunedPolicy:
    """The end of the search for one policy."""

    label: str
    own: TuningTrial
    chosen: TuningTrial
    choices: tuple[FoldChoice, ...]
    trials: tuple[TuningTrial, ...]
    """All that were tried, in the order in which they were."""
    basis: tuple[str, ...]
    """Loads over which trials are compared with each other: of several parts all, of one those that are tuned on."""
    front: tuple[TuningTrial, ...]
    """Of the trials that were run on all of these loads."""

    @property
    def is_searched(self) -> bool:
        """Whether anything was looked for; else the policy stands as it is, to compare with."""
        return len(self.trials) > 1

    @property
    def held_out(self) -> list[Score]:
        """Scores on loads that were not tuned on, part by part."""
        return [one.held_out for one in self.choices if one.held_out is not None]

    @property
    def dearer_by(self) -> Estimate | None:
        """What the plan's own settings cost more, run by run of all that was held out, in worker-hours."""
        own, chosen = dict[RunKey, float](), dict[RunKey, float]()
        for choice in self.choices:
            own |= find_costs(self.own.outcomes, choice.fold.held_out)
            chosen |= find_costs(choice.chosen.outcomes, choice.fold.held_out)
        return estimate_difference(own, chosen)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The whole search."""

    plan: Plan
    folds: tuple[Fold, ...]
    policies: tuple[TunedPolicy, ...]
    """The best on loads that it was not tuned on first."""


def conclude(plan: Plan, folds: Sequence[Fold], policies: Sequence[PolicyTuning]) -> Tuning:
    """Choose for every policy, from what was run."""
    found = sorted((_conclude(folds, one) for one in policies), key=_order)
    return Tuning(plan, tuple(folds), tuple(found))


def _conclude(folds: Sequence[Fold], policy: PolicyTuning) -> TunedPolicy:
    # A plan may leave a policy out of some loads.
    known = {one.load for one in policy.own.outcomes.values()}
    folds = [Fold(_among(fold.tuned, known), _among(fold.held_out, known)) for fold in folds]
    trials = {trial.text: trial for part in policy.tried for trial in part}
    choices = tuple(_choose(fold, policy.own, part) for fold, part in zip(folds, policy.tried, strict=True))
    basis = folds[0].tuned if len(folds) == 1 else tuple(load for fold in folds for load in fold.held_out)
    # What was held out once and for all has no say.
    candidates = [choices[0].chosen] if len(folds) == 1 else list(trials.values())
    return TunedPolicy(
        label=policy.label,
        own=policy.own,
        chosen=find_best(candidates, lambda one: one.score(basis)),
        choices=choices,
        trials=tuple(trials.values()),
        basis=basis,
        front=tuple(find_trial_front(list(trials.values()), lambda one: one.score(basis))),
    )


def _choose(fold: Fold, own: TuningTrial, tried: Sequence[TuningTrial]) -> FoldChoice:
    best = find_best(tried, lambda one: one.score(fold.tuned))
    front = find_trial_front(tried, lambda one: one.score(fold.tuned))
    return FoldChoice(
        fold=fold,
        chosen=best,
        front=tuple(front if best in front else [*front, best]),
        tuned=best.score(fold.tuned),
        held_out=best.score(fold.held_out) if fold.held_out else None,
        own_tuned=own.score(fold.tuned),
        own_held_out=own.score(fold.held_out) if fold.held_out else None,
    )


def _among(loads: Sequence[str], known: Container[str]) -> tuple[str, ...]:
    return tuple(load for load in loads if load in known)


def _order(one: TunedPolicy) -> tuple[float, float, float]:
    found = one.held_out or [score for choice in one.choices if (score := choice.tuned) is not None]
    if not found:
        return (float("inf"),) * 3
    ranks = [one.rank for one in found]
    broken, points, cost = (sum(parts) / len(ranks) for parts in zip(*ranks, strict=True))
    return broken, points, cost


def as_json(tuning: Tuning) -> dict[str, object]:
    """Everything, for scripts."""
    search = require_search(tuning.plan)
    return {
        "plan": tuning.plan.name,
        "by": search.by,
        "trials": search.trials,
        "seed": search.seed,
        "folds": [asdict(one) for one in tuning.folds],
        "policies": [_policy_as_json(one) for one in tuning.policies],
    }


def _policy_as_json(one: TunedPolicy) -> dict[str, object]:
    return {
        "policy": one.label,
        "own": one.own.text,
        "chosen": one.chosen.text,
        "folds": [
            {
                "chosen": choice.chosen.text, "tuned": _plain(choice.tuned), "held_out": _plain(choice.held_out),
                "own_tuned": _plain(choice.own_tuned), "own_held_out": _plain(choice.own_held_out),
                "front": [_trial_as_json(trial, choice.fold) for trial in choice.front],
            }
            for choice in one.choices
        ],
        "dearer_by": None if one.dearer_by is None else asdict(one.dearer_by),
        "front": [trial.text for trial in one.front],
        "trials": [{"policy": trial.text, "score": _plain(trial.score(one.basis))} for trial in one.trials],
    }  # fmt: skip


def _trial_as_json(trial: TuningTrial, fold: Fold) -> dict[str, object]:
    return {
        "policy": trial.text,
        "tuned": _plain(trial.score(fold.tuned)),
        "held_out": _plain(trial.score(fold.held_out)) if fold.held_out else None,
    }


def _plain(found: Score | None) -> dict[str, object] | None:
    return None if found is None else asdict(found)

"""The search itself: settings are asked for, run as ordinary experiments, and scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from elastream.core.errors import BadInput
from elastream.experiments.experiment import Experiment, NamedSettings, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.plan.matrix import Case
from elastream.experiments.plan.reader import Plan
from elastream.experiments.runner.execution import Done, find_cost
from elastream.experiments.runner.runner import CaseStatus, RunnerBackend, find_status, run_cases
from elastream.experiments.simulated import set_up_simulation
from elastream.experiments.store.folder import RunStore
from elastream.experiments.tuning.folds import Fold, deal
from elastream.experiments.tuning.result import PolicyTuning, Tuning, TuningTrial, conclude
from elastream.experiments.tuning.sampler import Sampler, make_sampler
from elastream.experiments.tuning.score import RunKey, TrialOutcome, score
from elastream.experiments.tuning.search import require_search
from elastream.experiments.tuning.space import SearchedSetting, Values, read_searched, write_policy

PATIENCE = 20
"""Times as many settings are picked as may be tried, before what can be picked is held to be exhausted."""


class TuningView(Protocol):
    """Who is told how far the search is."""

    def begin(self, to_run: Sequence[CaseStatus], later: float) -> None:
        """So much is run now, and what costs about so much may follow."""

    def done(self, done: Done) -> None:
        """One more run is over."""


@dataclass(slots=True)
class Quest:
    """The search for settings of one policy on one part of the loads."""

    label: str
    base: NamedSettings
    sampler: Sampler
    cases: Sequence[Case]
    """Of the loads that are tuned on."""
    left: int
    """Settings that may still be tried."""
    tried: dict[str, Values] = field(default_factory=dict)
    patience: int = 0

    @property
    def cost(self) -> float:
        """Of trying everything that may still be tried."""
        return self.left * sum(find_cost(case.experiment) for case in self.cases)

    def ask(self) -> dict[str, Values]:
        """Texts of policies that are to be tried next, side by side; none: it is over."""
        found: dict[str, Values] = {}
        while self.left and not found and self.patience > 0:
            asked = self.sampler.ask(self.left)
            if not asked:
                self.left = 0
            for values in asked:
                self.patience -= 1
                text = write_policy(self.base, values)
                if text in self.tried or text in found or not _can_be(text):
                    self.sampler.tell(values, None)
                else:
                    found[text] = values
        self.left -= len(found)
        self.tried |= found
        return found


class Tuner:
    """Runs a search; every run lies in the store, under the name that it would have in any other plan."""

    def __init__(
        self, plan: Plan, cases: Sequence[Case], store: RunStore, backend: RunnerBackend, view: TuningView
    ) -> None:
        self._plan, self._cases, self._store, self._backend = plan, cases, store, backend
        self._view = view
        self._outcomes: dict[str, dict[RunKey, TrialOutcome]] = {}
        self._promises: dict[Experiment, float | None] = {}

    def run(self) -> Tuning:
        """Search, score on what was held out, and choose."""
        searched, folds = read_searched(self._plan), find_folds(self._plan, self._cases)
        bases = self._plan.document.how.policy
        by_label = {label: [case for case in self._cases if case.labels["policy"] == label] for label in bases}
        own = {label: _own(base) for label, base in bases.items() if by_label[label]}
        quests = {
            (label, number): self._quest(label, settings, by_label[label], fold)
            for label, settings in searched.items()
            if label in own
            for number, fold in enumerate(folds)
        }
        rounds: list[tuple[str, Sequence[Case]]] = [(own[label], by_label[label]) for label in own]
        while True:
            asked = {key: quest.ask() for key, quest in quests.items()}
            rounds += [(text, quests[key].cases) for key, texts in asked.items() for text in texts]
            if not rounds:
                break
            self._execute(rounds, sum(quest.cost for quest in quests.values()))
            for (label, number), texts in asked.items():
                for text, values in texts.items():
                    found = score(self._outcomes[text], folds[number].tuned)
                    quests[label, number].sampler.tell(values, None if found is None else found.badness)
            rounds = []
        tried = {key: [own[key[0]], *quest.tried] for key, quest in quests.items()}
        return self._conclude(folds, own, by_label, tried)

    def _quest(self, label: str, settings: list[SearchedSetting], cases: Sequence[Case], fold: Fold) -> Quest:
        search = require_search(self._plan)
        most, base = search.trials - 1, self._plan.document.how.policy[label]
        sampler = make_sampler(search.by, settings, most=most, seed=search.seed)
        tuned = [case for case in cases if case.labels["workload"] in fold.tuned]
        return Quest(label, base, sampler, tuned, most, patience=PATIENCE * most)

    def _conclude(
        self, folds: Sequence[Fold], own: Mapping[str, str], by_label: Mapping[str, Sequence[Case]],
        tried: Mapping[tuple[str, int], Sequence[str]],
    ) -> Tuning:  # fmt: skip
        """Score what stands on a front on the loads that it was not tuned on, too."""
        policies = []
        for label, text in own.items():
            parts = [tried.get((label, number), [text]) for number in range(len(folds))]
            policies.append(PolicyTuning(label, self._trial(text), [list(map(self._trial, part)) for part in parts]))
        found = conclude(self._plan, folds, policies)
        lacking = [
            (trial.text, [case for case in by_label[policy.label] if case.labels["workload"] in fold.held_out])
            for policy in found.policies
            for fold, choice in zip(folds, policy.choices, strict=True)
            for trial in choice.front
        ]
        self._execute(lacking, 0.0)
        again = [
            PolicyTuning(one.label, self._trial(one.own.text),
                         [[self._trial(trial.text) for trial in part] for part in one.tried])
            for one in policies
        ]  # fmt: skip
        return conclude(self._plan, folds, again)

    def _execute(self, wanted: Iterable[tuple[str, Sequence[Case]]], later: float) -> None:
        """Run what was not run, and take in what came of all of it."""
        cases: dict[tuple[str, RunKey], Case] = {}
        for text, parts in wanted:
            policy = parse_policy(text)
            for case in parts:
                changed = replace(case.experiment, policy=replace(policy, written=text))
                cases[text, find_key(case)] = Case(changed, {**case.labels, "policy": text})
        statuses = find_status(self._store, list(cases.values()))
        self._view.begin([one for one in statuses if one.is_to_run], later)
        run_cases(self._store, statuses, self._backend, plan=self._plan.name, tell=self._view.done)
        for (text, key), status in zip(cases, statuses, strict=True):
            run = status.run if not status.is_to_run else self._store.find(status.identity)
            found = TrialOutcome.of(status.case.labels["workload"], self._promise(status.case.experiment), run)
            self._outcomes.setdefault(text, {})[key] = found

    def _trial(self, text: str) -> TuningTrial:
        return TuningTrial(text, self._outcomes[text])

    def _promise(self, experiment: Experiment) -> float | None:
        """The share of records that is promised, by the plan or by the model."""
        if experiment.slo is not None or not isinstance(experiment.subject, SimulatedModel):
            return None if experiment.slo is None else experiment.slo.share
        plain = replace(experiment, policy=NamedSettings(name="fixed"), workload="0")
        if plain not in self._promises:
            slo = set_up_simulation(experiment).model.slo
            self._promises[plain] = None if slo is None else slo.share
        return self._promises[plain]


def find_folds(plan: Plan, cases: Sequence[Case]) -> list[Fold]:
    """How the loads of a plan are dealt."""
    return deal(plan, {case.labels["workload"]: case.experiment.workload for case in cases})


def find_key(case: Case) -> RunKey:
    """What a run is compared by with those of other settings."""
    return tuple((axis, label) for axis, label in case.labels.items() if axis != "policy"), case.experiment.seed


def _own(base: NamedSettings) -> str:
    return write_policy(base, {})


def _can_be(text: str) -> bool:
    """Settings of a policy may exclude each other."""
    try:
        parse_policy(text)
    except BadInput:
        return False
    return True

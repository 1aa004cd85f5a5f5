"""Policies side by side: the numbers of each on every workload, who did best, and how they rank over all of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from elastream.core.errors import BadInput, suggestion
from elastream.experiments.plan.document import AXES
from elastream.experiments.statistics import Estimate, MeanRanks, estimate, estimate_difference, rank_over
from elastream.experiments.store.folder import StoredRun
from elastream.experiments.store.tables import NUMBERS

COST, KEPT = "worker_hours_paid", "records_within_slo"
SHARES = (
    KEPT, "time_within_slo", "mean_cpu", "idle_share", "time_in_change", "timeshare_over", "timeshare_under",
    "forecast_coverage",
)  # fmt: skip
"""Numbers that are at most 1."""
MORE_IS_BETTER = (KEPT, "time_within_slo", "throughput_ratio", "mean_committed_rps", "slo_kept", "forecast_coverage")
BELOW_ZERO = ("size_error", "jitter_per_h")
"""Numbers that may be less than 0."""

Situation = tuple[tuple[str, str], ...]
"""Everything that a plan says of an experiment but the policy: axis and label."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy in one situation: its repetitions."""

    policy: str
    by_seed: Mapping[int, Mapping[str, float]]
    """Seed -> numbers; those that are unknown are left out."""

    @property
    def keeps_slo(self) -> bool | None:
        """Whether all repetitions kept what was promised; None if nothing was."""
        kept = [numbers["slo_kept"] for numbers in self.by_seed.values() if "slo_kept" in numbers]
        return all(kept) if kept else None

    def values(self, name: str) -> dict[int, float]:
        """A number by seed, of those repetitions that know it."""
        return {seed: numbers[name] for seed, numbers in self.by_seed.items() if name in numbers}

    def estimate(self, name: str) -> Estimate | None:
        """What its repetitions say of a number."""
        values = list(self.values(name).values())
        least = -math.inf if name in BELOW_ZERO else 0.0
        return estimate(values, least=least, most=1.0 if name in SHARES else math.inf) if values else None


@dataclass(frozen=True, slots=True)
class Contest:
    """All policies in one situation, the best first."""

    situation: Situation
    contenders: tuple[Contender, ...]
    winner: str | None
    sentence: str
    """Who did best, or why nobody can be said to have."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the runs of a folder say of its policies."""

    contests: tuple[Contest, ...]
    ranks: MeanRanks[str] | None
    """Over all situations; None with one."""
    left_out: Mapping[str, int]
    """Why runs do not count, and how many."""
    number: str | None


def compare(runs: Iterable[tuple[StoredRun, str]], number: str | None = None) -> Comparison:
    """Compare runs, each with its state, by one number; without, by cost among those that keep their SLO."""
    if number is not None and number not in NUMBERS:
        raise BadInput(f"--by: there is no number {number!r}{suggestion(number, NUMBERS)}")
    left_out: dict[str, int] = defaultdict(int)
    found: dict[Situation, dict[str, dict[int, Mapping[str, float]]]] = defaultdict(lambda: defaultdict(dict))
    for run, state in runs:
        if state != "finished":
            left_out["of older code" if state == "stale" else state] += 1
            continue
        labels = run.document["labels"]
        situation = tuple((axis, labels[axis]) for axis in AXES if axis in labels and axis != "policy")
        known = {name: float(run.numbers[name]) for name in NUMBERS if run.numbers.get(name) is not None}
        found[situation][labels["policy"]][run.document["what"]["seed"]] = known
    contests = [_contest(situation, policies, number) for situation, policies in sorted(found.items())]
    tables = [{one.policy: _order(one, number) for one in contest.contenders} for contest in contests]
    return Comparison(tuple(contests), rank_over(tables), dict(left_out), number)


def name_situations(contests: Sequence[Contest]) -> list[str]:
    """What tells each apart from the others; all of it where there is one."""
    labels = [dict(contest.situation) for contest in contests]
    differing = [axis for axis in AXES if len({one.get(axis) for one in labels}) > 1]
    shown = differing or [axis for axis in ("model", "job", "workload") if labels and axis in labels[0]]
    return [", ".join(one[axis] for axis in shown if axis in one) for one in labels]


def _contest(
    situation: Situation, policies: Mapping[str, Mapping[int, Mapping[str, float]]], number: str | None
) -> Contest:
    contenders = sorted((Contender(*one) for one in policies.items()), key=lambda one: _order(one, number))
    winner, sentence = _judge(contenders, number)
    return Contest(situation, tuple(contenders), winner, sentence)


def _order(one: Contender, number: str | None) -> tuple[float, float]:
    """Less is better. Who breaks the promise comes after all who keep it, whatever it cost: the most kept first."""
    breaks = number is None and one.keeps_slo is False
    name = number or (KEPT if breaks else COST)
    found = one.estimate(name)
    if found is None:
        return (2.0, 0.0)
    return (float(breaks), -found.mean if name in MORE_IS_BETTER else found.mean)


def _judge(contenders: Sequence[Contender], number: str | None) -> tuple[str | None, str]:
    """The first of those in order, if it is better than every other beyond doubt."""
    best, others = contenders[0], contenders[1:]
    if number is None and best.keeps_slo is False:
        return None, "no policy keeps the SLO in all its runs"
    if not others:
        return None, f"there is nothing to compare {best.policy} with"
    for other in others:
        breaks = number is None and other.keeps_slo is False
        name = number or (KEPT if breaks else COST)
        difference = estimate_difference(other.values(name), best.values(name))
        if difference is None:
            return None, f"no difference shown: {best.policy} and {other.policy} have no {name} of the same seed"
        if difference.interval is None:
            return None, f"no difference shown: with one repetition {name} has no interval"
        if not difference.interval.excludes_zero:
            by = f"{difference.mean:+.3g} [{difference.interval.low:+.3g}, {difference.interval.high:+.3g}]"
            return None, f"no difference shown between {best.policy} and {other.policy}: {name} {by}"
    what = f"has the best {number}" if number else "costs least of those that keep the SLO"
    if number is None and best.keeps_slo is None:
        what = "costs least"
    return best.policy, f"{best.policy} {what}"

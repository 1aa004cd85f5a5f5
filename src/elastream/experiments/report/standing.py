"""How each policy stands over everything that all of them ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from elastream.experiments.comparison import BELOW_ZERO, COST, KEPT, SHARES, Contender, Contest
from elastream.experiments.statistics import Estimate, estimate, estimate_difference
from elastream.render.units import seconds

FIXED, DELAY = "fixed", "delay_p95_s"
SHOWN = (
    COST, "worker_hours_ready", KEPT, "slo_kept", "delay_p50_s", "delay_p95_s", "delay_p99_s", "actions",
    "time_in_change", "longest_violation_s", "size_ratio", "cost_to_bound", "cost_to_clairvoyant",
)  # fmt: skip
"""Numbers that the front table shows; the tables of the runs have all."""


@dataclass(frozen=True, slots=True)
class PolicyStanding:
    """A policy over all situations and seeds that every policy has."""

    policy: str
    letter: str
    """Marks it in pictures and tables, so that nobody needs colours to tell it from others."""
    by_seed: Mapping[str, Mapping[int, float]]
    """Number -> seed -> its mean over the situations; only numbers known in all of them."""
    runs: int
    promised: int
    """Runs in which something was promised."""
    kept: int
    """Those of them that kept it."""

    @property
    def is_fixed(self) -> bool:
        """Whether it never decides anything: what everything else is measured against."""
        return self.policy.partition("(")[0] == FIXED

    def mean(self, name: str) -> float | None:
        """Over its repetitions."""
        values = self.by_seed.get(name)
        return fmean(values.values()) if values else None

    def estimate(self, name: str) -> Estimate | None:
        """What its repetitions say of a number."""
        values = list(self.by_seed.get(name, {}).values())
        least = float("-inf") if name in BELOW_ZERO else 0.0
        is_share = name in SHARES or name == "slo_kept"
        return estimate(values, least=least, most=1.0 if is_share else float("inf")) if values else None


@dataclass(frozen=True, slots=True)
class Overview:
    """All policies, and what they were compared over."""

    standings: tuple[PolicyStanding, ...]
    """The cheapest first."""
    shared: tuple[Contest, ...]
    """Situations that all policies ran."""
    seeds: tuple[int, ...]
    """Of which all policies have runs in all shared situations."""
    situations: int


def stand(contests: Sequence[Contest]) -> Overview:
    """Means of every policy over what all of them ran, so that none gains by what another had to run."""
    policies = list(dict.fromkeys(one.policy for contest in contests for one in contest.contenders))
    shared = [contest for contest in contests if len(contest.contenders) == len(policies)]
    rivals = [one for contest in shared for one in contest.contenders]
    seeds = sorted(set.intersection(*(set(one.by_seed) for one in rivals))) if rivals else []
    standings = [_stand(policy, [one for one in rivals if one.policy == policy], seeds) for policy in policies]
    ordered = sorted(standings, key=lambda one: _mean(one, COST))
    return Overview(
        tuple(_lettered(one, number) for number, one in enumerate(ordered)) if seeds else (),
        tuple(shared), tuple(seeds), len(contests),
    )  # fmt: skip


def find_front(standings: Sequence[PolicyStanding]) -> list[PolicyStanding]:
    """Those that none is both cheaper and better than, the cheapest first."""
    found: list[PolicyStanding] = []
    placed = [one for one in standings if one.mean(COST) is not None and one.mean(KEPT) is not None]
    for one in sorted(placed, key=lambda one: (_mean(one, COST), -_mean(one, KEPT))):
        if not found or _mean(one, KEPT) > _mean(found[-1], KEPT):
            found.append(one)
    return found


def answer(overview: Overview) -> str:
    """The question of a plan, answered in a sentence or two; a winner only where it is beyond doubt."""
    deciding = [one for one in overview.standings if not one.is_fixed]
    if not deciding:
        return "No situation was run by all policies, so they cannot be compared as a whole; the tables below say more."
    promised = any(one.promised for one in deciding)
    rivals = [one for one in deciding if one.kept == one.promised] if promised else deciding
    if not rivals:
        best = max(deciding, key=lambda one: _mean(one, KEPT))
        share = f"{_mean(best, KEPT):.2%} of all records in time, {best.kept} of {best.promised} runs kept it"
        told = f"No policy that decides kept the promise in all its runs. Closest came {best.policy}: {share}."
        fixed = [one for one in overview.standings if one.is_fixed and one.promised and one.kept == one.promised]
        return f"{told} {fixed[0].policy} did, for {_mean(fixed[0], COST):.3g} worker-hours a run." if fixed else told
    best, others = rivals[0], rivals[1:]
    what = f"{best.policy} kept the promise in all its runs and cost" if promised else f"{best.policy} cost"
    told = f"{what} {_mean(best, COST):.3g} worker-hours a run"
    if not others:
        return f"{told}; no other policy that decides kept it in all of its." if promised else f"{told}."
    least = f"{told}, the least of the {len(rivals)} that did" if promised else f"{told}, the least of {len(rivals)}"
    doubt = next((said for other in others if (said := _doubt(best, other)) is not None), None)
    told = f"{least}." if doubt is None else f"{least}, but no difference is shown: {doubt}."
    return told if promised else f"{told}{_tell_delays(best, rivals)}"


def _tell_delays(best: PolicyStanding, rivals: Sequence[PolicyStanding]) -> str:
    """Where nothing was promised, who is cheap may be late."""
    delays = {one.policy: delay_s for one in rivals if (delay_s := one.mean(DELAY)) is not None}
    if best.policy not in delays or len(delays) < len(rivals):
        return ""
    quickest = min(rivals, key=lambda one: delays[one.policy])
    own = f" Nothing was promised: its p95 delay is {seconds(delays[best.policy])}"
    if quickest is best:
        return f"{own}, the shortest too."
    return (
        f"{own}, and the shortest that of {quickest.policy}, {seconds(delays[quickest.policy])} for "
        f"{_mean(quickest, COST):.3g} worker-hours."
    )


def _doubt(best: PolicyStanding, other: PolicyStanding) -> str | None:
    """Why the first cannot be called cheaper; None if it can."""
    difference = estimate_difference(other.by_seed.get(COST, {}), best.by_seed.get(COST, {}))
    if difference is None:
        return f"the cost of {other.policy} is unknown"
    if difference.interval is None:
        return "one repetition has no interval"
    if difference.interval.excludes_zero:
        return None
    low, high = difference.interval.low, difference.interval.high
    return f"{other.policy} costs {difference.mean:+.2g} [{low:+.2g}, {high:+.2g}] worker-hours by comparison"


def _stand(policy: str, runs: Sequence[Contender], seeds: Sequence[int]) -> PolicyStanding:
    numbers = [one.by_seed[seed] for one in runs for seed in seeds]
    names = set.intersection(*map(set, numbers)) if numbers else set()
    by_seed = {name: {seed: fmean(one.by_seed[seed][name] for one in runs) for seed in seeds} for name in sorted(names)}
    promises = [one["slo_kept"] for one in numbers if "slo_kept" in one]
    return PolicyStanding(policy, "", by_seed, len(numbers), len(promises), round(sum(promises)))


def _lettered(one: PolicyStanding, number: int) -> PolicyStanding:
    letters = ""
    while number >= 0:
        letters, number = chr(65 + number % 26) + letters, number // 26 - 1
    return PolicyStanding(one.policy, letters, one.by_seed, one.runs, one.promised, one.kept)


def _mean(one: PolicyStanding, name: str) -> float:
    found = one.mean(name)
    return float("inf") if found is None else found

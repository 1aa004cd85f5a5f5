"""What an experiment could have cost with its future known: a lower bound, and a plan that was replayed."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from elastream.core.decision import Json
from elastream.experiments.experiment import Experiment, NamedSettings, SimulatedModel
from elastream.experiments.optimum.bounds import find_lower, follow
from elastream.experiments.optimum.job import find_jobs
from elastream.experiments.optimum.problem import Engine, SizeChange
from elastream.experiments.run import Run
from elastream.experiments.simulated import SimulatedSetup, set_up_simulation

SLACK = (1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.45, 1.6, 2.0)
"""Plans are made as if everything took so many times longer: noise, and executors that are cold, want slack."""
# Plans with slack do not spend what may be late, so a late record costs more than where it may be.
_SPARING = 30.0
# Where so many records are late by the model, no size was enough, and the plan has given up.
_HOPELESS = 0.1


NO_OPTIMUM = "optimum: not known; it takes one pool and a promise (--slo)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """Worker-hours, paid as everywhere."""

    lower_hours: float
    """No schedule whose sizes hold for whole batches, or whole steps, keeps the promise for less without noise."""
    run: Run | None
    """The cheapest plan that keeps the promise on the simulator, noise and all; None: none of those tried does."""
    missed: Run | None = None
    """Where none does, the one that came closest, if any could be planned."""

    @property
    def replayed_hours(self) -> float | None:
        """What the plan paid."""
        return None if self.run is None else self.run.summary.worker_hours_paid

    def sentences(self, runs: Sequence[Run]) -> list[str]:
        """For a person: the bound, the plan, and how far policies are from both."""
        told = [f"optimum: no schedule keeps the SLO for less than {self.lower_hours:.2f} worker-hours"]
        if self.run is not None:
            told[0] += f"; a plan that knew the load replays for {self.replayed_hours:.2f}"
        elif self.missed is not None:
            kept = self.missed.summary.records_within_slo or 0.0
            told[0] += f"; no plan kept it when replayed, the closest had {kept:.2%} of the records in time"
        else:
            told[0] += "; no plan keeps it"
        for run in runs:
            numbers = self.as_numbers(run.summary.worker_hours_paid)
            ratios = [
                f"{ratio:.2f} times {what}"
                for what, name in (("the bound", "cost_to_bound"), ("the plan", "cost_to_clairvoyant"))
                if (ratio := numbers[name]) is not None
            ]
            missed = ", without keeping the SLO" if run.summary.slo_kept is False else ""
            told.append(f"{run.label}: {', '.join(ratios)}{missed}")
        return told

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "bound_hours": self.lower_hours,
            "clairvoyant_hours": self.replayed_hours,
            "plan": None if self.run is None else self.run.experiment.policy.settings,
        }

    def as_numbers(self, paid_hours: float | None) -> dict[str, float | None]:
        """What stands beside the numbers of a run that paid so much; what is unknown is None."""
        replayed = self.replayed_hours
        return {
            "bound_hours": self.lower_hours,
            "clairvoyant_hours": replayed,
            "cost_to_bound": paid_hours / self.lower_hours if paid_hours is not None and self.lower_hours else None,
            "cost_to_clairvoyant": paid_hours / replayed if paid_hours is not None and replayed else None,
        }


def find_optimum(experiment: Experiment) -> Optimum | None:
    """None where nothing is promised, there are several pools, or it is live. The policy does not matter."""
    if not isinstance(experiment.subject, SimulatedModel):
        return None
    return _find(replace(experiment, policy=NamedSettings(name="schedule"), guards=()))


@lru_cache(maxsize=64)
def _find(experiment: Experiment) -> Optimum | None:
    # Policies that are compared share the answer.
    setup = set_up_simulation(experiment)
    jobs = find_jobs(setup)
    if not jobs:
        return None
    # A pool that serves several queries serves each of them.
    bounds = [_bound(job) for job in jobs]
    prices = [_SPARING * price_s for _, price_s in bounds]
    found: dict[float, Run] = {}
    low, high = 0, len(SLACK) - 1
    while low <= high:
        middle = (low + high) // 2 if found else 0
        run = _replay(setup, SLACK[middle], prices)
        if run is None:
            # With so much slack not even the largest size is enough.
            high = middle - 1
            continue
        found[SLACK[middle]] = run
        low, high = (low, middle - 1) if run.summary.slo_kept else (middle + 1, high)
    kept = [run for run in found.values() if run.summary.slo_kept]
    best = min(kept, key=lambda run: run.summary.worker_hours_paid or math.inf, default=None)
    closest = max(found.values(), key=lambda run: run.summary.records_within_slo or 0.0, default=None)
    lower_s = max(lower_s for lower_s, _ in bounds)
    return Optimum(lower_hours=lower_s / 3600, run=best, missed=None if best is not None else closest)


@lru_cache(maxsize=64)
def _bound(job: Engine) -> tuple[float, float]:
    return find_lower(job)


@lru_cache(maxsize=256)
def _changes(job: Engine, price_s: float) -> tuple[SizeChange, ...] | None:
    plan = follow(job, price_s)
    return tuple(plan.changes) if plan.late <= _HOPELESS * plan.judged else None


def _replay(setup: SimulatedSetup, slower: float, prices: Sequence[float]) -> Run | None:
    """None where so much slack leaves no plan worth the name."""
    [pool] = setup.model.pools.values()
    experiment = setup.experiment
    ahead_s = pool.start_s * (1 + pool.start_spread) + pool.cold_s
    jobs = find_jobs(setup, slower=slower, ahead_s=experiment.tick_s + ahead_s)
    plans = [_changes(job, price_s) for job, price_s in zip(jobs, prices, strict=True)]
    kept = [plan for plan in plans if plan is not None]
    if len(kept) < len(plans):
        return None
    at_s, sizes = place_on_ticks(
        kept, most=pool.max_workers, ahead_s=ahead_s, duration_s=experiment.duration_s, tick_s=experiment.tick_s
    )
    settings: dict[str, Json] = {"at_s": at_s, "workers": sizes}
    return set_up_simulation(replace(experiment, policy=NamedSettings.of("schedule", settings))).run()


def place_on_ticks(
    plans: Sequence[Sequence[SizeChange]], *, most: int, ahead_s: float, duration_s: float, tick_s: float
) -> tuple[list[float], list[int]]:
    """When to ask for which size, at looks: workers are asked for in time to be there, and kept until a look after."""
    at_s: list[float] = []
    sizes: list[int] = []
    for look in range(math.ceil(duration_s / tick_s)):
        now_s = look * tick_s
        wanted = min(most, sum(_most(plan, now_s, now_s + tick_s + ahead_s) for plan in plans))
        if not sizes or wanted != sizes[-1]:
            at_s.append(now_s)
            sizes.append(wanted)
    return at_s, sizes


def _most(plan: Sequence[SizeChange], from_s: float, to_s: float) -> int:
    """The largest size within a time."""
    first = bisect_right(plan, from_s + 1e-9, key=lambda change: change.at_s) - 1
    found = plan[max(0, first)].workers
    for change in plan[max(0, first) + 1 :]:
        if change.at_s >= to_s - 1e-9:
            break
        found = max(found, change.workers)
    return found

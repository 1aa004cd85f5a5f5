"""Section 4.8: recovery times as Daedalus predicts them, beside the measured ones; and what it leaves to others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from elastream.estimators.anomaly import AnomalyWatch, strays
from elastream.estimators.moments import Moments
from elastream.evaluation.predictions import find_recovery
from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.replication.unscored import tabulate
from elastream.experiments.statistics import Estimate, estimate, estimate_share
from elastream.experiments.store.folder import StoredRun
from experiments.daedalus.numbers import LATENCY, SHARE, WORKERS, find_latency, read_decisions, read_ticks

PREDICTED = "recovery_s/workers"
TARGET_S = 600.0
CAUGHT_UP = 2_000.0
"""Fewer records are on their way anyway: a twentieth of a second of the peak."""
SHORTEST_STOP_S = 15.0
QUIET_S, LONGEST_S, LEAST_STRAY = 30.0, 900.0, 0.05
"""As the policy watches: normal for so long is over, and so much of the load is no anomaly."""

SHORT = "here a standstill is so far from usual that catching up often is no anomaly, and what is measured ends early"

AS_FAR = "whoever recovers within 1200 s forecasts so far, and chooses a size that lasts for so long"
AT_THE_TOP = "those near the top of the sine are not, where 12 workers are just enough; it expects a stop of 30 s"

OFF = PublishedNumber(title="difference between predicted and measured, as a share of the measured one", floor=0.02)
TIMES = PublishedNumber(title="s")


class Moment(NamedTuple):
    """A look at a run."""

    t_s: float
    backlog: float | None
    arrived_rps: float | None


class Recovery(NamedTuple):
    """From a change of size on, in seconds. None where the next change came first."""

    predicted_s: float
    measured_s: float | None
    """As the document measures: from the first to the last look at which throughput strays from the load."""
    true_s: float | None
    """Until nothing waits any more."""


def score_recoveries(results: Sequence[PlanResults]) -> list[TableScore]:
    """Over all jobs: above the measured time almost always, by 1 to 140 %."""
    found = {model: _gather(runs) for model, runs in _group(results).items()}
    every = [one for recoveries in found.values() for one in recoveries]
    found = {**found, "all jobs": every}
    measured = {model: _judge(some, "measured_s") for model, some in found.items()}
    true = {model: _judge(some, "true_s") for model, some in found.items()}
    off = sorted(
        abs(one.predicted_s - one.measured_s) / one.measured_s for one in every if one.measured_s
    )  # fmt: skip
    ends = {"least": (0.01, off[:1]), "most": (1.4, off[-1:])}
    return [
        TableScore(
            table="Section 4.8, predicted recovery is not below the measured one",
            quantity=SHARE,
            claims=tuple(Claim(row=row, told=1.0, found=share) for row, share in measured.items()),
        ),
        TableScore(
            table="Section 4.8, by how much",
            quantity=OFF,
            claims=tuple(
                Claim(row=row, told=told, found=estimate(one) if one else None, reason=SHORT)
                for row, (told, one) in ends.items()
            ),
        ),
        TableScore(
            table="Predicted recovery is not below the true one, until nothing waits",
            quantity=SHARE,
            claims=tuple(Claim(row=row, told=None, found=share) for row, share in true.items()),
        ),
    ]


def score_targets(results: PlanResults) -> list[TableScore]:
    """What another recovery target does."""
    scores = tabulate(results, {WORKERS: "mean_wanted", LATENCY: find_latency})
    labels = list(dict.fromkeys(labels["policy"] for labels, _ in results.runs))
    for model in dict.fromkeys(labels["model"] for labels, _ in results.runs):
        sizes = {label: results.estimate("mean_wanted", model=model, policy=label) for label in labels}
        words = tuple(
            Claim(
                row=f"{low} takes no fewer workers than {high}",
                told=1.0,
                found=_compare(sizes[low], sizes[high]),
                reason=AS_FAR,
            )
            for low, high in pairwise(labels)
        )
        scores.append(TableScore(table=f"Section 4.8 in words, {model}", quantity=SHARE, claims=words))
    return scores


def score_failures(results: PlanResults) -> list[TableScore]:
    """Whether jobs recover from failures within the target, and how long the longest recovery takes."""
    within: list[Claim] = []
    longest: list[Claim] = []
    for model, policy in dict.fromkeys((labels["model"], labels["policy"]) for labels, _ in results.runs):
        runs = results.find(model=model, policy=policy, faults="every hour")
        took = [one for run in runs for one in find_failures(run)]
        known = [one for one in took if one is not None]
        told = 1.0 if policy == "Daedalus" else None
        share = estimate_share([float(one is not None and one <= TARGET_S) for one in took]) if took else None
        row = f"{policy}, {model}"
        within.append(Claim(row=row, told=told, found=share, reason=AT_THE_TOP))
        longest.append(Claim(row=row, told=None, found=estimate([max(known)]) if known else None))
    return [
        TableScore(table="Failures, recovered from within 600 s", quantity=SHARE, claims=tuple(within)),
        TableScore(table="Failures, longest recovery", quantity=TIMES, claims=tuple(longest)),
    ]


def find_recoveries(run: StoredRun) -> list[Recovery]:
    """One for each change of size that was made with a prediction."""
    moments = [Moment(*row) for row in read_ticks(run, "backlog", "arrived_rps")]
    return measure_recoveries(moments, list_changes(read_decisions(run)))


def list_changes(decisions: Sequence[Mapping[str, Any]]) -> list[tuple[float, float | None]]:
    """When the size was changed, and the recovery that was predicted."""
    return [
        (row["t_s"], row["evidence"].get(PREDICTED))
        for row in decisions
        if row["workers_before"] != row["workers_after"]
    ]


def measure_recoveries(moments: Sequence[Moment], changes: Sequence[tuple[float, float | None]]) -> list[Recovery]:
    """The same of looks, and of changes with what was predicted for each."""
    measured = _watch(moments, [at_s for at_s, _ in changes])
    ends = [*(at_s for at_s, _ in changes[1:]), float("inf")]
    return [
        Recovery(predicted_s, measured.get(at_s), _find_end(moments, at_s, end_s))
        for (at_s, predicted_s), end_s in zip(changes, ends, strict=True)
        if predicted_s is not None
    ]


def find_failures(run: StoredRun) -> list[float | None]:
    """How long it took after each failure until no more waited than before; None: as long as the run lasted."""
    faults = run.document["what"]["subject"]["faults"]
    rows = read_ticks(run, "backlog")
    at, backlog = [row[0] for row in rows], [row[1] for row in rows]
    return [find_recovery(at, backlog, fault["settings_text"]["at_s"]) for fault in faults]


def _watch(moments: Sequence[Moment], changes: Sequence[float]) -> dict[float, float]:
    """When each change was made -> the recovery that anomalies tell."""
    found: dict[float, float] = {}
    usual, watch = Moments(), None
    waiting = list(changes)
    for before, now in pairwise(moments):
        if before.backlog is None or now.backlog is None:
            continue
        short_rps = (now.backlog - before.backlog) / (now.t_s - before.t_s)
        arrived_rps = now.arrived_rps or 0.0
        stands = short_rps >= arrived_rps > 0
        is_abnormal = stands or strays(short_rps, usual, floor=LEAST_STRAY * arrived_rps)
        usual = usual.add(short_rps)
        while waiting and waiting[0] < now.t_s:
            watch = AnomalyWatch(waiting.pop(0))
        if watch is not None:
            watch = watch.see(now.t_s, is_abnormal)
            if watch.is_over(now.t_s, quiet_s=QUIET_S, longest_s=LONGEST_S):
                found[watch.since_s] = watch.took_s
                watch = None
    return found


def _find_end(moments: Sequence[Moment], changed_s: float, end_s: float) -> float | None:
    for one in moments:
        if changed_s + SHORTEST_STOP_S <= one.t_s < end_s and one.backlog is not None and one.backlog < CAUGHT_UP:
            return one.t_s - changed_s
    return None


def _group(results: Sequence[PlanResults]) -> Mapping[str, list[StoredRun]]:
    found: dict[str, list[StoredRun]] = {}
    for plan in results:
        for labels, run in plan.runs:
            if labels["policy"] == "Daedalus":
                found.setdefault(labels["model"], []).append(run)
    return found


def _gather(runs: Sequence[StoredRun]) -> list[Recovery]:
    return [recovery for run in runs for recovery in find_recoveries(run)]


def _judge(recoveries: Sequence[Recovery], which: str) -> Estimate | None:
    cases = list(_find_cases(recoveries, which))
    return estimate_share(cases) if cases else None


def _find_cases(recoveries: Sequence[Recovery], which: str) -> Iterator[float]:
    for one in recoveries:
        took_s = one.measured_s if which == "measured_s" else one.true_s
        if took_s is not None:
            yield float(one.predicted_s >= took_s)


def _compare(low: Estimate | None, high: Estimate | None) -> Estimate | None:
    return estimate([float(low.mean >= high.mean)]) if low and high else None

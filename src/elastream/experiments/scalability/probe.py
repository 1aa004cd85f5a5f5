"""Whether a job sustained a rate, from what was recorded while it came: one probe, judged by a pure function.

A rate is sustained if, after warm-up, the backlog does not grow, the median delay stays under a bound and executors use
less than a share of their cores, for as long as was asked (van Dongen and Van den Poel, 2021). Jobs that cannot sustain
a rate may look well for minutes, so that a yes is given late; a no as soon as nothing that may come can change it, or
growth has shown itself twice.

Records wait in batches, and a backlog that is looked at any time is a saw. What a batch leaves behind is not: growth is
that of the backlog just after commits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from elastream.core.decision import Json
from elastream.core.quantity import spell_seconds
from elastream.estimators.robust_slope import find_slope
from elastream.jobs.settings import READ_LIMIT_S

Floats = npt.NDArray[np.float64]
ProbeState = Literal["open", "sustained", "unsustained", "invalid", "broken"]
"""Open: no verdict yet. Invalid: something else than the job was too slow. Broken: the cluster or a process failed."""

# As many points as can be told apart; what lies between two of them is nearly the same backlog again.
_MOST_POINTS = 60
# Growth that shows within so much of the time, and in both halves of it, is no start that takes long.
_EARLY_SHARE = 0.25
_EARLY_LEAST_S = 20.0
_RISES, _RISE = 3, 1.1
_RECORDS = 501
# Executors that died are started again within this time; a cluster that has fewer for longer has shrunk.
_SHRUNK_S = 60.0
_HOST_FULL = 0.95
_DELIVERED = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeMoment:
    """One look. Totals are since the load began; rates are since the look before."""

    at_s: float
    arrived: float
    committed: float
    executors: int
    """That can run tasks."""
    used_cores: float | None = None
    """By executor processes; None: it is not known."""
    host_cores: float | None = None
    """By everything on the driver's host; None: executors run elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeTerms:
    """What is asked of a probe."""

    rate_rps: float
    workers: int
    cores: int
    """Of all workers."""
    delay_s: float = 10.0
    processor: float = 0.8
    """Share of their cores that executors may use on average."""
    accept_after_s: float = 300.0
    warm_up_s: float = 30.0
    growth: float = 0.01
    """Share of the rate; a backlog whose growth is below it for sure does not grow."""
    host_cores: int | None = None
    """Of the machine, where driver, broker and producer share it with the executors."""
    interval_s: float | None = None
    """Between two triggers."""
    is_emulated: bool = False
    """Busy slots stand in for processors."""

    @property
    def end_s(self) -> float:
        """When a yes is given."""
        return self.warm_up_s + self.accept_after_s

    @property
    def patience_s(self) -> float:
        """When a probe ends without a verdict: so few batches came that nothing can be said."""
        return self.warm_up_s + 2 * self.accept_after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeVerdict:
    """What came of a probe, and why."""

    state: ProbeState
    reason: str
    evidence: dict[str, Json] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        """Whether the probe may end."""
        return self.state != "open"


def judge_probe(moments: Sequence[ProbeMoment], terms: ProbeTerms) -> ProbeVerdict:
    """The verdict as far as it has been recorded."""
    measured = [one for one in moments if one.at_s >= terms.warm_up_s]
    if not measured:
        return ProbeVerdict(state="open", reason="warming up")
    found = _Measured(moments, measured, terms)
    for find in (_shrunk, _starved, _unsustained, _sustained):
        if (verdict := find(found)) is not None:
            return verdict
    return ProbeVerdict(state="open", reason="not long enough yet", evidence=found.evidence())


def find_read_limit(terms: ProbeTerms) -> int:
    """Records of a batch: 20 s of input as published, more where batches begin less often than that."""
    return max(1, round(terms.rate_rps * max(READ_LIMIT_S, 2 * (terms.interval_s or 0.0))))


class _Measured:
    """A recorded series after its warm-up, with what verdicts need of it."""

    def __init__(self, every: Sequence[ProbeMoment], moments: Sequence[ProbeMoment], terms: ProbeTerms) -> None:
        self.every, self.moments, self.terms = every, moments, terms
        self.now, self.first = moments[-1], moments[0]
        self.lasted_s = self.now.at_s - self.first.at_s
        self.points = _find_points(moments, terms)
        self.growth = find_slope([at for at, _ in self.points], [left for _, left in self.points])
        self.delays_s = _find_delays(every, moments)
        self.used = _mean(moments, lambda one: one.used_cores)
        self.host = _mean(moments, lambda one: one.host_cores)

    @property
    def is_long_enough(self) -> bool:
        return self.now.at_s >= self.terms.end_s

    @property
    def median_s(self) -> float | None:
        return float(np.median(self.delays_s)) if len(self.delays_s) else None

    @property
    def processor(self) -> float | None:
        return None if self.used is None else self.used / self.terms.cores

    @property
    def delivered(self) -> float | None:
        """Share of the asked rate that came."""
        if self.lasted_s <= 0:
            return None
        return (self.now.arrived - self.first.arrived) / self.lasted_s / self.terms.rate_rps

    def evidence(self) -> dict[str, Json]:
        known: dict[str, Json] = {"seconds": round(self.lasted_s, 1), "backlogs": len(self.points)}
        if self.growth is not None:
            share = [round(one / self.terms.rate_rps, 5) for one in self.growth]
            known |= {"growth": share[0], "growth_low": share[1], "growth_high": share[2]}
        for name, value in (("median_delay_s", self.median_s), ("processor", self.processor),
                            ("host_cores", self.host), ("delivered", self.delivered)):  # fmt: skip
            if value is not None:
                known[name] = round(value, 4)
        return known

    def verdict(self, state: ProbeState, reason: str) -> ProbeVerdict:
        return ProbeVerdict(state=state, reason=reason, evidence=self.evidence())


def _shrunk(found: _Measured) -> ProbeVerdict | None:
    asked, least = found.terms.workers, found.now.executors
    if least >= asked:
        return None
    since_s = next((one.at_s for one in reversed(found.every) if one.executors >= asked), found.every[0].at_s)
    if found.now.at_s - since_s < _SHRUNK_S:
        return None
    return found.verdict(
        "broken", f"the cluster has {least} of {asked} executors for {spell_seconds(round(found.now.at_s - since_s))}"
    )


def _starved(found: _Measured) -> ProbeVerdict | None:
    """The load did not come as it was asked for."""
    delivered = found.delivered
    if delivered is None or delivered >= _DELIVERED or found.lasted_s < _early_s(found.terms):
        return None
    return found.verdict("invalid", f"the producer wrote {delivered:.0%} of the load: it is the limit, not the job")


def _unsustained(found: _Measured) -> ProbeVerdict | None:
    reasons = [
        reason
        for reason in (_grows(found), _runs_away(found), _is_late(found), _is_busy(found), _is_unclear(found))
        if reason is not None
    ]
    if not reasons:
        return None
    if _is_host_full(found):
        return found.verdict(
            "invalid",
            f"the host was full ({found.host:.1f} of {found.terms.host_cores} cores) while executors used "
            f"{found.processor:.0%} of their {_unit(found)}: driver, broker or producer took the rest; {reasons[0]}",
        )
    return found.verdict("unsustained", "; ".join(reasons))


def _sustained(found: _Measured) -> ProbeVerdict | None:
    if not found.is_long_enough or found.growth is None or found.growth.high > _threshold(found.terms):
        return None
    if found.median_s is None:
        return None
    processor = "" if found.processor is None else f", {_unit(found)} {found.processor:.0%} busy"
    return found.verdict(
        "sustained",
        f"backlog grows by {found.growth.value / found.terms.rate_rps:.2%} of the rate, at most "
        f"{found.growth.high / found.terms.rate_rps:.2%}; median delay {found.median_s:.1f} s{processor}",
    )


def _grows(found: _Measured) -> str | None:
    growth, terms = found.growth, found.terms
    if growth is None or growth.low <= _threshold(terms):
        return None
    if not found.is_long_enough and (found.lasted_s < _early_s(terms) or not _grows_in_halves(found)):
        return None
    share, low = growth.value / terms.rate_rps, growth.low / terms.rate_rps
    return f"backlog grows by {share:.1%} of the rate, at least {low:.1%}"


def _grows_in_halves(found: _Measured) -> bool:
    """A start that takes long slows down; a job that cannot keep up goes on."""
    middle = len(found.points) // 2
    halves = [found.points[:middle], found.points[middle:]]
    slopes = [find_slope([at for at, _ in half], [left for _, left in half]) for half in halves]
    return all(slope is not None and slope.low > _threshold(found.terms) for slope in slopes)


def _runs_away(found: _Measured) -> str | None:
    """Each batch leaves more behind than the one before, and by now more than may wait: batches that are ever longer
    are soon too few for a slope."""
    last = [left for _, left in found.points[-_RISES - 1 :]]
    if len(last) <= _RISES or found.lasted_s < _early_s(found.terms):
        return None
    if last[-1] <= found.terms.delay_s * found.terms.rate_rps:
        return None
    if not all(later > _RISE * one for one, later in pairwise(last)):
        return None
    return f"each of the last {_RISES} batches left more behind than the one before, now {last[-1]:,.0f} records"


def _is_late(found: _Measured) -> str | None:
    """The median is past its bound, or will be whatever comes."""
    terms, over = found.terms, int((found.delays_s > found.terms.delay_s).sum())
    if not len(found.delays_s):
        return None
    so_far = found.now.arrived - found.first.arrived
    to_come = 0.0 if found.is_long_enough else terms.rate_rps * (terms.end_s - found.now.at_s)
    if over / len(found.delays_s) * so_far <= (so_far + to_come) / 2:
        return None
    least = "" if found.is_long_enough else "at least "
    return f"median delay is {least}{max(found.median_s or 0.0, terms.delay_s):.1f} s, bound {terms.delay_s:g} s"


def _is_busy(found: _Measured) -> str | None:
    """Executors used more than they may, or will have used it whatever comes."""
    if found.used is None:
        return None
    terms, whole_s = found.terms, max(found.lasted_s, found.terms.accept_after_s)
    if found.used * found.lasted_s <= terms.processor * terms.cores * whole_s:
        return None
    return f"executors use {found.processor:.0%} of their {_unit(found)}, bound {terms.processor:.0%}"


def _unit(found: _Measured) -> str:
    return "slots" if found.terms.is_emulated else "processors"


def _is_unclear(found: _Measured) -> str | None:
    terms = found.terms
    if found.now.at_s < terms.patience_s:
        return None
    if found.growth is None:
        lasted = spell_seconds(round(found.lasted_s))
        return f"only {len(found.points)} batches in {lasted}: whether it keeps up is unclear"
    high = found.growth.high / terms.rate_rps
    return (
        None if high <= terms.growth else f"that the backlog does not grow is unclear: by up to {high:.1%} of the rate"
    )


def _is_host_full(found: _Measured) -> bool:
    """Somebody else took the cores: executors did not even use what they may."""
    terms = found.terms
    if found.host is None or terms.host_cores is None or found.processor is None:
        return False
    # Slots that sleep leave the host idle: whoever fills it keeps them from waking in time.
    is_innocent = terms.is_emulated or found.processor <= terms.processor
    return is_innocent and found.host >= _HOST_FULL * terms.host_cores


def _threshold(terms: ProbeTerms) -> float:
    return terms.growth * terms.rate_rps


def _early_s(terms: ProbeTerms) -> float:
    return max(_EARLY_LEAST_S, _EARLY_SHARE * terms.accept_after_s)


def _find_points(moments: Sequence[ProbeMoment], terms: ProbeTerms) -> list[tuple[float, float]]:
    """The backlog just after commits, thinned to medians; the present one too if no commit has come for long."""
    points = [
        (later.at_s, max(0.0, later.arrived - later.committed))
        for one, later in pairwise(moments)
        if later.committed > one.committed
    ]
    if moments[-1].committed >= moments[-1].arrived > moments[0].arrived and not points:
        points = [(one.at_s, 0.0) for one in moments]
    gaps = [later - one for (one, _), (later, _) in pairwise(points)]
    silent_s = moments[-1].at_s - (points[-1][0] if points else moments[0].at_s)
    if points and silent_s > max(2 * max(gaps, default=0.0), terms.delay_s):
        points.append((moments[-1].at_s, moments[-1].arrived - moments[-1].committed))
    size = math.ceil(len(points) / _MOST_POINTS) or 1
    groups = [points[place : place + size] for place in range(0, len(points), size)]
    return [
        (float(np.median([at for at, _ in group])), float(np.median([left for _, left in group]))) for group in groups
    ]


def _find_delays(every: Sequence[ProbeMoment], moments: Sequence[ProbeMoment]) -> Floats:
    """Arrival to commit, of records evenly spread over what arrived; those that wait have waited so long."""
    first, last = moments[0].arrived, moments[-1].arrived
    if last <= first:
        return np.zeros(0)
    at = np.array([one.at_s for one in every])
    # Where nothing arrives, records that come later are placed behind it.
    arrived, places = np.unique([one.arrived for one in every], return_index=True)
    records = first + (np.arange(_RECORDS) + 0.5) / _RECORDS * (last - first)
    came_s = np.interp(records, arrived, at[places])
    committed = np.maximum.accumulate([one.committed for one in every])
    taken = np.searchsorted(committed, records)
    gone_s = at[np.minimum(taken, len(at) - 1)]
    found: Floats = np.maximum(gone_s - came_s, 0.0)
    return found


def _mean(moments: Sequence[ProbeMoment], get: Callable[[ProbeMoment], float | None]) -> float | None:
    """Of a rate, which is that of the time before its look, over the time in which it is known; None: never."""
    rates = [(get(later), later.at_s - one.at_s) for one, later in pairwise(moments)]
    known = [(rate, for_s) for rate, for_s in rates if rate is not None]
    whole_s = sum(for_s for _, for_s in known)
    return sum(rate * for_s for rate, for_s in known) / whole_s if whole_s > 0 else None

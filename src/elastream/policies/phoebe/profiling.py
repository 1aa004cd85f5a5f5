"""A profile made in place: a few sizes are held one after the other, the greatest first, while the job goes on.

It is somebody's job, so a size that is not expected to keep up is not tried, and profiling ends as soon as one falls
behind or endangers what was promised: smaller ones would only be worse. What was seen by then is the profile. After
that a size is measured anew only where it proves the profile wrong, by falling behind or by keeping up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from elastream.core.decision import Decision
from elastream.core.observation import Observation, Query
from elastream.core.paid import count_paid
from elastream.estimators.left_behind import Behind, is_batched, period_s, surely_grows, watched
from elastream.policies.phoebe.trial import Trial, Watching, begin, follow, row_of

# A size that cannot be had is waited for as long as one is held, one that cannot be measured so many times as long.
_PATIENCE = 3.0
# So much of a period may seem to be left behind, by where looks and commits fall.
_NOTHING = 0.1
_MOST_ROWS = 64


class Asked(TypedDict):
    """The size that is being profiled."""

    workers: int
    since_s: float


class Profiling(TypedDict):
    """What is remembered of a profile made in place: plain values."""

    rows: list[list[float]]
    """Workers, load, capacity, latency."""
    tried: list[int]
    """Sizes that could not be had or measured."""
    over: str | None
    """Why no more sizes are profiled."""
    asked: Asked | None
    trial: Trial | None
    behind: dict[str, Behind]
    short: list[list[float]]
    """Sizes that were too small for a load, without a measure of what they can take in."""
    fell_s: float | None
    """When a size that had been chosen was last seen to fall behind."""
    has_delay: bool
    """Whether the delay of a query was ever known."""
    cost: float
    """Worker-hours that profiling was paid for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InPlace:
    """How a profile is made in place."""

    sizes: int
    hold_s: float
    settle_s: float
    full_cpu: float
    promised_s: float
    """The delay that endangers a query without an SLO."""

    def start(self) -> Profiling:
        """Nothing was seen."""
        return {
            "rows": [], "tried": [], "over": None, "asked": None, "trial": None, "behind": {}, "short": [],
            "fell_s": None, "has_delay": False, "cost": 0.0,
        }  # fmt: skip

    def learn(
        self, state: Profiling, now: Observation, queries: Sequence[Query], last: Decision | None, load_rps: float
    ) -> Profiling:
        """After one more look."""
        seen: Profiling = {**state}
        seen["behind"] = {query.id: watched(state["behind"].get(query.id), query) for query in queries}
        seen["has_delay"] = state["has_delay"] or any(query.delay is not None for query in queries)
        if state["over"] is None:
            seen["cost"] += _spent(state["trial"], now)
            seen["asked"], seen["over"] = _asked(state["asked"], last, now.at_s), _said(last)
        seen["trial"] = self._watched(state["trial"], now, queries)
        after = self._concluded(seen, now, queries, load_rps)
        return after if self.missing(after, now) else {**after, "over": after["over"] or "all sizes are profiled"}

    def all_sizes(self, now: Observation) -> list[int]:
        """Sizes to profile, the greatest first: a job that falls behind at a small one has been measured before."""
        most = max((pool.max_workers for pool in now.pools), default=1)
        least = max((pool.min_workers for pool in now.pools), default=1)
        shares = (k / self.sizes for k in range(1, self.sizes + 1))
        return sorted({max(1, least, round(most * share)) for share in shares}, reverse=True)

    def missing(self, state: Profiling, now: Observation) -> list[int]:
        """Sizes that are still to be profiled."""
        known = {*state["tried"], *(round(row[0]) for row in state["rows"])}
        return [] if state["over"] is not None else [size for size in self.all_sizes(now) if size not in known]

    def is_endangered(self, queries: Iterable[Query]) -> bool:
        """Whether results are, or will be, later than promised."""
        return any(self._is_late(query) for query in queries)

    def _is_late(self, query: Query) -> bool:
        promised_s = query.slo.delay_s if query.slo is not None else self.promised_s
        p95_s = query.delay.p95_s if query.delay is not None else 0.0
        return max(p95_s, query.delay_to_come_s or 0.0) > promised_s

    def _watched(self, before: Trial | None, now: Observation, queries: Sequence[Query]) -> Trial:
        """The present size, watched from when it was reached."""
        size, at_rest = size_of(now), not any(pool.in_flux for pool in now.pools)
        if before is None or before["workers"] != size or not at_rest:
            return begin(now, size)
        return follow(before, now, queries, self._watching)

    def _concluded(self, seen: Profiling, now: Observation, queries: Sequence[Query], load_rps: float) -> Profiling:
        """What has been seen for long enough, or is enough, becomes a row."""
        trial, asked = seen["trial"], seen["asked"]
        if trial is None:
            return seen
        size, since_s, behinds = trial["workers"], trial["since_s"], seen["behind"]
        behind = any(_falls_behind(behinds[query.id], query, now.at_s, since_s, load_rps) for query in queries)
        if seen["over"] is None and asked is not None:
            return self._profiled(seen, trial, asked, now, queries, behind=behind, load_rps=load_rps)
        if not behind and now.at_s - since_s < self.hold_s:
            return seen
        row = row_of(trial, queries, self._watching)
        after: Profiling = {**seen, "trial": begin(now, size)}
        if behind:
            return {**_with_row(after, row, or_short=[size, load_rps]), "fell_s": now.at_s}
        # A size that does more than it is believed to be able to is measured anew; any other row would do no good.
        is_wrong = any(size == before[0] and before[2] < load_rps for before in seen["rows"])
        return _with_row(after, row, or_short=None) if is_wrong else after

    def _profiled(
        self,
        seen: Profiling,
        trial: Trial,
        asked: Asked,
        now: Observation,
        queries: Sequence[Query],
        *,
        behind: bool,
        load_rps: float,
    ) -> Profiling:
        size, waited_s = asked["workers"], now.at_s - asked["since_s"]
        is_there, is_greatest = trial["workers"] == size, size == self.all_sizes(now)[0]
        row = row_of(trial, queries, self._watching) if is_there else None
        if is_there and not is_greatest and (behind or self.is_endangered(queries)):
            after = _with_row(seen, row, or_short=[size, load_rps])
            why = f"{size} workers fall behind" if behind else f"{size} workers endanger what was promised"
            return {**after, "over": why}
        if row is not None and trial["settled"] and waited_s >= self.hold_s:
            return _with_row(seen, row, or_short=None)
        if waited_s >= (_PATIENCE if is_there and trial["settled"] else 1.0) * self.hold_s:
            return {**seen, "tried": [*seen["tried"], size]}
        return seen

    @property
    def _watching(self) -> Watching:
        return Watching(self.settle_s, self.full_cpu)


def size_of(now: Observation) -> int:
    """The size of the largest pool, as it was decided."""
    return max(1, max((pool.wanted for pool in now.pools), default=1))


def _with_row(state: Profiling, row: list[float] | None, or_short: list[float] | None) -> Profiling:
    """With what a size can take in, or that it was too small for a load where that was not measured."""
    if row is None:
        return {**state, "short": [*state["short"], or_short][-_MOST_ROWS:]} if or_short is not None else state
    return {**state, "rows": [*(one for one in state["rows"] if one[0] != row[0]), row][-_MOST_ROWS:]}


def _asked(before: Asked | None, last: Decision | None, at_s: float) -> Asked | None:
    size = last.note.get("profiling") if last is not None else None
    if not isinstance(size, int):
        return before
    return before if before is not None and before["workers"] == size else {"workers": size, "since_s": at_s}


def _said(last: Decision | None) -> str | None:
    over = last.note.get("over") if last is not None else None
    return over if isinstance(over, str) else None


def _falls_behind(behind: Behind, query: Query, now_s: float, since_s: float, load_rps: float) -> bool:
    since: Behind = {**behind, "samples": [sample for sample in behind["samples"] if sample[0] >= since_s]}
    left = since["samples"][-1][1] if since["samples"] and is_batched(query) else 0.0
    return left > _NOTHING * period_s(query) * load_rps and surely_grows(since, now_s, now_s - since_s)


def _spent(trial: Trial | None, now: Observation) -> float:
    """Worker-hours that were paid for since the last look."""
    if trial is None:
        return 0.0
    return count_paid(now) * (now.at_s - trial["at_s"]) / 3600

"""What a probe records: a series of moments for each query, from looks at the application, and back from its file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.core.observation import Observation, Pool, Query, Reading
from elastream.experiments.scalability.layout import Work
from elastream.experiments.scalability.probe import ProbeMoment, ProbeState, ProbeTerms, ProbeVerdict, judge_probe

MOMENTS = "moments.csv"
_COLUMNS = ("query", *(field.name for field in fields(ProbeMoment)))
# Of several queries that one counts which speaks most against the rate.
_WORST_FIRST: tuple[ProbeState, ...] = ("broken", "invalid", "unsustained", "open", "sustained")


@dataclass(frozen=True, slots=True)
class _Zero:
    """Where a query's series begins."""

    at_s: float
    committed: float


class ProbeRecording:
    """Takes in looks while a probe runs."""

    def __init__(self, work: Work) -> None:
        self.moments: dict[str, list[ProbeMoment]] = {}
        """By the name of the query."""
        self.problem: str | None = None
        """Why there is no series, as far as a look has told it."""
        self.failed: str | None = None
        """Why a query ended."""
        self._work = work
        self._zeros: dict[str, _Zero] = {}
        self._busy: Reading | None = None

    def add(self, now: Observation, host_cores: float | None = None) -> None:
        """One look, and what the whole host used since the one before."""
        used, executors = self._used_cores(now.pools), sum(pool.ready for pool in now.pools)
        for query in now.queries:
            if query.error is not None:
                self.failed = f"{query.name} failed: {query.error}"
            totals = _totals(query)
            if totals is None:
                self.problem = query.not_known("what has arrived")
                continue
            arrived, committed = totals
            zero = self._zeros.setdefault(query.name, _Zero(now.at_s, committed))
            series = self.moments.setdefault(query.name, [])
            # Of what a query began with, nothing is known: it has no past of its own.
            series.append(
                ProbeMoment(
                    at_s=now.at_s - zero.at_s,
                    arrived=arrived - zero.committed,
                    committed=committed - zero.committed,
                    executors=executors,
                    used_cores=used if series else None,
                    host_cores=host_cores if series else None,
                )
            )

    def _used_cores(self, pools: Sequence[Pool]) -> float | None:
        if self._work == "real":
            return _used_by_processes(pools)
        # Slots that sleep use no processor: how many are busy stands in.
        readings = [pool.busy_slot_s for pool in pools]
        if None in readings:
            return None
        busy = Reading(sum(one.value for one in readings if one), max(one.at_s for one in readings if one))
        before, self._busy = self._busy, busy
        if before is None or busy.at_s <= before.at_s:
            return None
        return (busy.value - before.value) / (busy.at_s - before.at_s)

    def judge(self, terms: ProbeTerms) -> ProbeVerdict:
        """Of all queries: a rate is sustained if each of them does."""
        if self.failed is not None:
            return ProbeVerdict(state="broken", reason=self.failed)
        return judge_queries(self.moments, terms)


def judge_queries(moments: Mapping[str, Sequence[ProbeMoment]], terms: ProbeTerms) -> ProbeVerdict:
    """The verdict on the query that speaks most against the rate; its name is told where there are several."""
    verdicts = {name: judge_probe(series, terms) for name, series in moments.items()}
    if not verdicts:
        return ProbeVerdict(state="open", reason="no query has begun")
    name, worst = min(verdicts.items(), key=lambda item: _WORST_FIRST.index(item[1].state))
    if len(verdicts) == 1:
        return worst
    return ProbeVerdict(state=worst.state, reason=f"{name}: {worst.reason}", evidence=worst.evidence)


def write_moments(moments: Mapping[str, Sequence[ProbeMoment]], file: Path) -> None:
    """As a table: what is unknown is empty."""
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for query, series in moments.items():
            for one in series:
                values = (getattr(one, name) for name in _COLUMNS[1:])
                writer.writerow([query, *("" if value is None else f"{value:.10g}" for value in values)])


def read_moments(file: Path) -> dict[str, list[ProbeMoment]]:
    """BadInput where it is no such table."""
    found: dict[str, list[ProbeMoment]] = {}
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                numbers = {name: float(row[name]) if row[name] else None for name in _COLUMNS[1:]}
                found.setdefault(row["query"], []).append(_moment(numbers))
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise BadInput(f"{file}: is no series of a probe: {wrong}") from None
    return found


def _moment(numbers: Mapping[str, float | None]) -> ProbeMoment:
    at_s, arrived, committed, executors = (numbers[name] for name in ("at_s", "arrived", "committed", "executors"))
    if at_s is None or arrived is None or committed is None or executors is None:
        raise ValueError("a time or a total is missing")
    return ProbeMoment(
        at_s=at_s, arrived=arrived, committed=committed, executors=int(executors),
        used_cores=numbers["used_cores"], host_cores=numbers["host_cores"],
    )  # fmt: skip


def _totals(query: Query) -> tuple[float, float] | None:
    """Over all sources; None where one of them does not tell."""
    arrived = committed = 0.0
    for source in query.sources:
        if source.arrived is None or source.committed is None:
            return None
        arrived, committed = arrived + source.arrived.value, committed + source.committed.value
    return (arrived, committed) if query.sources else None


def _used_by_processes(pools: Sequence[Pool]) -> float | None:
    used = 0.0
    for pool in pools:
        for worker in pool.workers:
            if worker.cpu is None:
                return None
            used += worker.cpu.value * pool.slots_per_worker
    return used

"""A recording as lines to draw: one moment per tick, and None where something was not known."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from elastream.core.observation import Observation, Query, Reading
from elastream.core.slo import Judged
from elastream.core.tick import Tick
from elastream.evaluation.rates import Total, Value
from elastream.journal.format import Header
from elastream.journal.reader import Recording

Measure = Literal["arrived", "committed", "backlog", "delay", "to-come", "wanted", "ready", "leaving"]
Key = tuple[str, Measure]
"""A query's id, or nothing for the whole application."""

ABSENT_TICKS = 3
"""Nobody looked if so many ticks are missing; fewer are a loop that was late."""
TOUCHING_S = 1.0
"""Ticks come a little late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleSpan:
    """A stretch of time in which something was wrong."""

    kind: Literal["blind", "trouble", "absent", "limited"]
    start: float
    end: float
    text: str


@dataclass(slots=True)
class History:
    """Everything a page shows over time. Times are UTC, carried on from the first tick by the monotonic clock."""

    at: list[float] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Query id -> name."""
    slos_s: set[float] = field(default_factory=set)
    on_time: dict[str, Judged] = field(default_factory=dict)
    """Query id -> its promise, and how it was kept by the end."""
    within: list[bool | None] = field(default_factory=list)
    """Whether every promise was kept; None where it is unknown or nothing was promised."""
    spans: list[TroubleSpan] = field(default_factory=list)
    window_s: float = 0.0
    """Rates are means over so long."""
    ticks: int = 0
    first_part: int = 0
    """Parts before it are of runs that cannot stand on the same axis, as their times overlap those of later ones."""
    last: Observation | None = None
    _columns: dict[Key, list[Value]] = field(default_factory=dict)

    def column(self, measure: Measure, query: str = "") -> list[Value]:
        """One value per moment."""
        return self._columns.get((query, measure)) or [None] * len(self.at)

    def add(self, at: float, values: Mapping[Key, Value], within: bool | None = None) -> None:
        """One moment; what is not given is unknown."""
        for key in values.keys() - self._columns.keys():
            self._columns[key] = [None] * len(self.at)
        for key, column in self._columns.items():
            value = values.get(key)
            column.append(value if value is not None and math.isfinite(value) else None)
        self.at.append(at)
        self.within.append(within)

    @property
    def start(self) -> float:
        """The first moment."""
        return self.at[0] if self.at else 0.0

    @property
    def end(self) -> float:
        """The last one; never the first."""
        return max(self.at[-1], self.start + 1.0) if self.at else 1.0


def gather(recording: Recording) -> History:
    """The ticks of the newest runs whose times follow each other."""
    history = History()
    run, rates, offset = None, _Rates(), 0.0
    for number, part in enumerate(recording.parts):
        for tick in part.ticks:
            if part.header.run != run:
                run, rates, offset = part.header.run, _Rates(), tick.utc_s - tick.at_s
                if history.at and tick.utc_s <= history.at[-1]:
                    history = History(first_part=number)
            at = tick.at_s + offset
            if not math.isfinite(at) or (history.at and at <= history.at[-1]):
                continue
            _note_absence(history, part.header, at)
            _take(history, part.header, tick, at, rates)
    history.spans = list(_merged(history.spans))
    return history


def _take(history: History, header: Header, tick: Tick, at: float, rates: "_Rates") -> None:
    now, values = tick.observation, dict[Key, Value]()
    if tick.decision is not None:
        values["", "wanted"] = sum(tick.decision.allocation.values())
    elif now is not None:
        values["", "wanted"] = sum(pool.wanted for pool in now.pools)
    within = None
    if now is not None:
        values["", "ready"] = sum(pool.ready for pool in now.pools)
        values["", "leaving"] = sum(pool.leaving for pool in now.pools)
        window_s = max([10.0, 4 * header.tick_s, *(2 * (query.trigger.interval_s or 0.0) for query in now.queries)])
        history.window_s = max(history.window_s, window_s)
        values |= _of_queries(now, rates, window_s)
        within = now.is_within_slo
        history.names |= {query.id: query.name or query.id[:8] for query in now.queries}
        history.slos_s |= {query.slo.delay_s for query in now.queries if query.slo}
        for query in now.queries:
            if query.slo is not None and query.on_time is not None:
                history.on_time[query.id] = query.slo, query.on_time
        history.last = now
    history.add(at, values, within)
    history.ticks += 1
    end = at + header.tick_s
    if now is None:
        told = "; ".join(tick.troubles) or "no look"
        history.spans.append(TroubleSpan(kind="blind", start=at, end=end, text=told))
    elif wrong := [*tick.troubles, *_ill(now)]:
        history.spans.append(TroubleSpan(kind="trouble", start=at, end=end, text="; ".join(wrong)))
    elif tick.bottlenecks:
        told = "; ".join(one.sentence for one in tick.bottlenecks)
        history.spans.append(TroubleSpan(kind="limited", start=at, end=end, text=told))


def _of_queries(now: Observation, rates: "_Rates", window_s: float) -> dict[Key, Value]:
    """Per query, and over all: sums, and for the delay the longest."""
    values: dict[Key, Value] = {}
    alive = [query for query in now.queries if query.phase != "terminated"]
    for query in alive:
        values[query.id, "arrived"] = rates.of(query, "arrived", window_s)
        values[query.id, "committed"] = rates.of(query, "committed", window_s)
        values[query.id, "backlog"] = query.backlog
        values[query.id, "delay"] = query.delay.p95_s if query.delay else None
    for measure in ("arrived", "committed", "backlog"):
        values["", measure] = _sum([values[query.id, measure] for query in alive])
    values["", "delay"] = max((query.delay.p95_s for query in alive if query.delay), default=None)
    # Where nothing was committed lately, what waits has waited at least so long.
    values["", "to-come"] = now.delay_to_come_s if values["", "delay"] is None else None
    return values


class _Rates:
    """Running totals of all sources, and how fast they grew lately."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, str, str], Total] = defaultdict(Total)

    def of(self, query: Query, measure: Literal["arrived", "committed"], window_s: float) -> Value:
        found: list[Value] = []
        for source in query.sources:
            reading: Reading | None = getattr(source, measure)
            total = self._totals[query.id, source.name, measure]
            found.append(None if reading is None else total.rate(reading, window_s))
        return _sum(found)


def _sum(values: list[Value]) -> Value:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _ill(now: Observation) -> Iterator[str]:
    for query in now.queries:
        if query.error is not None:
            yield f"query {query.name} failed: {query.error}"
        elif query.phase == "restarting":
            yield f"query {query.name} is restarting"


def _note_absence(history: History, header: Header, at: float) -> None:
    if not history.at or at - history.at[-1] <= max(ABSENT_TICKS * header.tick_s, header.max_age_s):
        return
    since = history.at[-1] + header.tick_s
    # A moment at which nothing is known: lines end before it and begin again after it.
    history.add(since, {})
    history.spans.append(
        TroubleSpan(kind="absent", start=since, end=at, text="nothing was recorded: the loop did not run")
    )


def _merged(spans: list[TroubleSpan]) -> Iterator[TroubleSpan]:
    """Stretches of the same kind that touch are one."""
    last: TroubleSpan | None = None
    for span in spans:
        if last is not None and span.kind == last.kind and span.start <= last.end + TOUCHING_S:
            last = replace(last, end=span.end)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last

"""A run over time: one moment per tick, from a loop that runs, a simulation or a recording alike."""

import math
from collections.abc import Iterator, Mapping
from typing import Literal

from elastream.core.decision import Kind
from elastream.core.observation import Observation
from elastream.core.slo import Judged, worst_of
from elastream.core.tick import Tick
from elastream.evaluation.actions import ActionCount
from elastream.evaluation.measures import (
    Value,
    count_leaving,
    count_paid,
    count_ready,
    count_wanted,
    find_slowest,
    living_queries,
    sum_backlogs,
    sum_known,
)
from elastream.evaluation.rates import QueryRates
from elastream.evaluation.spans import TroubleSpan, add_span, find_trouble

Measure = Literal["arrived", "committed", "backlog", "delay", "to-come", "wanted", "ready", "leaving", "paid"]
Key = tuple[str, Measure]
"""A query's id, or nothing for the whole application."""

ABSENT_TICKS = 3
"""Nobody looked if so many ticks are missing; fewer are a loop that was late."""
SHORTEST_WINDOW_S = 10.0
"""Long enough for a rate to be steady, short enough to follow a spike."""

COLUMNS: dict[str, Measure] = {
    "arrived_rps": "arrived",
    "committed_rps": "committed",
    "wanted": "wanted",
    "ready": "ready",
    "leaving": "leaving",
    "paid": "paid",
    "backlog": "backlog",
    "delay_p95_s": "delay",
}
"""What a table of a series has of the whole application: name -> measure."""


class RunSeries:
    """Everything that is told over time. Times are UTC, carried on from the first tick by the monotonic clock.

    Implements Journal, so that a loop can write into it.
    """

    def __init__(self, *, tick_s: float, max_age_s: float = 0.0) -> None:
        self.at: list[float] = []
        self.kinds: list[Kind | None] = []
        """Of the decisions; None where nothing was decided."""
        self.within: list[bool | None] = []
        """Whether every promise was kept; None where it is unknown or nothing was promised."""
        self.attended: list[bool] = []
        """Whether the loop ran from this moment on."""
        self.spans: list[TroubleSpan] = []
        self.names: dict[str, str] = {}
        """Query id -> name."""
        self.slos_s: set[float] = set()
        self.on_time: dict[str, Judged] = {}
        """Query id -> its promise, and how it was kept by the end."""
        self.window_s = 0.0
        """Rates are means over so long."""
        self.ticks = 0
        self.holds = 0
        """Looks at which the size was held because something was unknown."""
        self.actions = ActionCount()
        self.last: Observation | None = None
        """What was seen last."""
        self.last_tick: Tick | None = None
        self._columns: dict[Key, list[Value]] = {}
        self.begin(tick_s=tick_s, max_age_s=max_age_s)

    def begin(self, *, tick_s: float, max_age_s: float = 0.0) -> None:
        """The loop begins, or begins again: clock and totals of the ticks to come may have nothing to do with others.

        Nobody looked where ticks are further apart than three times `tick_s`, and than `max_age_s`.
        """
        self._tick_s = tick_s
        self._absent_s = max(ABSENT_TICKS * tick_s, max_age_s)
        self._rates = QueryRates()
        self._offset_s: float | None = None

    def update(self, tick: Tick) -> None:
        """Take in one tick; one that is not later than the last is left out."""
        if self._offset_s is None:
            self._offset_s = tick.utc_s - tick.at_s
        at = tick.at_s + self._offset_s
        if not math.isfinite(at) or (self.at and at <= self.at[-1]):
            return
        self._note_absence(at)
        now, within, values = tick.observation, None, dict[Key, Value]()
        values["", "wanted"] = count_wanted(tick)
        if now is not None:
            values["", "ready"] = count_ready(now)
            values["", "leaving"] = count_leaving(now)
            values["", "paid"] = count_paid(now)
            self._measure_queries(now, values)
            self._note_promises(now)
            within = now.is_within_slo
            self.holds += tick.decision is not None and tick.decision.kind == "hold"
            self.last = now
        self._add(at, values, within, tick.decision.kind if tick.decision is not None else None)
        self.actions.update(tick)
        self.ticks += 1
        self.last_tick = tick
        if (trouble := find_trouble(tick)) is not None:
            kind, text = trouble
            add_span(self.spans, TroubleSpan(kind=kind, start=at, end=at + self._tick_s, text=text))

    def write(self, tick: Tick) -> None:
        """Take in one tick. Implements Journal."""
        self.update(tick)

    def close(self) -> None:
        """Nothing to close. Implements Journal."""

    def column(self, measure: Measure, query: str = "") -> list[Value]:
        """One value per moment, of one query or of all."""
        return self._columns.get((query, measure)) or [None] * len(self.at)

    def latest(self, measure: Measure) -> Value:
        """The value of the last moment."""
        column = self._columns.get(("", measure))
        return column[-1] if column else None

    @property
    def promise(self) -> Judged | None:
        """The promise that was kept least over the run, and how; None if none was made or judged."""
        return worst_of(self.on_time.values())

    @property
    def start(self) -> float:
        """The first moment."""
        return self.at[0] if self.at else 0.0

    @property
    def end(self) -> float:
        """The last one; never the first."""
        return max(self.at[-1], self.start + 1.0) if self.at else 1.0

    def rows(self) -> Iterator[dict[str, object]]:
        """The moments as rows of a table, in seconds since the first one; what is unknown is None."""
        columns = {name: self.column(measure) for name, measure in COLUMNS.items()}
        for i, at in enumerate(self.at):
            yield {
                "t_seconds": at - self.start,
                **{name: column[i] for name, column in columns.items()},
                "within_slo": self.within[i],
                "decision": self.kinds[i],
            }

    def _measure_queries(self, now: Observation, values: dict[Key, Value]) -> None:
        """Per query, and over all: sums, and for the delay the longest."""
        queries = living_queries(now)
        triggers_s = [query.trigger.interval_s or 0.0 for query in now.queries]
        window_s = max(SHORTEST_WINDOW_S, 4 * self._tick_s, 2 * max(triggers_s, default=0.0))
        self.window_s = max(self.window_s, window_s)
        for query in queries:
            values[query.id, "arrived"] = self._rates.update(query, "arrived", window_s)
            values[query.id, "committed"] = self._rates.update(query, "committed", window_s)
            values[query.id, "backlog"] = query.backlog
            values[query.id, "delay"] = query.delay.p95_s if query.delay else None
        values["", "arrived"] = sum_known([values[query.id, "arrived"] for query in queries])
        values["", "committed"] = sum_known([values[query.id, "committed"] for query in queries])
        values["", "backlog"] = sum_backlogs(queries)
        slowest = find_slowest(queries)
        values["", "delay"] = slowest.p95_s if slowest is not None else None
        # Where nothing was committed lately, what waits has waited at least so long.
        values["", "to-come"] = now.delay_to_come_s if slowest is None else None

    def _note_promises(self, now: Observation) -> None:
        for query in now.queries:
            self.names[query.id] = query.name or query.id[:8]
            if query.slo is not None:
                self.slos_s.add(query.slo.delay_s)
                if query.on_time is not None:
                    self.on_time[query.id] = query.slo, query.on_time

    def _note_absence(self, at: float) -> None:
        if not self.at or at - self.at[-1] <= self._absent_s:
            return
        since = self.at[-1] + self._tick_s
        # A moment at which nothing is known: lines end before it and begin again after it.
        self._add(since, {}, None, None, attended=False)
        text = "nothing was recorded: the loop did not run"
        add_span(self.spans, TroubleSpan(kind="absent", start=since, end=at, text=text))

    def _add(
        self, at: float, values: Mapping[Key, Value], within: bool | None, kind: Kind | None, *, attended: bool = True
    ) -> None:
        """One moment; what is not given is unknown."""
        columns, before, is_finite = self._columns, len(self.at), math.isfinite
        for key, value in values.items():
            column = columns.get(key)
            if column is None:
                column = columns[key] = [None] * before
            column.append(value if value is None or is_finite(value) else None)
        if len(values) < len(columns):
            for column in columns.values():
                if len(column) == before:
                    column.append(None)
        self.at.append(at)
        self.within.append(within)
        self.kinds.append(kind)
        self.attended.append(attended)

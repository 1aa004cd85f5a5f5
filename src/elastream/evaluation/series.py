"""A run over time: one moment per tick, from a loop that runs, a simulation or a recording alike."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from elastream.core.decision import Kind
from elastream.core.observation import Observation
from elastream.core.paid import count_paid
from elastream.core.slo import Judged, worst_of
from elastream.core.tick import Tick
from elastream.evaluation.actions import ActionCount
from elastream.evaluation.measures import (
    Value,
    count_leaving,
    count_ready,
    count_requested,
    count_wanted,
    find_longest_batch,
    find_slowest,
    living_queries,
    mean_cpu,
    mean_memory,
    sum_backlogs,
    sum_known,
)
from elastream.evaluation.rates import QueryRates
from elastream.evaluation.spans import TroubleSpan, add_span, find_trouble
from elastream.evaluation.totals import RunTotals

Measure = Literal[
    "arrived", "committed", "backlog", "delay", "delay-p50", "to-come", "age", "batch", "wanted", "requested", "ready",
    "leaving", "paid", "changing", "actions", "cpu", "memory",
]  # fmt: skip
QUERY_MEASURES: tuple[Measure, ...] = ("arrived", "committed", "backlog", "delay")
"""What is told of single queries as well."""

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
    "actions": "actions",
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
        self.totals = RunTotals()
        self.last: Observation | None = None
        """What was seen last."""
        self.last_tick: Tick | None = None
        self._columns: dict[Measure, list[Value]] = {measure: [] for measure in get_args(Measure)}
        self._query_columns: dict[str, dict[Measure, list[Value]]] = {}
        """Query id -> columns, which end with the last look that saw it."""
        self.begin(tick_s=tick_s, max_age_s=max_age_s)

    def begin(self, *, tick_s: float, max_age_s: float = 0.0) -> None:
        """The loop begins, or begins again: clock and totals of the ticks to come may have nothing to do with others.

        Nobody looked where ticks are further apart than three times `tick_s`, and than `max_age_s`.
        """
        self._tick_s = tick_s
        self._absent_s = max(ABSENT_TICKS * tick_s, max_age_s)
        self._shortest_window_s = max(SHORTEST_WINDOW_S, 4 * tick_s)
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
        now, decision = tick.observation, tick.decision
        self.actions.update(tick)
        self._columns["wanted"].append(count_wanted(tick))
        self._columns["actions"].append(self.actions.actions)
        if now is not None:
            self._columns["requested"].append(count_requested(now))
            self._columns["ready"].append(count_ready(now))
            self._columns["leaving"].append(count_leaving(now))
            self._columns["paid"].append(count_paid(now))
            self._columns["changing"].append(float(any(pool.in_flux for pool in now.pools)))
            self._columns["cpu"].append(_believable(mean_cpu(now)))
            self._columns["memory"].append(_believable(mean_memory(now)))
            self.totals.update(now)
            self._measure_queries(now)
            self._note_promises(now)
            self.holds += decision is not None and decision.kind == "hold"
            self.last = now
        kind = decision.kind if decision is not None else None
        self._end_moment(at, within=now.is_within_slo if now is not None else None, kind=kind)
        self.ticks += 1
        self.last_tick = tick
        if (trouble := find_trouble(tick)) is not None:
            wrong, text = trouble
            add_span(self.spans, TroubleSpan(kind=wrong, start=at, end=at + self._tick_s, text=text))

    def write(self, tick: Tick) -> None:
        """Take in one tick. Implements Journal."""
        self.update(tick)

    def close(self) -> None:
        """Nothing to close. Implements Journal."""

    def trim(self, keep: int) -> None:
        """Forget all but so many moments, and queries that have none among them: who follows for weeks stays small.

        A summary is then one of what is left, and of totals over the whole run.
        """
        gone = len(self.at) - keep
        if gone <= 0:
            return
        del self.at[:gone], self.kinds[:gone], self.within[:gone], self.attended[:gone]
        for column in self._columns.values():
            del column[:gone]
        for query, columns in list(self._query_columns.items()):
            for column in columns.values():
                del column[:gone]
            if not any(columns.values()):
                del self._query_columns[query]
                self.names.pop(query, None)
                self.on_time.pop(query, None)
        self.spans = [span for span in self.spans if span.end >= self.at[0]]

    def column(self, measure: Measure, query: str = "") -> list[Value]:
        """One value per moment, of one query or of all."""
        if not query:
            return self._columns[measure]
        found = self._query_columns.get(query, {}).get(measure, [])
        return found + [None] * (len(self.at) - len(found))

    def latest(self, measure: Measure) -> Value:
        """The value of the last moment."""
        column = self._columns[measure]
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

    def _measure_queries(self, now: Observation) -> None:
        """Per query, and over all: sums, and for the delay the longest."""
        queries, columns = living_queries(now), self._columns
        window_s = self._window(now)
        arrived, committed = [], []
        for query in queries:
            arrived.append(self._rates.update(query, "arrived", window_s))
            committed.append(self._rates.update(query, "committed", window_s))
            delay_s = query.delay.p95_s if query.delay else None
            self._add_query(query.id, (arrived[-1], committed[-1], query.backlog, delay_s))
        columns["arrived"].append(_believable(sum_known(arrived)))
        columns["committed"].append(_believable(sum_known(committed)))
        columns["backlog"].append(_believable(sum_backlogs(queries)))
        slowest = find_slowest(queries)
        columns["delay"].append(None if slowest is None else _believable(slowest.p95_s))
        columns["delay-p50"].append(None if slowest is None else _believable(slowest.p50_s))
        columns["batch"].append(_believable(find_longest_batch(queries)))
        # Where nothing was committed lately, what waits has waited at least so long.
        age_s = _believable(now.delay_to_come_s)
        columns["age"].append(age_s)
        columns["to-come"].append(age_s if slowest is None else None)

    def _window(self, now: Observation) -> float:
        """Rates are means over so long: several looks, and several batches."""
        window_s = self._shortest_window_s
        for query in now.queries:
            if query.trigger.interval_s is not None:
                window_s = max(window_s, 2 * query.trigger.interval_s)
        self.window_s = max(self.window_s, window_s)
        return window_s

    def _add_query(self, query: str, values: Sequence[Value]) -> None:
        columns, before = self._query_columns.get(query), len(self.at)
        if columns is None:
            columns = self._query_columns[query] = {measure: [] for measure in QUERY_MEASURES}
        for column, value in zip(columns.values(), values, strict=True):
            if len(column) < before:
                column.extend([None] * (before - len(column)))
            column.append(_believable(value))

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
        self._end_moment(since, within=None, kind=None, attended=False)
        text = "nothing was recorded: the loop did not run"
        add_span(self.spans, TroubleSpan(kind="absent", start=since, end=at, text=text))

    def _end_moment(self, at: float, *, within: bool | None, kind: Kind | None, attended: bool = True) -> None:
        """What nothing was said about is unknown."""
        self.at.append(at)
        self.within.append(within)
        self.kinds.append(kind)
        self.attended.append(attended)
        for column in self._columns.values():
            if len(column) < len(self.at):
                column.append(None)


def _believable(value: Value) -> Value:
    """What is more than a number can be says nothing."""
    return value if value is None or math.isfinite(value) else None

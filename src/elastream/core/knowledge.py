"""What the loop knows: the fold of all observations and decisions, bounded, at the resolution of the ticks.

A signal is remembered for as long as somebody has asked about, and no longer: with a thousand workers an hour of every
reading is millions of numbers, of which a policy looks at the last minute of a few. Nothing that is asked depends on
what was dropped, unless a longer time is asked about than ever before; then the answer is that of a shorter run.

Whoever asks about a window of what rises and falls with every micro-batch is answered for whole batches
(`batch_windows`). Where there are none, as in a continuous engine, a window is as long as was asked.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import asdict, dataclass
from typing import Any

from elastream.core.batch_windows import MOVED_BY_BATCHES, find_periods_s, widest_s
from elastream.core.decision import Decision
from elastream.core.observation import FinishedBatch, LongestTask, Observation, Pool, Query, Reading
from elastream.core.readings import readings
from elastream.core.series import Series
from elastream.core.signals import Signal
from elastream.core.task_cost import TaskCost

HORIZON_S = 3600.0
"""Readings older than this are forgotten; a policy that needs a longer past keeps it in its own memory."""

LEAST_S = 120.0
"""What nobody has asked about yet is remembered for so long, so that who asks first after a hold finds something."""

# How far back the default policy looks for bursts depends on what it measures, and grows to half an hour.
_LEAST_BY_SIGNAL_S = {Signal.ARRIVED: 1860.0}

_PRUNE_EVERY_S = 30.0

_MAX_ACTIONS = 64
_MAX_BATCHES = 8


@dataclass(slots=True, kw_only=True)
class Action:
    """A change of one pool, and how long it took."""

    pool: str
    at_s: float
    before: int
    after: int
    done_s: float | None = None

    @property
    def took_s(self) -> float | None:
        """From the decision until the pool had the new size."""
        return None if self.done_s is None else self.done_s - self.at_s

    @property
    def grows(self) -> bool:
        """Whether it adds workers."""
        return self.after > self.before

    def reached(self, pool: Pool) -> bool:
        """Whether the pool has got there: all new workers ready, or all old ones gone."""
        return pool.ready >= self.after if self.grows else pool.ready <= self.after and not pool.leaving


class Knowledge:
    """Windows over every signal, and the changes that were made. The planner folds; policies and guards only ask."""

    def __init__(self, provides: AbstractSet[Signal] = frozenset()) -> None:
        self.declared = frozenset(provides)
        """What the platform said before the first look that it provides."""
        self.provides = self.declared
        """What is left of it as of the last look."""
        self.now_s = 0.0
        self._series: dict[tuple[Signal, str], Series] = {}
        self._asked_s: dict[Signal, float] = {}
        self._actions: deque[Action] = deque(maxlen=_MAX_ACTIONS)
        self._batches: dict[str, deque[FinishedBatch]] = {}
        self._periods_s: dict[str, float] = {}
        """Query, or a source or operator of one -> the time from one batch to the next, as of the last look."""
        self._longest_period_s = 0.0
        self._pruned_s = 0.0
        self._rates: dict[tuple[Signal, str, float], float | None] = {}
        """What was asked since the last look."""

    def fold(self, now: Observation) -> None:
        """Take in one look."""
        self.now_s = now.at_s
        self.provides = self.declared - now.lacks.keys()
        self._rates.clear()
        series = self._series
        if now.lacks:
            # Nothing can be said across a time in which it was not known, neither of totals nor of means.
            for key in [key for key in series if key[0] in now.lacks]:
                del series[key]
        for signal, subject, reading in readings(now):
            if reading is not None and signal not in now.lacks:
                found = series.get((signal, subject))
                if found is None:
                    series[signal, subject] = found = Series()
                found.add(reading)
        self._fold_batches(now)
        self._periods_s = find_periods_s(now.queries, self.batches)
        self._longest_period_s = max(self._periods_s.values(), default=0.0)
        self._finish_actions(now)
        if now.at_s - self._pruned_s >= _PRUNE_EVERY_S:
            self._prune(now)

    def note(self, now: Observation, decision: Decision) -> None:
        """Take in what was decided on that look."""
        for pool, (before, after) in decision.changes(now).items():
            last = next((action for action in reversed(self._actions) if action.pool == pool), None)
            # A change that did not arrive is stated again, and is still the same change.
            if last is None or last.done_s is not None or (last.before, last.after) != (before, after):
                self._actions.append(Action(pool=pool, at_s=now.at_s, before=before, after=after))

    def copy(self) -> Knowledge:
        """What is known now, apart from what is folded in later. Much cheaper than writing it down."""
        other = Knowledge(self.declared)
        other.provides = self.provides
        other.now_s, other._pruned_s = self.now_s, self._pruned_s
        other._series = {key: series.copy() for key, series in self._series.items()}
        other._asked_s = dict(self._asked_s)
        other._actions = deque(map(copy, self._actions), maxlen=_MAX_ACTIONS)
        other._batches = {query: batches.copy() for query, batches in self._batches.items()}
        other._periods_s, other._longest_period_s = dict(self._periods_s), self._longest_period_s
        return other

    def series(self, signal: Signal, subject: str) -> Series | None:
        """Readings of one signal of one subject, if there are any."""
        return self._asked(signal, subject, HORIZON_S)

    def covers(self, signal: Signal, subject: str, window_s: float) -> bool:
        """Whether there are readings since before a window that ends now began."""
        series = self._asked(signal, subject, window_s)
        return series is not None and series.window(self.now_s, window_s)[0].at_s <= self.now_s - window_s

    def last(self, signal: Signal, subject: str) -> Reading | None:
        """The newest reading, however old."""
        series = self._series.get((signal, subject))
        return series.last if series else None

    def rate(self, signal: Signal, subject: str, window_s: float) -> float | None:
        """Growth per second of a running total over a window that ends now."""
        # Guards, policy and bottlenecks ask for the same ones.
        key = signal, subject, window_s
        if key not in self._rates:
            series = self._asked(signal, subject, window_s)
            whole_s = self.whole_s(signal, subject, window_s)
            self._rates[key] = series.rate(self.now_s, whole_s) if series else None
        return self._rates[key]

    def slope(self, signal: Signal, subject: str, window_s: float) -> float | None:
        """Change per second of a level over a window that ends now."""
        series = self._asked(signal, subject, window_s)
        return series.slope(self.now_s, self.whole_s(signal, subject, window_s)) if series else None

    def mean(self, signal: Signal, subject: str, window_s: float) -> float | None:
        """Mean of the readings of a window that ends now."""
        series = self._asked(signal, subject, window_s)
        return series.mean(self.now_s, self.whole_s(signal, subject, window_s)) if series else None

    def whole_s(self, signal: Signal, subject: str, window_s: float) -> float:
        """How long a window really is that is asked for: one of what batches move holds whole batches."""
        period_s, series = self._period_s(signal, subject), self._series.get((signal, subject))
        if not period_s:
            return window_s
        return series.whole_s(self.now_s, window_s, period_s) if series else max(window_s, period_s)

    def arrival_rps(self, query: Query, window_s: float) -> float | None:
        """Records that arrived per second, over all sources."""
        return self._total(Signal.ARRIVED, query, window_s)

    def burst_rps(self, query: Query, window_s: float, since_s: float) -> float | None:
        """The largest sum over all sources of what each brought per second in any such window of the last time."""
        total = 0.0
        for source in query.sources:
            series = self._asked(Signal.ARRIVED, f"{query.id}/{source.name}", max(since_s, window_s))
            burst = series.fastest(self.now_s, window_s, since_s) if series else None
            if burst is None:
                return None
            total += burst
        return total if query.sources else None

    def committed_rps(self, query: Query, window_s: float) -> float | None:
        """Records committed per second, over all sources."""
        return self._total(Signal.COMMITTED, query, window_s)

    def backlog_growth_rps(self, query: Query, window_s: float) -> float | None:
        """By how many records per second the backlog grows; negative while it drains."""
        committed = self.committed_rps(query, window_s)
        if committed is None or not query.sources:
            return None
        of_s = self.whole_s(Signal.COMMITTED, f"{query.id}/{query.sources[0].name}", window_s)
        arrival = self.arrival_rps(query, of_s)
        return None if arrival is None else arrival - committed

    def busy_share(self, pool: Pool, window_s: float, *, just_now: bool = False) -> float | None:
        """Share of the pool's slot time in which a task ran; just now: of these seconds, and not of whole batches."""
        series = [self._asked(signal, pool.name, window_s) for signal in (Signal.BUSY_SLOTS, Signal.READY)]
        of_s = window_s if just_now else self.whole_s(Signal.BUSY_SLOTS, pool.name, window_s)
        busy = series[0].rate(self.now_s, of_s) if series[0] else None
        ready = series[1].mean(self.now_s, of_s) if series[1] else None
        if busy is None or not ready:
            return None
        return min(1.0, busy / (ready * pool.slots_per_worker))

    def batches(self, query: str) -> tuple[FinishedBatch, ...]:
        """The last batches of a query that were seen to have ended, oldest first. Short ones may end unseen."""
        return tuple(self._batches.get(query, ()))

    @property
    def actions(self) -> tuple[Action, ...]:
        """The changes made, oldest first."""
        return tuple(self._actions)

    def last_action_s(self) -> float | None:
        """When a pool was changed last."""
        return self._actions[-1].at_s if self._actions else None

    def grow_s(self, pool: str) -> float | None:
        """How long the last finished growth of a pool took."""
        return self._took(action for action in self._actions if action.pool == pool and action.grows)

    def shrink_s(self, pool: str) -> float | None:
        """How long the last finished shrink of a pool took."""
        return self._took(action for action in self._actions if action.pool == pool and not action.grows)

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values. Series that were read at the same times share them."""
        columns: dict[tuple[Signal, tuple[float, ...]], dict[str, list[float]]] = {}
        for (signal, subject), series in sorted(self._series.items()):
            times = tuple(_short(reading.at_s) for reading in series)
            columns.setdefault((signal, times), {})[subject] = [_short(reading.value) for reading in series]
        return {
            "now_s": self.now_s,
            "pruned_s": self._pruned_s,
            "asked_s": {signal.value: asked_s for signal, asked_s in sorted(self._asked_s.items())},
            "columns": [[signal.value, list(times), values] for (signal, times), values in sorted(columns.items())],
            "actions": [asdict(action) for action in self._actions],
            "batches": {query: [asdict(batch) for batch in batches] for query, batches in self._batches.items()},
        }

    @classmethod
    def from_json(cls, value: dict[str, Any], provides: AbstractSet[Signal] = frozenset()) -> Knowledge:
        """The inverse of `to_json`."""
        known = cls(provides)
        known.now_s, known._pruned_s = _numbers([value["now_s"], value["pruned_s"]])
        asked = value.get("asked_s", {})
        known._asked_s = dict(zip(map(Signal, asked), _numbers(list(asked.values())), strict=True))
        for signal, times, columns in value.get("columns", ()):
            _numbers(times)
            for subject, column in columns.items():
                _numbers(column)
                known._series[Signal(signal), subject] = Series(
                    Reading(read, at_s) for read, at_s in zip(column, times, strict=True)
                )
        # Up to the second schema of journals every series had its own times.
        for signal, subject, points in value.get("series", ()):
            known._series[Signal(signal), subject] = Series(Reading(*_numbers(point)) for point in points)
        known._actions.extend(Action(**action) for action in value["actions"])
        for query, batches in value.get("batches", {}).items():
            known._batches[query] = deque(map(_batch, batches), maxlen=_MAX_BATCHES)
        return known

    def _asked(self, signal: Signal, subject: str, window_s: float) -> Series | None:
        """A series of which somebody wants to know a window, so that it is remembered for so long from now on."""
        if window_s > self._asked_s.get(signal, _least_s(signal)):
            self._asked_s[signal] = min(window_s, HORIZON_S)
        return self._series.get((signal, subject))

    def _period_s(self, signal: Signal, subject: str) -> float:
        """From one batch to the next, of the query that a subject belongs to; of a pool or worker, the longest.

        0 where there are none, and of a signal that they do not move.
        """
        if signal not in MOVED_BY_BATCHES:
            return 0.0
        return self._periods_s.get(subject, self._longest_period_s)

    def _total(self, signal: Signal, query: Query, window_s: float) -> float | None:
        total = 0.0
        for source in query.sources:
            rate = self.rate(signal, f"{query.id}/{source.name}", window_s)
            if rate is None:
                return None
            total += rate
        return total if query.sources else None

    def _fold_batches(self, now: Observation) -> None:
        for query in now.queries:
            batch, seen = query.finished, self._batches.get(query.id)
            if batch is None:
                continue
            if seen is None:
                self._batches[query.id] = seen = deque(maxlen=_MAX_BATCHES)
            if not seen or batch.ended_s > seen[-1].ended_s:
                seen.append(batch)

    def _finish_actions(self, now: Observation) -> None:
        pools = {pool.name: pool for pool in now.pools}
        grew: dict[str, bool] = {}
        for action in reversed(self._actions):
            # A change that was reversed before it was done never will be, nor any before it; one that was followed by
            # more of the same is done on the way.
            if grew.setdefault(action.pool, action.grows) != action.grows:
                pools.pop(action.pool, None)
            if not pools:
                return
            pool = pools.get(action.pool)
            if pool is not None and action.done_s is None and action.reached(pool):
                action.done_s = now.at_s

    @staticmethod
    def _took(actions: Iterable[Action]) -> float | None:
        done = [action.took_s for action in actions if action.took_s is not None]
        return done[-1] if done else None

    def _prune(self, now: Observation) -> None:
        # With thousands of series, of few signals and periods each.
        oldest_s: dict[tuple[Signal, float], float] = {}
        silent = []
        for key, series in self._series.items():
            signal, period_s = key[0], self._period_s(*key)
            before_s = oldest_s.get((signal, period_s))
            if before_s is None:
                asked_s = max(_least_s(signal), self._asked_s.get(signal, 0.0))
                before_s = self.now_s - min(HORIZON_S, widest_s(asked_s, period_s))
                oldest_s[signal, period_s] = before_s
            series.forget_before(before_s)
            if series.last_s < before_s:
                silent.append(key)
        if silent:
            # Of what still exists the last reading is kept, however old: an idle query does not lose its state.
            exists = {(signal, subject) for signal, subject, _ in readings(now)}
            for key in silent:
                if key not in exists:
                    del self._series[key]
        self._batches = {query.id: seen for query in now.queries if (seen := self._batches.get(query.id))}
        self._pruned_s = self.now_s


def _least_s(signal: Signal) -> float:
    """For how long a signal is remembered that nobody has asked about for longer."""
    return _LEAST_BY_SIGNAL_S.get(signal, LEAST_S)


def _short(value: float) -> float:
    """The same number without a fraction that is none: counts are most of what is written."""
    return int(value) if abs(value) < 1e15 and value == int(value) else value


def _numbers(values: list[Any]) -> list[float]:
    """The values, if all of them are numbers: a journal may have been written by anybody."""
    for value in values:
        if type(value) not in (int, float) or not -math.inf < value < math.inf:
            raise ValueError(f"found {value!r} where a number belongs")
    return values


def _batch(value: dict[str, Any]) -> FinishedBatch:
    longest, cost = value.get("longest"), value.get("cost")
    return FinishedBatch(
        **{
            **value,
            "longest": None if longest is None else LongestTask(**longest),
            "cost": None if cost is None else TaskCost(**cost),
        }
    )

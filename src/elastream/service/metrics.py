"""What Prometheus is told: gauges of the last tick, so that a series ends with its query, and counters since the start.

Names are those of `metric_names`. Labels are few: an application by its name and never its id, queries that run, the
guards and reasons there are.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, NamedTuple, cast

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from elastream.core.decision import Decision
from elastream.core.observation import Observation, Query
from elastream.core.paid import count_paid
from elastream.core.tick import Tick
from elastream.evaluation.measures import living_queries
from elastream.evaluation.predictions import find_forecasts, find_horizon
from elastream.evaluation.present import BusyShare, PresentCapacity
from elastream.evaluation.rates import QueryRates
from elastream.journal.format import Header
from elastream.render.page.moment import find_pause, find_state
from elastream.service.metric_names import METRICS

MOST_QUERIES = 200
"""Queries that have series of their own, oldest first; who has more has another way to look at them."""
RATE_WINDOW_S = 60.0
BATCH_S = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0)
SCALING_S = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
TICK_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, ...]
"""Values of a metric's labels but the application, in their order."""
Samples = dict[Labels, float]


class _Pending(NamedTuple):
    """A change that was decided and is not seen to be done."""

    at_s: float
    after: int
    action: str


class _Durations:
    """How often something took how long."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        # A clock that was set makes no negative time.
        seconds = max(0.0, seconds)
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    def told(self) -> tuple[list[tuple[str, float]], float]:
        """Counts up to each bound, and the sum."""
        bounds = [*map(floatToGoString, self._bounds), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self._counts)), strict=True)), self._sum


@dataclass(slots=True)
class _Followed:
    """What is remembered of one query while it runs."""

    name: str
    """As its series call it: of two queries of the same name, the second with the beginning of its id."""
    batches: _Durations = field(default_factory=lambda: _Durations(BATCH_S))
    batch: int | None = None
    capacity: PresentCapacity = field(default_factory=PresentCapacity)
    now: dict[str, float | None] = field(default_factory=dict)
    judged: float = 0.0
    late: float = 0.0


class RunMetrics(Collector):
    """Follows ticks, and is asked by a scrape. Implements Journal."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)
        self._lock = threading.Lock()
        self._header: Header | None = None
        self._last: Tick | None = None
        self._rates = QueryRates()
        self._busy = BusyShare(RATE_WINDOW_S)
        self._busy_ratio: float | None = None
        self._counts: Counter[tuple[str, str]] = Counter()
        """By metric and by the value of its label, if it has one."""
        self._seconds = {"elastream_executor_seconds_total": 0.0, "elastream_slo_violation_seconds_total": 0.0}
        self._queries: dict[str, _Followed] = {}
        self._pending: dict[str, _Pending] = {}
        self._scaling: dict[str, _Durations] = {}
        self._tick_s = _Durations(TICK_S)

    def begin_run(self, header: Header) -> None:
        """A run begins."""
        with self._lock:
            self._header = header

    def write(self, tick: Tick) -> None:
        """Take in one tick. Implements Journal."""
        with self._lock:
            self._count(tick)
            self._last = tick

    def close(self) -> None:
        """Nothing to close. Implements Journal."""

    def scrape(self) -> bytes:
        """The answer to a scrape."""
        return generate_latest(self.registry)

    def _application(self) -> str:
        """Its name: an id changes with every start, and series by it would never end."""
        header = self._header
        return (header.name or header.application or header.platform) if header is not None else ""

    def _count(self, tick: Tick) -> None:
        now, decision, before = tick.observation, tick.decision, self._last
        self._counts["elastream_ticks_total", ""] += 1
        for trouble in tick.troubles:
            self._counts["elastream_errors_total", _stage_of(trouble)] += 1
        if decision is not None:
            self._counts["elastream_decisions_total", _action_of(decision, now)] += 1
            if decision.kind == "hold":
                self._counts["elastream_holds_total", _reason_of(decision, now)] += 1
            for guard in {note.guard for note in decision.adjustments}:
                self._counts["elastream_adjustments_total", guard] += 1
        if now is None:
            return
        lost = any("events" in trouble and "lost" in trouble for trouble in now.troubles)
        self._counts["elastream_telemetry_gaps_total", ""] += lost
        self._tick_s.add(tick.at_s - now.at_s)
        if before is not None and before.observation is not None and (passed_s := tick.at_s - before.at_s) > 0:
            self._seconds["elastream_executor_seconds_total"] += count_paid(before.observation) * passed_s
            broken = before.observation.is_within_slo is False
            self._seconds["elastream_slo_violation_seconds_total"] += passed_s * broken
        self._busy_ratio = self._busy.update(now)
        self._follow_changes(tick, now)
        queries = living_queries(now)
        self._keep(queries)
        for query in queries:
            self._follow(query, now)

    def _follow_changes(self, tick: Tick, now: Observation) -> None:
        for pool in now.pools:
            one = self._pending.get(pool.name)
            if one is not None and pool.ready == one.after and not pool.leaving:
                self._scaling.setdefault(one.action, _Durations(SCALING_S)).add(tick.at_s - one.at_s)
                del self._pending[pool.name]
        for name, (first, after) in (tick.decision.changes(now) if tick.decision is not None else {}).items():
            self._pending[name] = _Pending(tick.at_s, after, "grow" if after > first else "shrink")

    def _keep(self, queries: Sequence[Query]) -> None:
        """Those that run, each by a name of its own: two samples with the same labels would spoil the whole answer."""
        before, self._queries = self._queries, {}
        taken: set[str] = set()
        for query in queries:
            name = query.name if query.name not in taken else f"{query.name} ({query.id[:8]})"
            known = before.get(query.id)
            self._queries[query.id] = known if known is not None and known.name == name else _Followed(name=name)
            taken.add(name)

    def _follow(self, query: Query, now: Observation) -> None:
        known = self._queries[query.id]
        known.now = {
            "arrival": self._rates.update(query, "arrived", RATE_WINDOW_S),
            "committed": self._rates.update(query, "committed", RATE_WINDOW_S),
            "capacity": known.capacity.update(query, now),
        }
        if query.on_time is not None:
            # What is overdue is reckoned from when it must have come; a counter that falls reads as a new start.
            known.judged = max(known.judged, query.on_time.records)
            known.late = max(known.late, query.on_time.records - query.on_time.within)
        batch = query.finished
        if batch is not None and known.batch != batch.id:
            if known.batch is not None:
                known.batches.add(batch.duration_s)
            known.batch = batch.id

    def collect(self) -> Iterable[Metric]:
        """Everything, as of the last tick."""
        with self._lock:
            found = self._found()
            histograms = self._histograms()
            header, application = self._header, self._application()
        for name, metric in METRICS.items():
            labels = ("application", *metric.labels)
            if metric.kind == "histogram":
                histogram = HistogramMetricFamily(name, metric.says, labels=labels)
                for values, durations in histograms.get(name, {}).items():
                    buckets, total = durations.told()
                    histogram.add_metric([application, *values], buckets=buckets, sum_value=total)
                yield histogram
            elif metric.kind == "info":
                info = InfoMetricFamily(name.removesuffix("_info"), metric.says, labels=["application"])
                if header is not None and found:
                    facts = {"policy": header.policy, "version": header.elastream, "spark": header.spark or ""}
                    info.add_metric([application], facts)
                yield info
            else:
                family = (CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily)(
                    name, metric.says, labels=labels
                )
                for values, number in found.get(name, {}).items():
                    family.add_metric([application, *values], number)
                yield family

    def _histograms(self) -> dict[str, dict[Labels, _Durations]]:
        return {
            "elastream_batch_duration_seconds": {
                (one.name,): one.batches for one in [*self._queries.values()][:MOST_QUERIES] if one.batch is not None
            },
            "elastream_scaling_duration_seconds": {(action,): one for action, one in self._scaling.items()},
            "elastream_tick_duration_seconds": {(): self._tick_s},
        }

    def _found(self) -> dict[str, Samples]:
        """Metric -> its samples, by the values of its labels."""
        tick = self._last
        if tick is None:
            return {}
        found: dict[str, Samples] = {}
        for (name, value), number in sorted(self._counts.items()):
            found.setdefault(name, {})[(value,) if METRICS[name].labels else ()] = number
        found |= {name: {(): seconds} for name, seconds in self._seconds.items()}
        configured = None if self._header is None else self._header.pause
        state = find_state(tick, configured)
        found["elastream_paused"] = {(): float(find_pause(tick, configured) is not None)}
        found["elastream_degraded"] = {(): float(state in ("degraded", "blind"))}
        if tick.observation is None:
            return found
        for name, number_or_none in _pool_values(tick.observation, self._busy_ratio):
            if number_or_none is not None:
                found[name] = {(): number_or_none}
        for query in living_queries(tick.observation)[:MOST_QUERIES]:
            known = self._queries[query.id]
            for name, labels, value_or_none in _query_values(query, known):
                if value_or_none is not None:
                    found.setdefault(name, {})[known.name, *labels] = value_or_none
        self._add_what_was_concluded(tick, tick.observation, found)
        return found

    def _add_what_was_concluded(self, tick: Tick, now: Observation, found: dict[str, Samples]) -> None:
        names = {query.id: self._queries[query.id].name for query in living_queries(now)[:MOST_QUERIES]}
        for one in tick.bottlenecks:
            if one.query in names and one.stops_growth:
                found.setdefault("elastream_limited", {})[names[one.query], one.kind] = 1.0
        horizon_s = find_horizon(self._header.policy_settings) if self._header is not None else None
        if tick.decision is not None and horizon_s is not None:
            for query, rps in find_forecasts(tick.decision, living_queries(now)).items():
                if query in names:
                    samples = found.setdefault("elastream_forecast_records_per_second", {})
                    samples[names[query], f"{horizon_s:g}"] = rps


def _stage_of(trouble: str) -> str:
    for stage, begins in (("look", "no look"), ("plan", "planning"), ("plan", "guard"), ("apply", "apply")):
        if trouble.startswith(begins):
            return stage
    return "other"


def _action_of(decision: Decision, now: Observation | None) -> Literal["grow", "shrink", "keep", "hold"]:
    changes = decision.changes(now) if now is not None else {}
    if changes:
        return "grow" if sum(after - first for first, after in changes.values()) > 0 else "shrink"
    return "hold" if decision.kind == "hold" else "keep"


def _reason_of(decision: Decision, now: Observation | None) -> Literal["look", "lack", "failure", "unknown"]:
    """Why a size stays though it may not be right: the look failed, signals lack in it, planning failed, or a number
    that a policy needs is not known yet."""
    if now is None:
        return "look"
    if decision.reason.startswith(("planning failed", "guard ")):
        return "failure"
    return "lack" if any(reason in decision.reason for reason in now.lacks.values()) else "unknown"


def _pool_values(now: Observation, busy_ratio: float | None) -> Iterator[tuple[str, float | None]]:
    for name in ("wanted", "requested", "ready", "leaving"):
        yield f"elastream_executors_{name}", float(sum(cast(int, getattr(pool, name)) for pool in now.pools))
    yield "elastream_executors_room", now.cluster_workers
    yield "elastream_busy_ratio", busy_ratio


def _query_values(query: Query, known: _Followed) -> Iterator[tuple[str, Labels, float | None]]:
    """Metric, labels beside the query, and the value where it is known."""
    rates: Mapping[str, float | None] = known.now
    done = [source.committed for source in query.sources]
    slo, delay, state = query.slo, query.delay, query.state
    is_known = bool(done) and None not in done
    yield "elastream_backlog_records", (), query.backlog
    yield "elastream_backlog_age_seconds", (), query.delay_to_come_s
    yield "elastream_partition_backlog_ratio", (), _ratio(query)
    for name in ("arrival", "committed", "capacity"):
        yield f"elastream_{name}_records_per_second", (), rates.get(name)
    yield "elastream_committed_records_total", (), sum(one.value for one in done if one) if is_known else None
    yield "elastream_judged_records_total", (), None if query.on_time is None else known.judged
    yield "elastream_late_records_total", (), None if query.on_time is None else known.late
    if delay is not None:
        for quantile, value in (("0.5", delay.p50_s), ("0.95", delay.p95_s), ("0.99", delay.p99_s)):
            yield "elastream_delay_seconds", (quantile,), value
    yield "elastream_slo_seconds", (), None if slo is None else slo.delay_s
    yield "elastream_slo_ratio", (), None if slo is None else slo.share
    yield "elastream_trigger_interval_seconds", (), query.trigger.interval_s
    yield "elastream_state_bytes", (), None if state is None or state.bytes is None else state.bytes.value


def _ratio(query: Query) -> float | None:
    parts = [backlog for source in query.sources for backlog in source.partition_backlogs or ()]
    total = sum(parts)
    return max(parts) * len(parts) / total if len(parts) > 1 and total > 0 else None

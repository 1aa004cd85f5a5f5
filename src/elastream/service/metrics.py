"""What Prometheus is told: gauges of the last tick, so that a series ends with its query, and counters since the start.

Names are those of docs/prometheus.md. Labels are few: an application by its name and never its id, queries that run,
the guards and reasons there are.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from elastream.core.observation import Observation, Query
from elastream.core.paid import count_paid
from elastream.core.tick import Tick
from elastream.evaluation.measures import living_queries
from elastream.evaluation.rates import QueryRates
from elastream.journal.format import Header
from elastream.render.page.moment import find_state

MOST_QUERIES = 200
"""Queries that have series of their own, oldest first; who has more has another way to look at them."""
RATE_WINDOW_S = 60.0
BATCH_S = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
SCALING_S = (1, 2, 5, 10, 20, 30, 60, 120, 300)
TICK_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Pending(NamedTuple):
    """A change that was decided and is not seen to be done."""

    at_s: float
    after: int
    action: str


class RunMetrics(Collector):
    """Follows ticks, and is asked by a scrape. Implements Journal."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)
        self._lock = threading.Lock()
        self._header: Header | None = None
        self._last: Tick | None = None
        self._rates = QueryRates()
        self._rps: dict[tuple[str, str], float | None] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._sums: dict[str, float] = {"executor_seconds": 0.0, "violation_seconds": 0.0}
        self._batches_seen: dict[str, int] = {}
        self._pending: dict[str, _Pending] = {}
        labels = ("application", "query")
        self._batch_s = Histogram(
            "elastream_batch_duration_seconds", "Trigger to commit of a batch.", labels, buckets=BATCH_S,
            registry=self.registry,
        )  # fmt: skip
        self._scaling_s = Histogram(
            "elastream_scaling_duration_seconds", "From a decision until all workers were there, or gone.",
            ("application", "action"), buckets=SCALING_S, registry=self.registry,
        )  # fmt: skip
        self._tick_s = Histogram(
            "elastream_tick_duration_seconds", "From the look to the end of the tick.", ("application",),
            buckets=TICK_S, registry=self.registry,
        )  # fmt: skip

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
        self._counts["ticks", ""] += 1
        for trouble in tick.troubles:
            self._counts["errors", _stage_of(trouble)] += 1
        if decision is not None:
            changes = decision.changes(now) if now is not None else {}
            action = "hold" if decision.kind == "hold" else "keep"
            if changes:
                action = "grow" if sum(after - first for first, after in changes.values()) > 0 else "shrink"
            self._counts["decisions", action] += 1
            for guard in {note.guard for note in decision.adjustments}:
                self._counts["adjustments", guard] += 1
        if now is None:
            return
        self._counts["gaps", ""] += any("events" in trouble and "lost" in trouble for trouble in now.troubles)
        self._tick_s.labels(self._application()).observe(max(0.0, tick.at_s - now.at_s))
        if before is not None and before.observation is not None and (passed_s := tick.at_s - before.at_s) > 0:
            self._sums["executor_seconds"] += count_paid(before.observation) * passed_s
            self._sums["violation_seconds"] += passed_s * (before.observation.is_within_slo is False)
        self._follow_changes(tick, now)
        for query in living_queries(now):
            self._follow(query, now)
        living = {query.id for query in living_queries(now)}
        for gone in self._batches_seen.keys() - living:
            del self._batches_seen[gone]

    def _follow_changes(self, tick: Tick, now: Observation) -> None:
        for pool in now.pools:
            one = self._pending.get(pool.name)
            if one is not None and pool.ready == one.after and not pool.leaving:
                self._scaling_s.labels(self._application(), one.action).observe(max(0.0, tick.at_s - one.at_s))
                del self._pending[pool.name]
        for name, (first, after) in (tick.decision.changes(now) if tick.decision is not None else {}).items():
            self._pending[name] = _Pending(tick.at_s, after, "grow" if after > first else "shrink")

    def _follow(self, query: Query, now: Observation) -> None:
        for total in ("arrived", "committed"):
            self._rps[query.id, total] = self._rates.update(query, total, RATE_WINDOW_S)
        batch = query.finished
        if batch is not None and self._batches_seen.get(query.id) != batch.id:
            if query.id in self._batches_seen:
                self._batch_s.labels(self._application(), query.name).observe(max(0.0, batch.duration_s))
            self._batches_seen[query.id] = batch.id

    def collect(self) -> Iterable[Metric]:
        """Everything but histograms, which collect themselves."""
        with self._lock:
            tick, header, counts, sums = self._last, self._header, dict(self._counts), dict(self._sums)
            rps = dict(self._rps)
        if tick is None:
            return
        now = tick.observation
        application = self._application()
        yield from _loop_families(tick, header, application, counts, sums)
        if now is not None:
            yield from _pool_families(now, application)
            yield from _query_families(now, application, rps, tick)


def _stage_of(trouble: str) -> str:
    for stage, begins in (("look", "no look"), ("plan", "planning"), ("plan", "guard"), ("apply", "apply")):
        if trouble.startswith(begins):
            return stage
    return "other"


def _loop_families(
    tick: Tick, header: Header | None, application: str, counts: dict[tuple[str, str], int], sums: dict[str, float]
) -> Iterator[Metric]:
    told = (
        ("ticks", "elastream_ticks", "Turns of the loop.", None),
        ("decisions", "elastream_decisions", "Decisions, by what they do.", "action"),
        ("adjustments", "elastream_adjustments", "Decisions that a guard changed.", "guard"),
        ("errors", "elastream_errors", "What failed and was survived, by where.", "stage"),
        ("gaps", "elastream_telemetry_gaps", "Looks at which events of Spark had been lost.", None),
    )
    for kind, name, says, label in told:
        family = CounterMetricFamily(name, says, labels=["application", *([label] if label else [])])
        found = {key[1]: value for key, value in counts.items() if key[0] == kind} or ({} if label else {"": 0})
        for value, number in sorted(found.items()):
            family.add_metric([application, *([value] if label else [])], number)
        yield family
    for key, name, says in (
        ("executor_seconds", "elastream_executor_seconds", "Executor-seconds paid for, from request to end."),
        ("violation_seconds", "elastream_slo_violation_seconds", "Time in which p95 was beyond the bound."),
    ):
        counter = CounterMetricFamily(name, says, labels=["application"])
        counter.add_metric([application], sums[key])
        yield counter
    state = find_state(tick)
    yield _gauge("elastream_paused", "1 while nothing is changed on somebody's word.", application,
                 float(state in ("paused", "dry run")))  # fmt: skip
    yield _gauge("elastream_degraded", "1 while something failed or nothing can be seen.", application,
                 float(state in ("degraded", "blind")))  # fmt: skip
    if header is not None:
        info = InfoMetricFamily("elastream_build", "What decides, and which versions run.", labels=["application"])
        facts = {"policy": header.policy, "version": header.elastream, "spark": header.spark or ""}
        info.add_metric([application], facts)
        yield info


def _pool_families(now: Observation, application: str) -> Iterator[Metric]:
    sizes = {
        "wanted": ("decided on", [pool.wanted for pool in now.pools]),
        "requested": ("that the cluster was asked for", [pool.requested for pool in now.pools]),
        "ready": ("that can run tasks", [pool.ready for pool in now.pools]),
        "leaving": ("on their way out", [pool.leaving for pool in now.pools]),
    }
    for name, (says, values) in sizes.items():
        yield _gauge(f"elastream_executors_{name}", f"Executors {says}.", application, float(sum(values)))
    if now.cluster_workers is not None:
        yield _gauge("elastream_executors_room", "Executors that the cluster has room for.", application,
                     float(now.cluster_workers))  # fmt: skip


def _query_families(
    now: Observation, application: str, rps: dict[tuple[str, str], float | None], tick: Tick
) -> Iterator[Metric]:
    queries = living_queries(now)[:MOST_QUERIES]
    gauges: dict[str, tuple[str, dict[str, float | None]]] = {
        "elastream_backlog_records": ("Records that arrived and are in no committed batch.",
                                      {query.id: query.backlog for query in queries}),
        "elastream_backlog_age_seconds": ("Age of the oldest record that waits.",
                                          {query.id: query.delay_to_come_s for query in queries}),
        "elastream_arrival_records_per_second": ("Records that arrive.",
                                                 {query.id: rps.get((query.id, "arrived")) for query in queries}),
        "elastream_committed_records_per_second": ("Records that are committed.",
                                                   {query.id: rps.get((query.id, "committed")) for query in queries}),
        "elastream_slo_seconds": ("The bound on delay that is promised.",
                                  {query.id: query.slo.delay_s if query.slo else None for query in queries}),
        "elastream_trigger_interval_seconds": ("Time between batches.",
                                               {query.id: query.trigger.interval_s for query in queries}),
        "elastream_state_bytes": ("State of its stateful operators.",
                                  {query.id: query.state.bytes.value if query.state and query.state.bytes else None
                                   for query in queries}),
        "elastream_partition_backlog_ratio": ("Largest backlog of a partition over their mean.",
                                              {query.id: _ratio(query) for query in queries}),
    }  # fmt: skip
    for name, (says, values) in gauges.items():
        family = GaugeMetricFamily(name, says, labels=["application", "query"])
        for query in queries:
            if (value := values[query.id]) is not None:
                family.add_metric([application, query.name], value)
        yield family
    delay = GaugeMetricFamily("elastream_delay_seconds", "Arrival to commit, over the records of a window.",
                              labels=["application", "query", "quantile"])  # fmt: skip
    committed = CounterMetricFamily("elastream_committed_records", "Records in committed batches.",
                                    labels=["application", "query"])  # fmt: skip
    late = CounterMetricFamily("elastream_late_records", "Records that were judged and not in time.",
                               labels=["application", "query"])  # fmt: skip
    limited = GaugeMetricFamily("elastream_limited", "1 while something holds a query back that executors cannot help.",
                                labels=["application", "query", "reason"])  # fmt: skip
    for query in queries:
        names = [application, query.name]
        if query.delay is not None:
            for quantile, value in (
                ("0.5", query.delay.p50_s),
                ("0.95", query.delay.p95_s),
                ("0.99", query.delay.p99_s),
            ):
                delay.add_metric([*names, quantile], value)
        done = [source.committed for source in query.sources]
        if done and all(reading is not None for reading in done):
            committed.add_metric(names, sum(reading.value for reading in done if reading is not None))
        if query.on_time is not None:
            late.add_metric(names, max(0.0, query.on_time.records - query.on_time.within))
    by_id = {query.id: query.name for query in queries}
    for one in tick.bottlenecks:
        if one.query in by_id:
            limited.add_metric([application, by_id[one.query], one.kind], 1.0)
    yield from (delay, committed, late, limited)


def _ratio(query: Query) -> float | None:
    parts = [backlog for source in query.sources for backlog in source.partition_backlogs or ()]
    total = sum(parts)
    return max(parts) * len(parts) / total if len(parts) > 1 and total > 0 else None


def _gauge(name: str, says: str, application: str, value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, says, labels=["application"])
    family.add_metric([application], value)
    return family

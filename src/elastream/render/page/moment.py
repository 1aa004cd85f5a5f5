"""What a page shows of the last moment only: sizes, promises, queries with their operators, and what was learned."""

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from elastream.core.bottleneck import Bottleneck
from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.observation import Observation, OperatorWork, Query, Reading, Source
from elastream.core.tick import Tick
from elastream.core.topology import Operator
from elastream.evaluation.present import PresentCapacity
from elastream.evaluation.rates import Total
from elastream.evaluation.series import RunSeries

MOST_QUERIES = 30
MOST_PARTITIONS = 64
BATCHES_KEPT = 240
FIT_POINTS = 24
RATE_WINDOW_S = 60.0

LoopState = Literal["starting", "blind", "degraded", "paused", "dry run", "limited", "scaling", "watching"]
"""In the order in which it matters: the first that is true."""


class BatchDot(NamedTuple):
    """A batch that was committed: how many records a second it did, on how many executors."""

    executors: int
    rps: float
    was_late: bool
    """Whether it left records behind or took as long as its trigger: others say how much came, and not what can be."""


@dataclass(slots=True)
class ObservedCapacity:
    """Batches of each query by the executors that they ran on, and what operators do per second."""

    dots: dict[str, deque[BatchDot]] = field(default_factory=dict)
    fits: dict[str, PresentCapacity] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)
    _totals: dict[tuple[str, str, str], Total] = field(default_factory=lambda: defaultdict(Total))

    def update(self, tick: Tick) -> None:
        """Take in one tick."""
        now = tick.observation
        if now is None:
            return
        living = {query.id for query in now.queries if query.phase != "terminated"}
        for gone in self._seen.keys() - living:
            del self._seen[gone]
            self.dots.pop(gone, None)
            self.fits.pop(gone, None)
        self._totals = defaultdict(Total, {key: total for key, total in self._totals.items() if key[0] in living})
        for query in now.queries:
            if query.id in living:
                self._note_batch(query, now)

    def rate(self, query: str, operator: str, what: str, reading: Reading | None) -> float | None:
        """How fast a running total of an operator grew lately."""
        return None if reading is None else self._totals[query, operator, what].rate(reading, RATE_WINDOW_S)

    def fit(self, query: Query, now: Observation, limit: Bottleneck | None) -> list[tuple[int, float]]:
        """Executors, and the records per second that they could do by what batches cost."""
        known = self.fits.get(query.id)
        if known is None or len(now.pools) != 1:
            return []
        (pool,) = now.pools
        most = max(pool.max_workers, *(dot.executors for dot in self.dots.get(query.id, ())), 1)
        useful = math.inf if limit is None or limit.useful_slots is None else limit.useful_slots
        step = max(1, round(most / FIT_POINTS))
        found = []
        for size in sorted({1, *range(step, most + 1, step), most}):
            rps = known.at(query, int(min(useful, size * pool.slots_per_worker)))
            if rps is not None:
                found.append((size, float(f"{rps:.4g}")))
        return found

    def _note_batch(self, query: Query, now: Observation) -> None:
        self.fits.setdefault(query.id, PresentCapacity()).learn(query)
        batch = query.finished
        if batch is None or not batch.rows or self._seen.get(query.id) == batch.id or batch.duration_s <= 0:
            self._seen.setdefault(query.id, -1)
            return
        self._seen[query.id] = batch.id
        interval_s = query.trigger.interval_s
        was_late = bool(batch.limited) or (interval_s is not None and batch.duration_s >= interval_s)
        dots = self.dots.setdefault(query.id, deque(maxlen=BATCHES_KEPT))
        ready = sum(pool.ready for pool in now.pools)
        dots.append(BatchDot(ready, float(f"{batch.rows / batch.duration_s:.4g}"), was_late))


def describe_moment(
    tick: Tick, series: RunSeries, capacity: ObservedCapacity, configured: str | None = None
) -> dict[str, Any]:
    """All of it, as plain values."""
    now, decision = tick.observation, tick.decision
    told: dict[str, Any] = {
        "at": tick.utc_s,
        "state": find_state(tick, configured),
        "why": decision.sentence() if decision is not None else "nothing was decided yet",
        "kind": decision.kind if decision is not None else None,
        "proposed": sum(decision.proposed().values()) if decision is not None else None,
        "troubles": tick.troubles,
        "limits": [one.sentence for one in tick.bottlenecks],
        "actions": series.actions.actions,
        "within": series.within[-1],
    }
    if (promise := series.promise) is not None:
        slo, found = promise
        told["promise"] = {**asdict(slo), "kept": found.share, "records": found.records, "holds": found.keeps(slo)}
    if now is None:
        return told
    shown = [query for query in now.queries if query.phase != "terminated"][:MOST_QUERIES]
    return told | {
        "pools": [_pool(one) for one in now.pools],
        "room": now.cluster_workers,
        "age": now.delay_to_come_s,
        "control": _control(now, configured),
        "lacks": {signal.value: reason for signal, reason in now.lacks.items()},
        "queries": [_query(query, now, capacity, tick.bottlenecks) for query in shown],
        "ended": len([query for query in now.queries if query.phase == "terminated"]),
        "evidence": _evidence(decision),
    }


def find_pause(tick: Tick, configured: str | None) -> Literal["paused", "dry run"] | None:
    """Whether the loop changes nothing, on somebody's word or as it was configured."""
    now, decision = tick.observation, tick.decision
    mode = configured if now is None or now.control.mode is None else now.control.mode
    if mode is None and decision is not None:
        # Of one who keeps a journal without a header's word.
        mode = next((note.reason.partition(":")[0] for note in decision.adjustments if note.guard == "pause"), None)
    return {"paused": "paused", "dry-run": "dry run"}.get(mode or "")  # type: ignore[return-value]


def find_state(tick: Tick, configured: str | None = None) -> LoopState:
    """What the loop is doing; `configured` is the pause of its header."""
    now, decision = tick.observation, tick.decision
    if decision is None:
        return "starting" if now is None and not tick.troubles else "blind"
    if now is None:
        return "blind"
    # A log that does not answer fails no look, and yet nobody can decide.
    is_blocked = bool(now.lacks) or any(source.problem for query in now.queries for source in query.sources)
    if tick.troubles or (decision.kind == "hold" and is_blocked):
        return "degraded"
    if (pause := find_pause(tick, configured)) is not None:
        return pause
    if any(one.stops_growth for one in tick.bottlenecks) or any(
        note.guard == "bounds" for note in decision.adjustments
    ):
        return "limited"
    return "scaling" if any(pool.in_flux for pool in now.pools) or decision.changes(now) else "watching"


def _control(now: Observation, configured: str | None) -> dict[str, Any]:
    """What people have asked of the loop, as it stands."""
    found = now.control
    return {
        "mode": found.mode or configured or "running",
        "is_asked": found.mode is not None,
        "bounds": found.bounds,
        "size": None if found.size is None else [found.size.workers, found.size.until_utc_s],
        "sentence": found.sentence(),
    }


def _pool(pool: Any) -> dict[str, Any]:
    return {
        "name": pool.name, "slots": pool.slots_per_worker, "min": pool.min_workers, "max": pool.max_workers,
        "wanted": pool.wanted, "requested": pool.requested, "ready": pool.ready, "leaving": pool.leaving,
    }  # fmt: skip


def _query(
    query: Query, now: Observation, capacity: ObservedCapacity, bottlenecks: Sequence[Bottleneck]
) -> dict[str, Any]:
    batch, running = query.finished, query.running
    limit = next((one for one in bottlenecks if one.query == query.id), None)
    return {
        "id": query.id,
        "name": query.name or query.id[:8],
        "phase": query.phase,
        "trigger_s": query.trigger.interval_s,
        "backlog": query.backlog,
        "delay": None if query.delay is None else [query.delay.p50_s, query.delay.p95_s, query.delay.max_s],
        "age": query.delay_to_come_s,
        "slo": None if query.slo is None else asdict(query.slo),
        "kept": None if query.on_time is None else query.on_time.share,
        "batch": None if batch is None else [batch.id, batch.duration_s, batch.rows, batch.driver_s],
        "running": None if running is None else [running.id, running.started_s, running.rows, running.tasks_done,
                                                 running.tasks],
        "state_bytes": _value(query.state.bytes) if query.state else None,
        "state_rows": _value(query.state.rows) if query.state else None,
        "error": query.error,
        "limit": None if limit is None else {"kind": limit.kind, "sentence": limit.sentence,
                                             "slots": limit.useful_slots},
        "sources": [_source(source) for source in query.sources],
        "operators": _operators(query, capacity),
        "fit": capacity.fit(query, now, limit),
        "edges": [[edge.upstream, edge.downstream] for edge in query.topology.edges],
        "dots": list(capacity.dots.get(query.id, ())),
    }  # fmt: skip


def _source(source: Source) -> dict[str, Any]:
    parts = source.partition_backlogs or ()
    largest = sorted(range(len(parts)), key=lambda number: -parts[number])[:MOST_PARTITIONS]
    return {
        "name": source.name,
        "backlog": source.backlog,
        "from": source.arrived_from,
        "problem": source.problem,
        "uneven": source.uneven,
        "partitions": len(parts) or source.partitions,
        "parts": [[number, parts[number]] for number in sorted(largest)],
    }


def _operators(query: Query, capacity: ObservedCapacity) -> list[dict[str, Any]]:
    works: Mapping[str, OperatorWork] = {work.name: work for work in query.operators}
    levels = _levels_of(query)
    found = []
    for level, operators in enumerate(levels):
        for operator in operators:
            work = works.get(operator.name)
            told: dict[str, Any] = {
                "name": operator.name, "level": level, "tasks": operator.partitions, "stateful": operator.stateful,
                "parallel": operator.parallel,
            }  # fmt: skip
            if work is not None:
                told |= {
                    "tasks": work.tasks or operator.partitions,
                    "in": capacity.rate(query.id, operator.name, "in", work.records_in),
                    "out": capacity.rate(query.id, operator.name, "out", work.records_out),
                    "busy": capacity.rate(query.id, operator.name, "busy", work.busy_s),
                }
            found.append(told)
    return found


def _levels_of(query: Query) -> tuple[tuple[Operator, ...], ...]:
    """Operators by level; all on one where a journal of others tells a graph that cannot be."""
    try:
        return query.topology.levels()
    except (BadInput, ValueError):
        return (query.topology.operators,)


def _evidence(decision: Decision | None) -> dict[str, Any]:
    """What of an explanation is a number or a short text."""
    if decision is None:
        return {}
    plain = {key: value for key, value in decision.evidence.items() if isinstance(value, (int, float, str, bool))}
    return dict(list(plain.items())[:60])


def _value(reading: Reading | None) -> float | None:
    return None if reading is None else reading.value

"""An event log as a recording: what a look every few seconds would have found, as far as the log tells it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median

from elastream.core.errors import BadInput
from elastream.core.observation import (
    FinishedBatch,
    KeyedState,
    Observation,
    OperatorWork,
    Pool,
    Query,
    Reading,
    Source,
    Trigger,
    Worker,
)
from elastream.core.signals import Signal
from elastream.core.tick import Tick
from elastream.core.topology import Edge, Operator, Topology
from elastream.journal.format import Header, elastream_version
from elastream.journal.reader import Part, Recording
from elastream.spark.event_log.application_log import ApplicationLog, LoggedBatch, LoggedQuery, LoggedWorker
from elastream.spark.event_log.event_file import EventReader, find_event_files

TICK_S = 5.0
MOST_LOOKS = 50_000
PLATFORM = "event log"
POOL = "executors"
UNKNOWN = (
    "an event log tells no lag: what was read is taken as what arrived by then, so that a read limit, or a query that "
    "was behind for long, hides a part of the load",
    "an event log does not tell who decided: the sizes that there were are simulated, so that the error is that of the "
    "model alone",
    "executors count from when they were registered, not from their request; how long one takes to start is a usual "
    "time",
)
_PROVIDES = (
    Signal.ARRIVED, Signal.COMMITTED, Signal.BATCHES, Signal.DRIVER_TIME, Signal.RECORDS_IN, Signal.RECORDS_OUT,
    Signal.BUSY_TIME, Signal.BUSY_SLOTS, Signal.READY,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A recording made of an event log, and what it cannot tell."""

    recording: Recording
    unknown: tuple[str, ...]


def read_event_log(path: Path) -> LoggedRun | None:
    """The log as a recording; None where a path is no event log. BadInput where no query of it ran."""
    files = find_event_files(path)
    if not files:
        return None
    reader = EventReader(files)
    log = ApplicationLog().read(reader.events())
    if not any(query.batches for query in log.queries.values()):
        raise BadInput(
            f"{path}: no batch of a query is in this event log; record an application whose queries ran, with "
            "spark.eventLog.enabled=true"
        )
    troubles = [*reader.troubles, *([f"{log.left_out:,} events were left out"] if log.left_out else [])]
    return LoggedRun(_Looks(log).record(path), (*UNKNOWN, *troubles))


@dataclass(slots=True)
class _Totals:
    """What a query has done up to a batch."""

    query: LoggedQuery
    topology: Topology
    trigger: Trigger
    next: int = 0
    committed: list[float] = field(default_factory=list)
    driver_s: float = 0.0
    work: dict[str, OperatorWork] = field(default_factory=dict)

    def add(self, batch: LoggedBatch) -> None:
        self.next += 1
        self.committed = [
            total + rows for total, rows in zip(self.committed or [0.0] * len(batch.rows), batch.rows, strict=True)
        ]
        at_s, names = batch.ended_s, [operator.name for operator in self.topology.operators]
        for place, (_, stage) in enumerate(sorted(batch.stages.items())):
            name = names[min(place, len(names) - 1)]
            before = self.work.get(name, OperatorWork(name=name))
            self.work[name] = OperatorWork(
                name=name,
                tasks=max(stage.tasks, 1),
                records_in=Reading(_value(before.records_in) + stage.records_in, at_s),
                records_out=Reading(_value(before.records_out) + stage.records_out, at_s),
                busy_s=Reading(_value(before.busy_s) + stage.busy_s, at_s),
            )
        running = _covered([(stage.began_s, stage.ended_s) for stage in batch.stages.values()])
        self.driver_s += max(batch.ended_s - batch.started_s - running, 0.0)


class _Looks:
    def __init__(self, log: ApplicationLog) -> None:
        self._log = log
        self._totals = [
            _Totals(query, _find_topology(query), Trigger(interval_s=find_interval(query)))
            for query in log.queries.values()
            if query.batches
        ]
        self._busy_s = 0.0
        self._records: Counter[str] = Counter()
        slots = [worker.cores // log.task_cpus for worker in log.workers.values() if worker.id != "driver"]
        self._is_local = not slots
        own = slots or [worker.cores // log.task_cpus for worker in log.workers.values()]
        self._slots = max(max(own, default=1), 1)

    def record(self, path: Path) -> Recording:
        log = self._log
        first_s = min(totals.query.batches[0].started_s for totals in self._totals)
        tick_s = max(TICK_S, (log.last_s - first_s) / MOST_LOOKS)
        ticks: list[Tick] = []
        at_s = first_s
        while at_s < log.last_s + tick_s:
            now = self._look(at_s)
            ticks.append(Tick(number=len(ticks) + 1, at_s=at_s, utc_s=at_s, observation=now, decision=None))
            at_s += tick_s
        header = Header(
            policy="", policy_class="", tick_s=tick_s, max_age_s=600.0, platform=PLATFORM, provides=_PROVIDES,
            started_utc=datetime.fromtimestamp(first_s, UTC).isoformat(timespec="milliseconds"),
            elastream=elastream_version(), spark=log.spark, application=log.id, name=log.name,
        )  # fmt: skip
        return Recording(parts=(Part(name=path.name, header=header, snapshot=None, ticks=tuple(ticks)),))

    def _look(self, now_s: float) -> Observation:
        for totals in self._totals:
            batches = totals.query.batches
            while totals.next < len(batches) and batches[totals.next].ended_s <= now_s:
                batch = batches[totals.next]
                totals.add(batch)
                for stage in batch.stages.values():
                    self._busy_s += stage.busy_s
                    self._records.update(stage.by_worker)
        return Observation(
            at_s=now_s, utc_s=now_s, application=self._log.name or "", pools=(self._pool(now_s),),
            queries=tuple(_look_at(totals, now_s) for totals in self._totals),
        )  # fmt: skip

    def _pool(self, now_s: float) -> Pool:
        workers = [worker for worker in self._log.workers.values() if self._is_local or worker.id != "driver"]
        there = [one for one in workers if one.added_s <= now_s and (one.removed_s is None or one.removed_s > now_s)]
        low, high = self._bounds(workers)
        return Pool(
            name=POOL, slots_per_worker=self._slots, min_workers=low, max_workers=high,
            wanted=len(there), requested=len(there), ready=len(there), leaving=0,
            workers=tuple(
                Worker(id=one.id, state="ready", since_s=one.added_s, records=Reading(self._records[one.id], now_s))
                for one in there
            ),
            busy_slot_s=Reading(self._busy_s, now_s),
        )  # fmt: skip

    def _bounds(self, workers: list[LoggedWorker]) -> tuple[int, int]:
        """As dynamic allocation had them; else as many as there ever were."""
        most = max(_count_most(workers), 1)
        if self._log.properties.get("spark.dynamicAllocation.enabled") != "true":
            return 1, most
        found = [_whole(self._log.properties.get(f"spark.dynamicAllocation.{end}Executors")) for end in ("min", "max")]
        low = max(found[0] or 1, 1)
        return low, max(min(found[1], 10 * most) if found[1] else most, most, low)


def find_interval(query: LoggedQuery) -> float | None:
    """The time between two batches, where most of them waited for it; None where each began when the last had ended."""
    pairs = list(pairwise(query.batches))
    waited = [after.started_s - before.started_s for before, after in pairs if after.started_s - before.ended_s > 0.05]
    if len(waited) < 3 or 2 * len(waited) < len(pairs):
        return None
    return round(median(waited), 1) or None


def _look_at(totals: _Totals, now_s: float) -> Query:
    query, done = totals.query, totals.next
    committed = totals.committed or [0.0] * len(query.sources)
    place = bisect_right(query.planned, (now_s, float("inf"))) - 1
    planned_s, read = query.planned[max(place, 0)]
    waiting = max(read - sum(committed), 0.0)
    last = query.batches[done - 1] if done else None
    begun = query.batches[done] if done < len(query.batches) and query.batches[done].started_s <= now_s else None
    # What a batch reads has arrived when it is planned; of several sources each has its part of it.
    parts = list(begun.rows) if begun is not None else [waiting / len(committed)] * len(committed)
    return Query(
        id=query.name, name=query.name, phase="running" if begun is not None else "between-triggers",
        topology=totals.topology, trigger=totals.trigger,
        sources=tuple(
            Source(
                name=name, arrived=Reading(total + part, planned_s), arrived_from="reported",
                committed=Reading(total, now_s),
            )
            for name, total, part in zip(query.sources, committed, parts, strict=True)
        ),
        operators=tuple(totals.work.values()),
        finished=None if last is None else FinishedBatch(
            id=last.id, started_s=last.started_s, ended_s=last.ended_s, rows=sum(last.rows),
            busy_s=sum(stage.busy_s for stage in last.stages.values()), parts_s=dict(last.parts_s),
        ),
        batches=Reading(done, now_s), driver_s=Reading(totals.driver_s, now_s), other_s=Reading(0.0, now_s),
        state=None if last is None or last.state_bytes is None else KeyedState(
            bytes=Reading(last.state_bytes, last.ended_s)
        ),
    )  # fmt: skip


def _find_topology(query: LoggedQuery) -> Topology:
    """Of the kind of batch that there was most: stages in their order, and who feeds whom."""
    counts = Counter(len(batch.stages) for batch in query.batches if batch.stages)
    if not counts:
        return Topology(operators=(Operator(name="stage 1", pool=POOL, partitions=1),))
    usual = counts.most_common(1)[0][0]
    stages = sorted(next(batch for batch in reversed(query.batches) if len(batch.stages) == usual).stages.items())
    place = {stage: number for number, (stage, _) in enumerate(stages, 1)}
    is_stateful = any(batch.state_bytes for batch in query.batches)
    return Topology(
        operators=tuple(
            Operator(
                name=f"stage {place[stage]}", pool=POOL, partitions=max(found.tasks, 1),
                stateful=is_stateful and any(parent in place for parent in found.parents),
            )
            for stage, found in stages
        ),
        edges=tuple(
            Edge(f"stage {place[parent]}", f"stage {place[stage]}")
            for stage, found in stages
            for parent in found.parents
            if parent in place and parent < stage
        ),
    )  # fmt: skip


def _covered(spans: list[tuple[float, float]]) -> float:
    """Seconds in which at least one of them ran."""
    total, until = 0.0, 0.0
    for began_s, ended_s in sorted(spans):
        total += max(ended_s - max(began_s, until), 0.0)
        until = max(until, ended_s)
    return total


def _count_most(workers: list[LoggedWorker]) -> int:
    """How many were there at once at most."""
    moves = sorted(_moves(workers))
    there = most = 0
    for _, move in moves:
        there += move
        most = max(most, there)
    return most


def _moves(workers: list[LoggedWorker]) -> Iterator[tuple[float, int]]:
    for worker in workers:
        yield worker.added_s, 1
        if worker.removed_s is not None:
            yield worker.removed_s, -1


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) < 7 else None


def _value(reading: Reading | None) -> float:
    return reading.value if reading is not None else 0.0

"""One query, followed from look to look: what is remembered of it, and the `Query` that this makes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from elastream.core.observation import (
    FinishedBatch,
    KeyedState,
    Phase,
    Query,
    Reading,
    RunningBatch,
    RunningStage,
    Trigger,
)
from elastream.core.slo import OnTime, Slo
from elastream.core.task_cost import TaskCost
from elastream.estimators.delay import DelayWindow, Punctuality
from elastream.spark.jvm.snapshot import Json, PlanNode, QueryEvent, QuerySeen, StageSeen
from elastream.spark.observe.batch_work import BatchStages, united_s
from elastream.spark.observe.operator_totals import OperatorTotals, known_sum
from elastream.spark.observe.source_tracker import SourceTracker, source_name

T = TypeVar("T")

DELAY_WINDOW_S = 60.0
_MAX_BATCHES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTime:
    """The time of a look on both clocks."""

    at_s: float
    utc_s: float
    ahead_s: float
    """By how much UTC is ahead of our clock."""

    def monotonic(self, utc_s: float) -> float:
        """A time that the JVM gave, on our clock; never in the future."""
        return min(self.at_s, utc_s - self.ahead_s)


class QueryTracker:
    """Folds what was seen of one query. Totals go on when it is restarted from its checkpoint."""

    def __init__(self, query: str, slo: Slo | None = None) -> None:
        self.id = query
        self.slo = slo
        self.name = shown_name(None, query)
        self.run = ""
        self.ended_s: float | None = None
        self._error: str | None = None
        self._restarted = False
        self._has_waited = False
        self._works = OperatorTotals()
        self._inputs: list[SourceTracker] = []
        self._driver_s = 0.0
        self.has_lost_driver_time = False
        """Whether a batch of which events were lost has ended in this look."""
        self._lost_until = -1
        """Of batches up to this one events were lost."""
        self._batches: dict[int, BatchStages] = {}
        self._progress: Json | None = None
        self._finished: FinishedBatch | None = None
        self._finished_before = 0
        self._sunk: float | None = 0.0
        self._delays = DelayWindow(DELAY_WINDOW_S)
        self._punctuality = Punctuality(slo)
        self._state: Json | None = None
        self._trigger = Trigger()
        self._is_foreach = False
        self._event_utc_s: float | None = None

    def started(self, run: str, name: str | None) -> None:
        """A run has begun, the first or another one."""
        if run == self.run:
            return
        self._restarted = self.run != ""
        self.run, self.name = run, shown_name(name, self.id)
        self.ended_s = self._error = self._progress = None
        self._has_waited = False
        self._batches.clear()
        self._lost_until = -1
        self._works.restart()

    def lose_events(self, batch: int | None) -> None:
        """Events of the present batch, or of some before it, were lost: what their tasks did is not known."""
        self._lost_until = max(self._lost_until, -1 if batch is None else batch)

    def terminated(self, event: QueryEvent, at_s: float) -> None:
        """A run has ended."""
        if event.run == self.run:
            self.ended_s, self._error = at_s, event.error

    def take_stage(self, stage: StageSeen, shapes: Mapping[int, Sequence[PlanNode]]) -> None:
        """A stage has ended."""
        self._works.take(stage, shapes)
        if stage.batch is not None:
            self._batches.setdefault(stage.batch, BatchStages()).add(stage, self._stage_name(stage, shapes))
            while len(self._batches) > _MAX_BATCHES:
                del self._batches[min(self._batches)]

    def take_progress(self, progress: Json, moment: SnapshotTime) -> None:
        """A batch has ended. Raises KeyError, TypeError or ValueError if Spark left out what a batch must have."""
        number = int(progress["batchId"])
        durations = {str(name): float(ms) / 1000 for name, ms in progress["durationMs"].items()}
        began_utc_s = _utc_s(progress["timestamp"])
        duration_s = durations.pop("triggerExecution")
        ended_s = moment.monotonic(began_utc_s + duration_s)
        work = self._batches.pop(number, BatchStages())
        self._batches = {batch: kept for batch, kept in self._batches.items() if batch > number}
        self._is_foreach = str((progress.get("sink") or {}).get("description", "")).startswith("ForeachBatchSink")
        rows, limited = self._take_sources(progress, began_utc_s, ended_s, moment)
        is_whole = number > self._lost_until
        driver_s = max(0.0, duration_s - united_s(work.spans)) if is_whole else None
        self._driver_s += driver_s or 0.0
        self.has_lost_driver_time = self.has_lost_driver_time or not is_whole
        self._take_sink(progress)
        self._works.batch_ended()
        if progress.get("stateOperators"):
            self._state = progress
        newest = (progress.get("eventTime") or {}).get("max")
        self._event_utc_s = self._event_utc_s if newest is None else _utc_s(newest)
        self._progress = progress
        self._finished_before = max(self._finished_before, number + 1)
        self._finished = FinishedBatch(
            id=number,
            started_s=ended_s - duration_s,
            ended_s=ended_s,
            rows=rows,
            busy_s=work.busy_s if is_whole else None,
            limited=limited,
            driver_s=driver_s,
            critical_s=work.critical_s() if is_whole else None,
            longest=work.longest_task() if is_whole else None,
            cost=_with_state(work.cost, progress) if is_whole else None,
            parts_s=durations,
        )

    def _take_sources(
        self, progress: Json, began_utc_s: float, ended_s: float, moment: SnapshotTime
    ) -> tuple[float | None, bool | None]:
        """Rows of a batch, and whether a read limit kept some out of it."""
        read = []
        for place, source in enumerate(progress.get("sources") or ()):
            if place >= len(self._inputs):
                # Ended before a look saw what its sources are.
                return None, None
            given = self._inputs[place]
            given.report(moment.monotonic(began_utc_s), source.get("latestOffset"))
            number = int(progress["batchId"])
            is_whole = number > self._lost_until
            scanned = self._works.read_in(place, number) if given.is_files and is_whole else None
            read.append(given.take(source, ended_s, is_foreach=self._is_foreach, scanned=scanned))
            if read[-1].stretches is not None and all(one.is_sampled for one in self._inputs):
                self._delays.add(read[-1].stretches)
                self._punctuality.add(read[-1].stretches)
        verdicts = [one.limited for one in read]
        limited = True if True in verdicts else None if None in verdicts or not read else False
        return known_sum([one.rows for one in read]), limited

    def _take_sink(self, progress: Json) -> None:
        rows = (progress.get("sink") or {}).get("numOutputRows")
        # Spark says -1 for sinks that do not count; foreachBatch does not know what its user writes.
        self._sunk = None if self._sunk is None or not isinstance(rows, int) or rows < 0 else self._sunk + rows

    def query(
        self,
        seen: QuerySeen | None,
        live: Sequence[StageSeen],
        shapes: Mapping[int, Sequence[PlanNode]],
        moment: SnapshotTime,
    ) -> Query:
        """The query now; `seen` is None if it is not active, `live` are its stages that have not ended."""
        running = None if seen is None else self._running(seen, live, shapes, moment)
        phase = self._phase(seen, running)
        totals = self._works.with_live(live, shapes)
        at_s = moment.at_s
        return Query(
            id=self.id,
            name=self.name,
            phase=phase,
            topology=self._works.topology(totals, self._inputs, self._state_partitions),
            trigger=self._trigger,
            sources=tuple(
                one.source(place, at_s, self._works.tasks_reading(place, totals, self._inputs))
                for place, one in enumerate(self._inputs)
            ),
            operators=self._works.work(totals, self._inputs, self._sunk, at_s),
            running=running,
            finished=self._finished,
            batches=Reading(self._batches_before(seen), at_s),
            driver_s=None if self.has_lost_driver_time else Reading(self._driver_s, at_s),
            other_s=Reading(self._works.unmatched_s, at_s),
            state=self._keyed_state(at_s),
            delay=self._delays.at(at_s) if self._inputs and all(one.is_sampled for one in self._inputs) else None,
            slo=self.slo,
            on_time=self._on_time(at_s),
            watermark_utc_s=Reading(seen.watermark_s, at_s) if seen and seen.watermark_s else None,
            event_utc_s=None if self._event_utc_s is None else Reading(self._event_utc_s, at_s),
            error=self._error or (seen.error if seen else None),
        )

    def _on_time(self, at_s: float) -> OnTime | None:
        if self.slo is None:
            return None
        return self._punctuality.at(sum(one.overdue(at_s - self.slo.delay_s) for one in self._inputs))

    def see(self, seen: QuerySeen, moment: SnapshotTime, waiting: Reading | None = None) -> None:
        """Take in what the query is doing, before what has ended: that refers to its sources.

        `waiting` are records that wait by somebody outside of Spark: of its one source that cannot be asked itself.
        """
        self.name = shown_name(seen.name, self.id)
        self._trigger = trigger(seen.trigger)
        if seen.sources is not None:
            self._works.operators.describe(seen.leaves)
            if [one.seen for one in self._inputs] != list(seen.sources):
                known = self._inputs
                # After a restart the same source is described anew, with the same place and the same count.
                self._inputs = [
                    known[place].again(source) if place < len(known) else SourceTracker(source)
                    for place, source in enumerate(seen.sources)
                ]
        asked_s = None if seen.triggered_s is None else moment.monotonic(seen.triggered_s)
        for place, one in enumerate(self._inputs):
            one.see(
                moment.at_s,
                moment.utc_s,
                committed=at(seen.committed, place),
                available=at(seen.available, place),
                latest=at(seen.latest, place),
                asked_s=asked_s,
                log=at(seen.logs, place),
            )
        unknown = [one for one in self._inputs if not one.is_asked]
        if len(unknown) == 1:
            unknown[0].see_outside(moment.at_s, waiting)
        if (seen.message or "").startswith("Waiting for"):
            self._has_waited = True

    def watched_only(self) -> tuple[str, ...]:
        """Sources for whose lag executors are not changed, a sentence each."""
        return tuple(
            f"{self.name}, {source_name(place)}: watched only, executors are not changed for its lag: {reason}"
            for place, one in enumerate(self._inputs)
            if (reason := one.watched_only) is not None
        )

    def _phase(self, seen: QuerySeen | None, running: RunningBatch | None) -> Phase:
        if seen is None or not seen.active:
            return "terminated"
        if running is not None:
            return "running"
        beginning: Phase = "restarting" if self._restarted else "starting"
        if seen.batch is None or seen.batch < 0 or (self._progress is None and not self._has_waited):
            return beginning
        if not seen.trigger_active:
            return "between-triggers" if seen.data_available else "no-data"
        # A trigger that has nothing in hand yet. Without an interval it is pulled all the time while there is no data.
        return "between-triggers" if seen.constructed or self._trigger.interval_s is not None else "no-data"

    def _stage_name(self, stage: StageSeen, shapes: Mapping[int, Sequence[PlanNode]]) -> str:
        """Of its operator; a stage that belongs to none has its number."""
        place = self._works.operators.of(stage, shapes)
        return f"stage {stage.id}" if place is None else place.operator

    def _running(
        self, seen: QuerySeen, live: Sequence[StageSeen], shapes: Mapping[int, Sequence[PlanNode]], moment: SnapshotTime
    ) -> RunningBatch | None:
        number = seen.batch
        if not (seen.active and seen.trigger_active) or number is None or number < 0 or seen.triggered_s is None:
            return None
        if self._progress is not None and number <= int(self._progress["batchId"]):
            return None
        # One that is only being planned has its offsets; one that only cleans up state has none of its own.
        if not seen.constructed and seen.committed == seen.available:
            return None
        work = self._batches.get(number)
        stages = [stage for stage in live if stage.batch == number and not passed_over(stage, live)]
        known = work is not None or bool(stages)
        tasks = (work.tasks if work else 0) + sum(stage.tasks for stage in stages)
        done = (work.done if work else 0) + sum(stage.done for stage in stages)
        return RunningBatch(
            id=number,
            started_s=moment.monotonic(seen.triggered_s),
            rows=known_sum([
                one.between(at(seen.committed, place), at(seen.available, place))
                for place, one in enumerate(self._inputs)
            ]) if self._inputs else None,
            tasks=tasks if known else None,
            tasks_done=done if known else None,
            stages=tuple(
                RunningStage(
                    name=self._stage_name(stage, shapes), tasks=stage.tasks, done=stage.done, running=stage.running,
                    mean_s=stage.busy_s / stage.done if stage.done else None,
                    oldest_s=stage.oldest_s if stage.running else None,
                )
                for stage in stages if stage.submitted_s is not None
            ),
            last_task_s=moment.monotonic(work.last_s) if work is not None and work.last_s is not None else None,
        )  # fmt: skip

    def _batches_before(self, seen: QuerySeen | None) -> float:
        """Batches that have finished: those we saw end, or all before the present one."""
        before = 0 if seen is None or seen.batch is None else seen.batch
        return float(max(self._finished_before, before))

    @property
    def _state_partitions(self) -> int | None:
        """Fixed in the checkpoint: the ceiling of slots that state can use."""
        stores = self._state["stateOperators"] if self._state is not None else ()
        numbers = (store.get("numShufflePartitions") for store in stores)
        return max((number for number in numbers if isinstance(number, int) and number > 0), default=None)

    def _keyed_state(self, at_s: float) -> KeyedState | None:
        if self._state is None:
            return None
        stores = self._state["stateOperators"]
        # Spark does not name the store, but each has metrics of its own.
        marks = {"rocksdb": "rocksdbGetCount", "hdfs": "loadedMapCacheHitCount"}
        metrics = stores[0].get("customMetrics") or {}

        def total(key: str, scale: float = 1.0) -> Reading | None:
            numbers = [store.get(key) for store in stores]
            known = [number for number in numbers if isinstance(number, int | float)]
            return Reading(sum(known) * scale, at_s) if len(known) == len(numbers) else None

        return KeyedState(
            store=next((name for name, mark in marks.items() if mark in metrics), None),
            rows=total("numRowsTotal"),
            bytes=total("memoryUsedBytes"),
            commit_s=total("commitTimeMs", 0.001),
        )


def _utc_s(text: object) -> float:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()


def _with_state(cost: TaskCost | None, progress: Json) -> TaskCost | None:
    """Only its progress tells what of the time of a batch was spent on state."""
    if cost is None:
        return None
    times = [
        one.get(key) for one in progress.get("stateOperators") or () for key in ("commitTimeMs", "allRemovalsTimeMs")
    ]
    return replace(cost, state_s=sum(time for time in times if isinstance(time, int | float)) / 1000)


def without_totals(query: Query) -> Query:
    """The query of a look that has lost events: what is added up from them would be too low."""
    operators = tuple(replace(work, records_in=None, records_out=None, busy_s=None) for work in query.operators)
    return replace(query, operators=operators, driver_s=None, other_s=None)


def shown_name(name: str | None, query: str) -> str:
    """What people read; of an id the beginning is enough to find it in Spark's log."""
    return name or f"query-{query[:8]}"


def trigger(text: str) -> Trigger:
    """From the text that Spark makes of it; an interval of 0 means as fast as possible."""
    found = re.fullmatch(r"ProcessingTimeTrigger\((\d+)\)", text)
    return Trigger(interval_s=int(found[1]) / 1000 if found and int(found[1]) else None)


def passed_over(stage: StageSeen, others: Sequence[StageSeen]) -> bool:
    """Whether a stage will be skipped: one that its job needs later has already begun."""
    if stage.submitted_s is not None:
        return False
    return any(o.job == stage.job and o.id > stage.id and o.submitted_s is not None for o in others)


def at(items: Sequence[T], place: int) -> T | None:
    """What is told of a source, or None before anything is."""
    return items[place] if place < len(items) else None

"""What an event log says of an application: its executors, and its batches with the work of their stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from elastream.core.sanitizer import sanitizer
from elastream.spark.event_log.event_file import LogEvent

MOST_BATCHES = 200_000
"""Of all queries together: a week of a batch every three seconds."""
MOST_NAME = 200


@dataclass(slots=True)
class LoggedStage:
    """The work of one stage of a batch."""

    parents: tuple[int, ...] = ()
    tasks: int = 0
    began_s: float = 0.0
    ended_s: float = 0.0
    busy_s: float = 0.0
    records_in: float = 0.0
    records_out: float = 0.0
    by_worker: Counter[str] = field(default_factory=Counter)
    """Records that each executor took in, and one for each task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedBatch:
    """A batch that ended."""

    id: int
    started_s: float
    ended_s: float
    rows: tuple[float, ...]
    """Of each source."""
    parts_s: Mapping[str, float]
    stages: Mapping[int, LoggedStage]
    """By their ids, which grow."""
    state_bytes: float | None = None


@dataclass(slots=True)
class LoggedQuery:
    """A query, by its batches."""

    name: str
    sources: tuple[str, ...] = ()
    batches: list[LoggedBatch] = field(default_factory=list)
    planned: list[tuple[float, float]] = field(default_factory=list)
    """When somebody asked what there is, and how many records had been read or were read then."""


@dataclass(slots=True)
class LoggedWorker:
    """An executor, and how long it was there."""

    id: str
    cores: int
    added_s: float
    removed_s: float | None = None


class ApplicationLog:
    """Folds events."""

    def __init__(self) -> None:
        self.spark: str | None = None
        self.name: str | None = None
        self.id: str | None = None
        self.properties: Mapping[str, str] = {}
        self.workers: dict[str, LoggedWorker] = {}
        self.queries: dict[str, LoggedQuery] = {}
        self.last_s = 0.0
        self.left_out = 0
        """Batches beyond those that are kept."""
        self._kept = 0
        self._stages: dict[int, tuple[str, int]] = {}
        """Stage -> query and batch."""
        self._parents: dict[int, tuple[int, ...]] = {}
        self._work: dict[tuple[str, int], dict[int, LoggedStage]] = {}

    def update(self, event: LogEvent) -> None:
        """Take in one event; one that lacks what it should have is left out."""
        kind = str(event.get("Event", "")).rpartition("$")[2].removeprefix("SparkListener")
        take = getattr(self, f"_take_{kind}", None)
        if take is None:
            return
        try:
            take(event)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            self.left_out += 1

    def read(self, events: Iterable[LogEvent]) -> ApplicationLog:
        """Take in all."""
        for event in events:
            self.update(event)
        return self

    @property
    def task_cpus(self) -> int:
        """Cores that a task takes."""
        found = self.properties.get("spark.task.cpus", "1")
        return max(int(found), 1) if found.isascii() and found.isdecimal() and len(found) < 6 else 1

    def _take_LogStart(self, event: LogEvent) -> None:  # noqa: N802 - Spark's names
        self.spark = _text(event["Spark Version"])

    def _take_ApplicationStart(self, event: LogEvent) -> None:  # noqa: N802
        self.name, self.id = _text(event["App Name"]), _text(event["App ID"])

    def _take_EnvironmentUpdate(self, event: LogEvent) -> None:  # noqa: N802
        given = event["Spark Properties"]
        self.properties = {str(key): str(value) for key, value in (given.items() if isinstance(given, dict) else given)}

    def _take_ExecutorAdded(self, event: LogEvent) -> None:  # noqa: N802
        name, at_s = _text(event["Executor ID"]), _seconds(event["Timestamp"])
        self.workers[name] = LoggedWorker(name, int(event["Executor Info"]["Total Cores"]), at_s)
        self.last_s = max(self.last_s, at_s)

    def _take_ExecutorRemoved(self, event: LogEvent) -> None:  # noqa: N802
        worker = self.workers.get(_text(event["Executor ID"]))
        if worker is not None:
            worker.removed_s = _seconds(event["Timestamp"])

    def _take_JobStart(self, event: LogEvent) -> None:  # noqa: N802
        properties = event.get("Properties") or {}
        query, batch = properties.get("sql.streaming.queryId"), properties.get("streaming.sql.batchId")
        if query is None or batch is None:
            return
        for stage in event["Stage IDs"]:
            self._stages[int(stage)] = str(query), int(batch)

    def _take_StageSubmitted(self, event: LogEvent) -> None:  # noqa: N802
        info = event["Stage Info"]
        stage = int(info["Stage ID"])
        if stage in self._stages:
            self._parents[stage] = tuple(int(one) for one in info.get("Parent IDs") or ())

    def _take_TaskEnd(self, event: LogEvent) -> None:  # noqa: N802
        stage = int(event["Stage ID"])
        if stage not in self._stages:
            return
        work = self._work.setdefault(self._stages[stage], {})
        if stage not in work:
            work[stage] = LoggedStage(parents=self._parents.get(stage, ()))
        found, info, metrics = work[stage], event["Task Info"], event.get("Task Metrics") or {}
        began_s, ended_s = _seconds(info["Launch Time"]), _seconds(info["Finish Time"])
        found.tasks += 1
        found.began_s = min(found.began_s, began_s) if found.began_s else began_s
        found.ended_s = max(found.ended_s, ended_s)
        found.busy_s += max(ended_s - began_s, 0.0)
        if info.get("Failed") or info.get("Killed"):
            return
        taken = _count(metrics, "Input Metrics", "Records Read")
        taken += _count(metrics, "Shuffle Read Metrics", "Total Records Read")
        found.records_in += taken
        found.records_out += _count(metrics, "Shuffle Write Metrics", "Shuffle Records Written")
        found.by_worker[_text(info["Executor ID"])] += int(taken) + 1
        self.last_s = max(self.last_s, ended_s)

    def _take_QueryProgressEvent(self, event: LogEvent) -> None:  # noqa: N802
        told = event["progress"]
        query_id, batch = str(told["id"]), int(told["batchId"])
        sources = list(told["sources"])
        rows = tuple(max(float(source.get("numInputRows") or 0.0), 0.0) for source in sources)
        parts = {str(name): float(value) / 1000.0 for name, value in (told.get("durationMs") or {}).items()}
        started_s = _utc(told["timestamp"])
        ended_s = started_s + parts.get("triggerExecution", float(told.get("batchDuration") or 0.0) / 1000.0)
        name = _text(told.get("name") or f"query {query_id[:8]}")
        query = self.queries.setdefault(query_id, LoggedQuery(name=name))
        work = self._work.pop((query_id, batch), {})
        self._forget(query_id, batch)
        self.last_s = max(self.last_s, ended_s)
        query.sources = query.sources or tuple(_text(one.get("description") or "source") for one in sources)
        if len(rows) != len(query.sources):
            raise ValueError("other sources than before")
        is_anew = not query.batches or batch > query.batches[-1].id
        before = query.planned[-1][1] if query.planned else 0.0
        query.planned.append((started_s, before + (sum(rows) if is_anew else 0.0)))
        if not is_anew:
            # Nothing new came: it is told now and then.
            return
        self._kept += 1
        if self._kept > MOST_BATCHES:
            oldest = max(self.queries.values(), key=lambda one: len(one.batches))
            del oldest.batches[0]
            self.left_out += 1
        query.batches.append(
            LoggedBatch(
                id=batch, started_s=started_s, ended_s=ended_s, rows=rows, parts_s=parts, stages=work,
                state_bytes=_sum_state(told.get("stateOperators") or []),
            )
        )  # fmt: skip

    def _forget(self, query: str, batch: int) -> None:
        """What is known of stages up to a batch: it is told in full."""
        old = [stage for stage, (name, number) in self._stages.items() if name == query and number <= batch]
        for stage in old:
            del self._stages[stage]
            self._parents.pop(stage, None)


def _count(metrics: Mapping[str, Any], group: str, name: str) -> float:
    return max(float((metrics.get(group) or {}).get(name) or 0.0), 0.0)


def _sum_state(operators: list[Mapping[str, Any]]) -> float | None:
    return sum(float(one.get("memoryUsedBytes") or 0.0) for one in operators) if operators else None


def _seconds(milliseconds: object) -> float:
    return float(milliseconds) / 1000.0  # type: ignore[arg-type]


def _utc(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _text(value: object) -> str:
    return sanitizer().line(str(value))[:MOST_NAME]

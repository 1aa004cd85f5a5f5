"""One raw look at an application, as the driver's JVM gives it: values, and nothing that is concluded from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from elastream.core.task_cost import TaskCost

Json = Mapping[str, Any]
Offset = object
"""As a source writes it: what JSON can be, or a text; only its probe knows what is in it."""
_STATE = "state "


class PlanNode(NamedTuple):
    """One node of a physical plan, with its depth; parents come first."""

    depth: int
    name: str
    mark: str
    """'state 0' for the first stateful operator, 'columns [3, 4]' for a leaf; else empty."""

    @property
    def state(self) -> int | None:
        """The number of a stateful operator in the checkpoint; None for other nodes."""
        return int(self.mark.removeprefix(_STATE)) if self.mark.startswith(_STATE) else None

    @property
    def columns(self) -> frozenset[int]:
        """Numbers of the columns that a leaf gives."""
        return frozenset(map(int, re.findall(r"\d+", self.mark)))


class PlanMatch(NamedTuple):
    """Nodes of a plan whose metrics a stage has updated."""

    shape: int
    root: bool
    """Whether the plan is the query's own, and not one of an action inside foreachBatch."""
    nodes: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSeen:
    """One attempt at a stage, with the totals of its ended tasks. Times in seconds, UTC."""

    id: int
    attempt: int
    job: int
    query: str | None
    """None: it belongs to no query."""
    batch: int | None
    submitted_s: float | None
    """None: its job knows it, but it has not begun."""
    ended_s: float | None
    failed: bool
    tasks: int
    running: int
    done: int
    run_s: float
    deserialise_s: float
    serialise_s: float
    fetch_s: float
    lost_s: float
    """Time of tasks that failed or were killed."""
    read: float
    """Records from a source, a file or a cache (of a cache, Spark counts blocks)."""
    fetched: float
    """Records from a shuffle."""
    shuffled: float
    """Records into a shuffle."""
    written: float
    """Records into files."""
    matches: tuple[PlanMatch, ...]
    longest_s: float = 0.0
    """Time for which the longest of its ended tasks held a slot."""
    longest_records: float = 0.0
    """Records that task read."""
    oldest_s: float = 0.0
    """For how long the oldest of its running tasks has held one."""
    cost: TaskCost | None = None
    """None: it was not told."""

    @property
    def busy_s(self) -> float:
        """Time for which its tasks held a slot, waiting included."""
        return self.run_s + self.deserialise_s + self.serialise_s + self.lost_s

    @property
    def useful_s(self) -> float:
        """Time spent on records: without waiting for a shuffle, and without tasks whose work was lost.

        Shuffle write time stays in: Spark does not say which part of it is waiting for a disk.
        """
        return max(0.0, self.run_s + self.deserialise_s + self.serialise_s - self.fetch_s)

    @property
    def records_in(self) -> float:
        return self.read + self.fetched

    @property
    def records_out(self) -> float:
        return self.shuffled + self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorSeen:
    """One executor, as far as tasks tell of it. Times in seconds, UTC."""

    id: str
    host: str | None
    removed_s: float | None
    first_task_s: float | None
    running: int
    """Tasks of queries that it runs now."""
    other_running: int
    """Tasks of no query."""
    busy_s: float
    records: float
    held_s: float | None = None
    """Time for which its ended tasks held a slot, and what their threads computed in it; totals that never fall."""
    cpu_s: float | None = None
    heap_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSeen:
    """What one source of a query is."""

    kind: str
    """Class of its stream in the JVM."""
    table: str | None = None
    limit: str | None = None
    options: Mapping[str, str] | None = None
    """Without anything that looks like a secret; None where a source does not show them."""
    created_s: float | None = None
    """When the stream began, where a source counts from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSeen:
    """The folder of a file source. Pairs are bytes and files, since it was opened."""

    began_s: float
    """When we began to list it; all numbers count from there."""
    took_s: float
    arrived: tuple[float, float]
    waiting: tuple[float, float]
    """In no batch yet."""
    batches: Mapping[int, tuple[float, float]]
    """By the number of an entry in the source's log, for the last ones."""
    past: tuple[tuple[float, float], ...] = ()
    """When (UTC) how many bytes had arrived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSeen:
    """What the log behind a source answered when it was asked last."""

    utc_s: float | None = None
    """When it answered; None: it has not yet."""
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """By partition the oldest offset that it still has, and the next one to be written."""
    first: Offset = None
    """The offset that the query began with, before which nothing is its business."""
    past: tuple[tuple[float, Mapping[str, float]], ...] = ()
    """Ends at times before we watched (UTC), the oldest first."""
    files: FilesSeen | None = None
    """Of a file source, whose log is a folder."""
    problem: str | None = None
    """Why it did not answer the last time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySeen:
    """What one active query is doing. Offsets are one per source."""

    id: str
    run: str
    name: str | None
    trigger: str
    active: bool
    message: str | None
    trigger_active: bool
    data_available: bool
    error: str | None
    batch: int | None
    constructed: bool
    triggered_s: float | None
    """When the present trigger began, or the last one; UTC."""
    watermark_s: float | None
    committed: tuple[Offset, ...]
    available: tuple[Offset, ...]
    latest: tuple[Offset, ...]
    sources: tuple[SourceSeen, ...] | None
    """None until its first batch."""
    leaves: tuple[int, ...]
    """For every leaf of its plan the place of its source, or -1 for a table that is no stream."""
    logs: tuple[LogSeen | None, ...] = ()
    """One per source; None where there is no log that could be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEvent:
    """Something Spark has announced of a query."""

    kind: Literal["started", "progress", "terminated"]
    query: str
    run: str
    name: str | None = None
    error: str | None = None
    progress: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that is new since the look before, and all that is going on."""

    utc_s: float
    application: str
    note: int
    """The last thing it tells of; the next look is told so."""
    busy_s: float
    """Time in which slots ran a task, since we watch."""
    other_busy_s: float
    executors: Mapping[str, ExecutorSeen] = field(default_factory=dict)
    queries: tuple[QuerySeen, ...] = ()
    stages: tuple[StageSeen, ...] = ()
    events: tuple[QueryEvent, ...] = ()
    shapes: Mapping[int, tuple[PlanNode, ...]] = field(default_factory=dict)
    unread: int = 0
    """Events that our listener could not read, so far."""
    lost: int = 0
    """Events that must have been and never came."""
    dropped: int = 0
    """Events that Spark dropped because its queue to us was full."""
    query_failures: int = 0
    """Queries that could not be asked what they are doing."""
    failure: str | None = None
    malformed: int = 0
    took_s: float | None = None

    @property
    def failures(self) -> int:
        """Everything that went wrong in the JVM."""
        return self.unread + self.lost + self.dropped + self.query_failures


def partition_name(topic: str, number: str) -> str:
    """What a partition of a topic is called in all counts."""
    return f"{topic}-{number}"


def partition_order(name: str) -> tuple[str, int]:
    """By topics, and by numbers within each."""
    topic, _, number = name.rpartition("-")
    return topic, int(number) if number.isdecimal() else 0

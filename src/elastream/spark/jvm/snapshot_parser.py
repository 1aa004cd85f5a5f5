"""From the text that `Watch.java` writes to a snapshot.

A field that is missing or malformed is None, or makes its own part go missing; it never spoils the rest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from elastream.core.task_cost import TaskCost
from elastream.spark.jvm.snapshot import (
    ExecutorSeen,
    FilesSeen,
    Json,
    LogSeen,
    Offset,
    PlanMatch,
    PlanNode,
    QueryEvent,
    QuerySeen,
    Snapshot,
    SourceSeen,
    StageSeen,
    partition_name,
)

T = TypeVar("T")


def parse_snapshot(text: str) -> Snapshot:
    """Read what `Watch.look` wrote. Raises ValueError only if it is no look at all."""
    raw = json.loads(text)
    if not isinstance(raw, dict) or _number(raw, "at_ms") is None:
        raise ValueError("a look is a JSON object with 'at_ms'")
    parts = _Parts()
    listed = raw.get("executors")
    executors = listed if isinstance(listed, dict) else {}
    shapes = raw.get("shapes")
    return Snapshot(
        utc_s=raw["at_ms"] / 1000,
        application=str(raw.get("application")),
        note=_int(raw, "note") or 0,
        busy_s=(_number(raw, "busy_ms") or 0.0) / 1000,
        other_busy_s=(_number(raw, "other_busy_ms") or 0.0) / 1000,
        executors={one.id: one for one in parts.read(executors.items(), _executor)},
        queries=parts.read(raw.get("queries"), _query),
        stages=parts.read(raw.get("stages"), _stage),
        events=parts.read(raw.get("events"), _event),
        shapes=dict(parts.read(shapes.items() if isinstance(shapes, dict) else (), _shape)),
        unread=_int(raw, "failures") or 0,
        lost=_int(raw, "lost") or 0,
        dropped=_int(raw, "dropped") or 0,
        query_failures=_int(raw, "query_failures") or 0,
        failure=_text(raw, "failure") or _text(raw, "query_failure"),
        malformed=parts.malformed,
        took_s=None if (took := _number(raw, "took_us")) is None else took / 1e6,
    )


class _Parts:
    def __init__(self) -> None:
        self.malformed = 0

    def read(self, items: Iterable[object] | None, build: Callable[[Any], T]) -> tuple[T, ...]:
        found = []
        for item in items if isinstance(items, Iterable) else ():
            try:
                found.append(build(item))
            except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError):
                self.malformed += 1
        return tuple(found)


def _number(raw: Json, key: str) -> float | None:
    value = raw.get(key)
    if type(value) is int:
        # Nearly all are, and there are tens of thousands in a look at a thousand executors.
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _int(raw: Json, key: str) -> int | None:
    number = _number(raw, key)
    return None if number is None else int(number)


def _text(raw: Json, key: str) -> str | None:
    value = raw.get(key)
    return value if isinstance(value, str) else None


def _when(raw: Json, key: str) -> float | None:
    """Spark says 0 or -1 where there is no time yet."""
    number = _number(raw, key)
    return None if number is None or number <= 0 else number / 1000


def _stage(raw: Json) -> StageSeen:
    batch = raw.get("batch")

    def seconds(key: str) -> float:
        return (_number(raw, key) or 0.0) / 1000

    def count(key: str) -> float:
        return _number(raw, key) or 0.0

    return StageSeen(
        id=int(raw["stage"]),
        attempt=int(raw["attempt"]),
        job=_int(raw, "job") or 0,
        query=_text(raw, "query"),
        batch=None if batch is None else int(batch),
        submitted_s=_when(raw, "submitted_ms"),
        ended_s=_when(raw, "ended_ms"),
        failed=raw.get("failed") is True,
        tasks=_int(raw, "tasks") or 0,
        running=_int(raw, "running") or 0,
        done=_int(raw, "done") or 0,
        run_s=seconds("run_ms"),
        deserialise_s=seconds("deserialise_ms"),
        serialise_s=seconds("serialise_ms"),
        fetch_s=seconds("fetch_ms"),
        lost_s=seconds("lost_ms"),
        read=count("read"),
        fetched=count("fetched"),
        shuffled=count("shuffled"),
        written=count("written"),
        longest_s=seconds("longest_ms"),
        longest_records=count("longest_records"),
        oldest_s=seconds("oldest_ms"),
        cost=_cost(raw),
        matches=tuple(
            PlanMatch(int(match["shape"]), match.get("root") is True, frozenset(map(int, match["nodes"])))
            for match in raw.get("matches") or ()
        ),
    )


def _cost(raw: Json) -> TaskCost | None:
    numbers = [
        _number(raw, key) for key in ("cpu_ms", "gc_ms", "fetch_ms", "write_ms", "delay_ms", "spilled", "unused_ms")
    ]
    cpu, gc, fetch, write, delay, spilled, unused = numbers
    if cpu is None or gc is None or fetch is None or write is None or delay is None or spilled is None:
        return None
    unused_s, prefers = (unused or 0.0) / 1000, raw.get("prefers") is True
    return TaskCost(
        cpu_s=cpu / 1000, gc_s=gc / 1000, fetch_s=fetch / 1000, write_s=write / 1000, scheduled_s=delay / 1000,
        spilled_bytes=spilled, unplaced_s=unused_s if prefers else 0.0, undispatched_s=0.0 if prefers else unused_s,
    )  # fmt: skip


def _executor(item: tuple[str, Json]) -> ExecutorSeen:
    name, raw = item
    held_ms, cpu_ms = _number(raw, "held_ms"), _number(raw, "cpu_ms")
    return ExecutorSeen(
        id=name,
        host=_text(raw, "host"),
        removed_s=_when(raw, "removed_ms"),
        first_task_s=_when(raw, "first_task_ms"),
        running=_int(raw, "running") or 0,
        other_running=_int(raw, "other_running") or 0,
        busy_s=(_number(raw, "busy_ms") or 0.0) / 1000,
        records=_number(raw, "records") or 0.0,
        held_s=None if held_ms is None else held_ms / 1000,
        cpu_s=None if cpu_ms is None else cpu_ms / 1000,
        # None was told of one that has run no task.
        heap_bytes=_number(raw, "heap_bytes") or None,
    )


def _query(raw: Json) -> QuerySeen:
    described = raw.get("described")
    known = described if isinstance(described, dict) else None
    return QuerySeen(
        id=str(raw["id"]),
        run=str(raw["run"]),
        name=_text(raw, "name"),
        trigger=_text(raw, "trigger") or "",
        active=raw.get("active") is True,
        message=_text(raw, "message"),
        trigger_active=raw.get("trigger_active") is True,
        data_available=raw.get("data_available") is True,
        error=_text(raw, "error"),
        batch=_int(raw, "batch"),
        constructed=raw.get("constructed") is True,
        triggered_s=_when(raw, "trigger_ms"),
        watermark_s=_when(raw, "watermark_ms"),
        committed=_offsets(raw.get("committed")),
        available=_offsets(raw.get("available")),
        latest=_offsets(raw.get("latest")),
        sources=None if known is None else tuple(map(_source, known["sources"])),
        leaves=() if known is None else tuple(map(int, known["leaves"])),
        logs=tuple(_log(log) for log in raw.get("logs") or ()),
    )


def _source(raw: Json) -> SourceSeen:
    options = raw.get("options")
    return SourceSeen(
        kind=str(raw["class"]),
        table=_text(raw, "table"),
        limit=_text(raw, "limit"),
        options={str(key): str(value) for key, value in options.items()} if isinstance(options, dict) else None,
        created_s=_when(raw, "creation_ms"),
    )


def _log(raw: Json | None) -> LogSeen | None:
    if raw is None:
        return None

    def ends(topics: Json, one: Callable[[Any], T]) -> dict[str, T]:
        return {
            partition_name(topic, number): one(end) for topic, parts in topics.items() for number, end in parts.items()
        }

    return LogSeen(
        utc_s=_when(raw, "at_ms"),
        ends=ends(raw.get("ends") or {}, lambda pair: (float(pair[0]), float(pair[1]))),
        first=_offset(raw.get("first")),
        past=tuple((then["at_ms"] / 1000, ends(then["ends"], float)) for then in raw.get("past") or ()),
        files=_files(raw["files"]) if isinstance(raw.get("files"), dict) else None,
        problem=_text(raw, "problem"),
    )


def _files(raw: Json) -> FilesSeen:
    def pair(given: Any) -> tuple[float, float]:
        return float(given[0]), float(given[1])

    return FilesSeen(
        began_s=float(raw["began_ms"]) / 1000,
        took_s=float(raw["took_ms"]) / 1000,
        arrived=pair(raw["arrived"]),
        waiting=pair(raw["waiting"]),
        batches={int(number): pair(sums) for number, sums in raw["batches"].items()},
        past=tuple((float(at_ms) / 1000, float(position)) for at_ms, position in raw.get("past") or ()),
    )


def _offsets(listed: object) -> tuple[Offset, ...]:
    return tuple(_offset(text) for text in listed) if isinstance(listed, list) else ()


def _offset(text: Offset) -> Offset:
    """Offsets are JSON for most sources, as such or as text, and a bare string for some."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _event(raw: Json) -> QueryEvent:
    kind = raw["event"]
    if kind == "progress":
        progress = raw["progress"]
        return QueryEvent(kind="progress", query=str(progress["id"]), run=str(progress["runId"]), progress=progress)
    if kind not in ("started", "terminated"):
        raise ValueError(f"no such event: {kind}")
    return QueryEvent(
        kind=kind, query=str(raw["id"]), run=str(raw["run"]), name=_text(raw, "name"), error=_text(raw, "error")
    )


def _shape(item: tuple[str, Any]) -> tuple[int, tuple[PlanNode, ...]]:
    number, nodes = item
    return int(number), tuple(PlanNode(int(depth), str(name), str(mark)) for depth, name, mark in nodes)

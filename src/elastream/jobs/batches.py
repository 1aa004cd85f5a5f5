"""The batches of a query, from the progress that Spark tells of each: nothing is asked of the query itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from elastream.jobs.checkpoint import topic_ends

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What a batch took from one source: the events from `first` up to, without, `end`."""

    first: int
    end: int
    start_s: float | None
    """UTC time of the workload's time zero; None: its offsets do not tell."""
    events: str | None = None
    """What the source says that its events are made from."""
    ends: Mapping[str, Mapping[int, int]] = field(default_factory=lambda: MappingProxyType({}))
    """Of Kafka: for each topic and partition the offset behind the last; `first` and `end` are then their sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All state of a query, after a batch."""

    rows: int
    bytes: int
    commit_s: float
    """Of all partitions together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One that is committed. Times are UTC."""

    number: int
    began_s: float
    committed_s: float
    rows: int
    spans: tuple[Span, ...]
    state: State | None
    dropped: int = 0
    """Rows that came behind the watermark, as far as Spark says so."""


class BatchLog:
    """Takes in batches while a query runs. Spark remembers the last hundred; it must be asked more often than that."""

    def __init__(self) -> None:
        self._found: dict[int, Batch] = {}
        self._last = -1

    def take(self, query: Any) -> None:
        """Everything new; one small question if nothing is."""
        last = query.lastProgress
        if last is None or (number := int(last["batchId"])) == self._last:
            return
        for progress in [last] if number == self._last + 1 else query.recentProgress:
            # A progress without it says that nothing was done.
            if "addBatch" in progress["durationMs"]:
                batch = batch_of(progress)
                self._found[batch.number] = batch
        self._last = number

    @property
    def batches(self) -> list[Batch]:
        """In their order."""
        return [self._found[number] for number in sorted(self._found)]

    @property
    def read(self) -> int:
        """Events that are committed, of all sources; of Kafka, offsets."""
        return sum(span.end for span in self.batches[-1].spans) if self._found else 0


def count_late(batches: Sequence[Batch]) -> int:
    """Rows of all batches that came behind the watermark and were dropped, as far as Spark says so."""
    return sum(batch.dropped for batch in batches)


def batch_of(progress: Json) -> Batch:
    """One batch from Spark's progress. It is committed within its trigger."""
    began_s = datetime.fromisoformat(str(progress["timestamp"]).replace("Z", "+00:00")).timestamp()
    return Batch(
        number=int(progress["batchId"]),
        began_s=began_s,
        committed_s=began_s + float(progress["durationMs"]["triggerExecution"]) / 1_000,
        rows=sum(int(source["numInputRows"]) for source in progress["sources"]),
        spans=tuple(_span(source) for source in progress["sources"]),
        state=_state(progress.get("stateOperators") or ()),
        dropped=sum(int(one.get("numRowsDroppedByWatermark", 0)) for one in progress.get("stateOperators") or ()),
    )


def _span(source: Json) -> Span:
    if ends := topic_ends(source["endOffset"]):
        # The first batch does not tell where it began.
        firsts = topic_ends(source["startOffset"])
        return Span(first=_sum(firsts), end=_sum(ends), start_s=None, ends=ends)
    first, end = _offset(source["startOffset"]), _offset(source["endOffset"])
    start_ms = (end or first).get("start_ms")
    return Span(
        first=int(first.get("offset", 0)),
        end=int((end or first).get("offset", 0)),
        start_s=None if start_ms is None else start_ms / 1_000,
        events=(end or first).get("events"),
    )


def _sum(ends: Mapping[str, Mapping[int, int]]) -> int:
    return sum(sum(parts.values()) for parts in ends.values())


def _offset(given: Any) -> dict[str, Any]:
    """Spark gives an offset as the text that the source made of it, or as what that text says."""
    read = json.loads(given) if isinstance(given, str) else given
    return read if isinstance(read, dict) else {}


def _state(operators: Any) -> State | None:
    if not operators:
        return None
    return State(
        rows=sum(int(one["numRowsTotal"]) for one in operators),
        bytes=sum(int(one["memoryUsedBytes"]) for one in operators),
        commit_s=sum(float(one.get("commitTimeMs", 0)) for one in operators) / 1_000,
    )

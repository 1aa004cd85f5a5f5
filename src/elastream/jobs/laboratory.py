"""Small queries on the embedded source whose output can be checked record by record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pyarrow.compute as pc  # type: ignore[import-untyped]

from elastream.jobs.filesink import committed
from elastream.registry import Registry, setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_COLUMNS = ["offset", "key", "value"]


class Verdict(NamedTuple):
    """Whether the output is what the input asks for, and a sentence about it."""

    right: bool
    sentence: str


class LaboratoryQuery(Protocol):
    """A query that can be started and whose output can be judged."""

    def start(self, events: DataFrame, folder: Path, trigger_s: float | None) -> StreamingQuery:
        """Run it on a stream of events; output and checkpoint go into the folder."""

    def judge(self, options: Mapping[str, str], rows: int, folder: Path) -> Verdict:
        """Compare its output with the first `rows` events, made again without Spark."""


queries: Registry[LaboratoryQuery] = Registry("query")


@queries.register("pass")
@dataclass(frozen=True, kw_only=True)
class Pass:
    """Every event as it is: one stage, no state."""

    def start(self, events: DataFrame, folder: Path, trigger_s: float | None) -> StreamingQuery:
        """Rows go straight to files."""
        return _to_files(events, folder, trigger_s, "pass")

    def judge(self, options: Mapping[str, str], rows: int, folder: Path) -> Verdict:
        """Each event once."""
        return _each_event_once(options, rows, folder)


@queries.register("deduplicate")
@dataclass(frozen=True, kw_only=True)
class Deduplicate:
    """Every event once, whoever sends it twice: two stages, with state for as long as a watermark lasts."""

    watermark: str = setting("20 seconds", doc="how long an event is remembered, in event time")

    def start(self, events: DataFrame, folder: Path, trigger_s: float | None) -> StreamingQuery:
        """Offsets are unique, so every row must come out, exactly once."""
        once = events.withWatermark("event_time", self.watermark).dropDuplicatesWithinWatermark(["offset"])
        return _to_files(once, folder, trigger_s, "deduplicate")

    def judge(self, options: Mapping[str, str], rows: int, folder: Path) -> Verdict:
        """Each event once."""
        return _each_event_once(options, rows, folder)


def _to_files(frame: DataFrame, folder: Path, trigger_s: float | None, name: str) -> StreamingQuery:
    writer = frame.writeStream.format("parquet").outputMode("append").queryName(name)
    writer = writer.option("path", str(folder / "out")).option("checkpointLocation", str(folder / "checkpoint"))
    if trigger_s is not None:
        writer = writer.trigger(processingTime=f"{round(trigger_s * 1000)} milliseconds")
    return writer.start()


def _each_event_once(options: Mapping[str, str], rows: int, folder: Path) -> Verdict:
    from elastream.spark.source import events

    expected = events(options, 0, rows).select(_COLUMNS)
    found = committed(folder / "out", _COLUMNS)
    if found is None:
        return Verdict(rows == 0, f"nothing was written, {rows:,} events were read")
    found = found.sort_by("offset")
    missing = len(set(range(rows)).difference(found["offset"].to_pylist())) if found.num_rows != rows else 0
    if found.cast(expected.schema).equals(expected):
        return Verdict(True, f"all {rows:,} events came out exactly once, compared record by record with the input")
    doubled = found.num_rows - pc.count_distinct(found["offset"]).as_py()
    wrong = f"{rows:,} events read, {found.num_rows:,} written, {missing:,} missing, {doubled:,} doubled"
    return Verdict(False, f"the output is wrong: {wrong}")

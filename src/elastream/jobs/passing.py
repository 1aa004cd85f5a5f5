"""The smallest jobs: on them, every event can be followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_EVENTS = Stream(name="events", generator="keyed")
_NUMBERED = Stream(name="events", generator="keyed", sound="event.offset IS NOT NULL")
_EACH_ONCE = (
    'SELECT "offset", partition, event_time, key, value, event_time AS first_time, event_time AS last_time FROM events'
)


@jobs.register("pass")
@dataclass(frozen=True, kw_only=True)
class Pass:
    """Every event as it is: one stage, no state."""

    streams: ClassVar[tuple[Stream, ...]] = (_EVENTS,)
    result: ClassVar[Result] = Result()
    answer: ClassVar[str] = _EACH_ONCE

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Rows as they are."""
        return streams["events"]


@jobs.register("deduplicate")
@dataclass(frozen=True, kw_only=True)
class Deduplicate:
    """Every event once, whoever sends it twice: two stages, with state for as long as a watermark lasts."""

    watermark: str = setting("20 seconds", doc="how long an event is remembered, in event time")

    streams: ClassVar[tuple[Stream, ...]] = (_NUMBERED,)
    result: ClassVar[Result] = Result()
    # Of events that are sent again, which are the same and come soon.
    answer: ClassVar[str] = (
        f"""{_EACH_ONCE} QUALIFY row_number() OVER (PARTITION BY "offset" ORDER BY event_time) = 1"""
    )

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """An offset that was seen is not let through again."""
        return streams["events"].withWatermark("event_time", self.watermark).dropDuplicatesWithinWatermark(["offset"])

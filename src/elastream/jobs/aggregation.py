"""Road sensors, one stream: flow and speed of each point over the last five minutes, every minute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.events.roads import lanes
from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.windows import bounds, sliding_starts
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@jobs.register("aggregation")
@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """Measurements in JSON: mean speed and accumulated flow of each point, all lanes, in sliding windows.

    On purpose all events are kept until their window closes, as published: few keys, much state. `incremental` keeps
    two sums instead. Published runs begin a batch every 60 s (`trigger`), when a window has closed.
    """

    ids: int = setting(120, doc="points; 120 have 190 lanes, for a load of 190 events/s")
    window: str = setting("5 minutes", doc="length of a window")
    slide: str = setting("1 minute", doc="time between the beginnings of two windows")
    watermark: str = setting("50 milliseconds", doc="how late a measurement may come")
    incremental: bool = setting(False, doc="keep sums instead of events")

    result: ClassVar[Result] = Result(is_final=True)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """One, with both measures."""
        sound = "id IS NOT NULL AND flow BETWEEN 0 AND 100000 AND speed_kmh BETWEEN 0 AND 1000"
        options = {"measure": "both", "ids": str(self.ids)}
        per_s = lanes(self.ids)
        return (Stream(name="roads", generator="roads", options=options, per_s=per_s, is_json=True, sound=sound),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Either way one shuffle and one state, and the same rows."""
        from pyspark.sql import functions as sf

        roads = streams["roads"].withWatermark("event_time", self.watermark)
        windows = roads.groupBy(sf.window("event_time", self.window, self.slide), "id")
        if self.incremental:
            points = windows.agg(sf.avg("speed_kmh").alias("mean_speed_kmh"), sf.sum("flow").alias("flow"))
            return points.select("id", *bounds(), "mean_speed_kmh", "flow")
        kept = windows.agg(sf.collect_list(sf.struct("speed_kmh", "flow")).alias("events"))
        return kept.select("id", *bounds(), *_of_events())

    @property
    def answer(self) -> str:
        """Every window against every event."""
        return f"""
            WITH starts AS ({sliding_starts("roads", self.window, self.slide)})
            SELECT id, window_start, window_start + INTERVAL '{self.window}' AS window_end,
                   avg(speed_kmh) AS mean_speed_kmh, sum(flow)::BIGINT AS flow,
                   min(event_time) AS first_time, max(event_time) AS last_time
            FROM starts JOIN roads
            ON event_time >= window_start AND event_time < window_start + INTERVAL '{self.window}'
            GROUP BY id, window_start
        """


def _of_events() -> list[Column]:
    """Computed when a window has closed, from all that was kept."""
    from pyspark.sql import functions as sf

    speed = sf.aggregate("events", sf.lit(0.0), lambda total, event: total + event["speed_kmh"])
    flow = sf.aggregate("events", sf.lit(0).cast("bigint"), lambda total, event: total + event["flow"])
    return [(speed / sf.size("events")).alias("mean_speed_kmh"), flow.alias("flow")]

"""Road sensors, two streams: flow and speed of each lane are joined, then summed up for each point, every second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.events.roads import lanes
from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.windows import bounds, bucket
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("enrichment")
@dataclass(frozen=True, kw_only=True)
class Enrichment:
    """Flow and speed in JSON: joined by point, lane and second, then mean speed and total flow per point and second.

    Two stateful operators with another key each, so two shuffles and little state. The load of the job is that of
    both streams, half of it each. Points grow with the load as published if `ids` is a 3.17th of it: then every lane
    reports once a second.

    Spark holds the watermark of the slower stream against both. The published runs let the faster one count, with the
    setting `spark.sql.streaming.multipleWatermarkPolicy=max` of the session: results come sooner, and what the slower
    stream brings too late is dropped and counted in the progress (`numRowsDroppedByWatermark`).
    """

    ids: int = setting(120, doc="points; 120 have 190 lanes, for a load of 380 events/s")
    watermark: str = setting("50 milliseconds", doc="how late a measurement may come, in both streams")

    result: ClassVar[Result] = Result(is_final=True)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Two, of equal rate."""

        def half(measure: str, sound: str) -> Stream:
            options = {"measure": measure, "ids": str(self.ids)}
            whole = f"id IS NOT NULL AND lane IS NOT NULL AND {sound}"
            return Stream(
                name=measure, generator="roads", options=options, share=0.5, per_s=lanes(self.ids), is_json=True,
                sound=whole,
            )  # fmt: skip

        return half("flow", "flow BETWEEN 0 AND 100000"), half("speed", "speed_kmh BETWEEN 0 AND 1000")

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """The second is a window of event time on both sides, so the join can forget it when it is over."""
        from pyspark.sql import functions as sf

        def per_second(stream: str, measured: str) -> DataFrame:
            rows = streams[stream].withWatermark("event_time", self.watermark)
            return rows.select("id", "lane", sf.window("event_time", "1 second").alias("second"), measured)

        both = per_second("flow", "flow").join(per_second("speed", "speed_kmh"), ["id", "lane", "second"])
        points = both.groupBy("second", "id").agg(
            sf.avg("speed_kmh").alias("mean_speed_kmh"), sf.sum("flow").alias("flow")
        )
        return points.select("id", *bounds("second"), "mean_speed_kmh", "flow")

    @property
    def answer(self) -> str:
        """All pairs of a lane's measurements in a second."""
        return f"""
            WITH flows AS (SELECT *, {bucket("1 second")} AS second FROM flow),
            speeds AS (SELECT *, {bucket("1 second")} AS second FROM speed)
            SELECT flows.id, flows.second AS window_start, flows.second + INTERVAL '1 second' AS window_end,
                   avg(speed_kmh) AS mean_speed_kmh, sum(flow)::BIGINT AS flow,
                   min(least(flows.event_time, speeds.event_time)) AS first_time,
                   max(greatest(flows.event_time, speeds.event_time)) AS last_time
            FROM flows, speeds
            WHERE flows.id = speeds.id AND flows.lane = speeds.lane AND flows.second = speeds.second
            GROUP BY flows.id, flows.second
        """

"""Traffic monitoring: how fast vehicles drive near a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.events.vehicles import LATITUDE, LONGITUDE
from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.windows import bounds, bucket
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_EARTH_KM = 6_371.0
KINDS = ("car", "van", "lorry", "bus", "motorcycle")


@jobs.register("traffic")
@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Vehicle events in JSON: those within a radius, the mean speed of each vehicle in ten seconds, then its plate.

    From Daedalus, which names neither place nor radius: a fifth of our vehicles are within 10 km of the middle.
    """

    vehicles: int = setting(1_000, doc="how many vehicles there are, all of which are known by their plates")
    latitude: float = setting(LATITUDE, doc="of the place, in degrees")
    longitude: float = setting(LONGITUDE, doc="of the place, in degrees")
    radius_km: float = setting(10.0, doc="vehicles farther away are left out")
    window: str = setting("10 seconds", doc="length of a window")
    watermark: str = setting("10 seconds", doc="how late an event may come")

    result: ClassVar[Result] = Result(is_final=True)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """One."""
        sound = (
            "vehicle IS NOT NULL AND latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180"
            " AND speed_kmh BETWEEN 0 AND 1000"
        )
        options = {"vehicles": str(self.vehicles)}
        return (Stream(name="vehicles", generator="vehicles", options=options, is_json=True, sound=sound),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """The table is joined to the few rows that leave a window; who is not in it comes out all the same."""
        from pyspark.sql import functions as sf

        seen = streams["vehicles"].withWatermark("event_time", self.watermark)
        # Spark moves a condition below the watermark, which would then wait for vehicles that are near; below a count
        # it does not.
        placed = seen.withColumn("is_near", self._distance_km() <= self.radius_km)
        near = placed.observe("near", sf.count_if("is_near").alias("rows")).where("is_near")
        means = near.groupBy(sf.window("event_time", self.window), "vehicle").agg(
            sf.avg("speed_kmh").alias("mean_speed_kmh"), sf.count(sf.lit(1)).alias("events")
        )
        known = means.join(sf.broadcast(self._registered(seen.sparkSession)), "vehicle", "left")
        return known.select("vehicle", "plate", "kind", *bounds(), "mean_speed_kmh", "events")

    def _distance_km(self) -> Column:
        """Along the earth's surface, by haversines."""
        from pyspark.sql import functions as sf

        north, east = sf.radians(sf.col("latitude") - self.latitude), sf.radians(sf.col("longitude") - self.longitude)
        narrowing = sf.cos(sf.radians(sf.lit(self.latitude))) * sf.cos(sf.radians("latitude"))
        haversine = sf.pow(sf.sin(north / 2), sf.lit(2)) + narrowing * sf.pow(sf.sin(east / 2), sf.lit(2))
        return sf.asin(sf.sqrt(haversine)) * (2 * _EARTH_KM)

    def _registered(self, spark: SparkSession) -> DataFrame:
        kinds = ", ".join(f"'{kind}'" for kind in KINDS)
        return spark.range(0, self.vehicles, 1, 1).selectExpr(
            "id AS vehicle",
            "concat('B-', upper(substring(md5(concat('vehicle ', id)), 1, 8))) AS plate",
            f"element_at(array({kinds}), int(id % {len(KINDS)}) + 1) AS kind",
        )

    @property
    def answer(self) -> str:
        """A vehicle is near if the angle that the earth's centre sees between it and the place is small enough."""
        at, lon = f"radians({self.latitude!r})", f"radians(longitude - ({self.longitude!r}))"
        cosine = f"sin({at}) * sin(radians(latitude)) + cos({at}) * cos(radians(latitude)) * cos({lon})"
        return f"""
            SELECT vehicle,
                   CASE WHEN is_known THEN 'B-' || upper(left(md5('vehicle ' || vehicle), 8)) END AS plate,
                   CASE WHEN is_known THEN ({list(KINDS)})[vehicle % {len(KINDS)} + 1] END AS kind,
                   {bucket(self.window)} AS window_start, window_start + INTERVAL '{self.window}' AS window_end,
                   avg(speed_kmh) AS mean_speed_kmh, count(*) AS events,
                   min(event_time) AS first_time, max(event_time) AS last_time
            FROM (SELECT *, vehicle >= 0 AND vehicle < {self.vehicles} AS is_known FROM vehicles)
            WHERE {cosine} >= cos({self.radius_km!r} / {_EARTH_KM!r})
            GROUP BY vehicle, is_known, window_start
        """

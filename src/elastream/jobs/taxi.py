"""Taxi rides and the nearest sight: one stateless operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HOTSPOTS = {
    "Central Park": (40.7829, -73.9654),
    "Statue of Liberty": (40.6892, -74.0445),
    "Times Square": (40.7580, -73.9855),
}
"""Latitude and longitude of three sights; Gesscale names none."""


@jobs.register("taxi")
@dataclass(frozen=True, kw_only=True)
class Taxi:
    """Rides in JSON: each comes out as it was, with the sight nearest to its pick-up and the distance to it.

    From Gesscale, which takes Euclidean distances of latitude and longitude; they are in degrees. It replays rides
    ten times as fast as they were and sends each three times: see `elastream.events.rides` for both.
    """

    repeat: int = setting(3, doc="how many times each ride is sent")

    result: ClassVar[Result] = Result()

    @property
    def streams(self) -> tuple[Stream, ...]:
        """One."""
        sound = "pickup_latitude BETWEEN -90 AND 90 AND pickup_longitude BETWEEN -180 AND 180"
        options = {"repeat": str(self.repeat)}
        return (Stream(name="rides", generator="rides", options=options, is_json=True, sound=sound),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Structs compare by their fields in order: the least is the nearest, and the first by name among equals."""
        from pyspark.sql import functions as sf

        rides = streams["rides"]
        nearest = sf.least(*(_to(name, place) for name, place in HOTSPOTS.items()))
        return rides.withColumn("nearest", nearest).select(
            *rides.columns, sf.col("nearest.hotspot"), sf.col("nearest.distance")
        )

    @property
    def answer(self) -> str:
        """Every ride against every sight."""
        places = ", ".join(f"('{name}', {north!r}, {east!r})" for name, (north, east) in HOTSPOTS.items())
        return f"""
            WITH sights(hotspot, north, east) AS (VALUES {places}),
            numbered AS (SELECT *, row_number() OVER () AS number FROM rides),
            measured AS (
                SELECT numbered.*, hotspot,
                       sqrt((pickup_latitude - north::DOUBLE) * (pickup_latitude - north::DOUBLE)
                            + (pickup_longitude - east::DOUBLE) * (pickup_longitude - east::DOUBLE)) AS distance
                FROM numbered, sights
            )
            SELECT * EXCLUDE (number), event_time AS first_time, event_time AS last_time
            FROM measured
            QUALIFY row_number() OVER (PARTITION BY number ORDER BY distance, hotspot) = 1
        """


def _to(name: str, place: tuple[float, float]) -> Column:
    from pyspark.sql import functions as sf

    north, east = sf.col("pickup_latitude") - place[0], sf.col("pickup_longitude") - place[1]
    distance = sf.sqrt(north * north + east * east)
    return sf.struct(distance.alias("distance"), sf.lit(name).alias("hotspot"))

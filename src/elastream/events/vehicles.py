"""Vehicles in a city that tell where they are and how fast they drive."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.events.columns import HEAD, HEAD_NAMES, degrees, drawn, head, quarters
from elastream.events.generators import whole
from elastream.events.randomness import IntArray

LATITUDE, LONGITUDE = 52.52, 13.405
"""The middle of the city: Berlin."""
# Of the square in which vehicles drive, and across the block that each of them drives round.
_SIDE_KM, _BLOCK_KM = 40.0, 3.0
# In the north and south direction, and in the other one at this latitude.
_KM_PER_DEGREE, _KM_PER_DEGREE_EAST = 111.2, 67.7
# Events of all vehicles in which each goes one round.
_EVENTS_PER_ROUND = 1_000_000
_FASTEST_KMH = 130


@dataclass(frozen=True, kw_only=True)
class Vehicles:
    """Each drives round its own block, somewhere in a square of 40 km; all report equally often."""

    options: ClassVar[tuple[str, ...]] = ("vehicles",)
    schema: ClassVar[str] = f"{HEAD}, vehicle BIGINT, latitude DOUBLE, longitude DOUBLE, heading INT, speed_kmh DOUBLE"
    key_column: ClassVar[str | None] = "vehicle"

    seed: int
    partitions: int
    vehicles: int = 1_000

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        return cls(seed=seed, partitions=partitions, vehicles=whole(given, "vehicles", "1000", least=1))

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        vehicle = drawn(offsets, self.seed, self.vehicles)
        east, north, start = (self._of(vehicle, salt) for salt in (1, 2, 3))
        # No sine: libraries differ in its last digit, and an event must be the same wherever it is made.
        way = (start + offsets / _EVENTS_PER_ROUND) % 1.0
        east_km = (east - 0.5) * _SIDE_KM + _BLOCK_KM * _there_and_back(way)
        north_km = (north - 0.5) * _SIDE_KM + _BLOCK_KM * _there_and_back(way + 0.25)
        return pa.RecordBatch.from_arrays(
            [
                *head(offsets, event_time_us, self.partitions),
                pa.array(vehicle),
                degrees(LATITUDE + north_km / _KM_PER_DEGREE),
                degrees(LONGITUDE + east_km / _KM_PER_DEGREE_EAST),
                # South-west first, and to the right at every corner.
                pa.array((225 + 90 * (4 * way).astype(np.int32)) % 360),
                quarters(drawn(offsets, self.seed + 4, 4 * _FASTEST_KMH + 1)),
            ],
            names=[*HEAD_NAMES, "vehicle", "latitude", "longitude", "heading", "speed_kmh"],
        )

    def _of(self, vehicle: IntArray, salt: int) -> NDArray[np.float64]:
        """Something between 0 and 1 that a vehicle keeps."""
        return drawn(vehicle, self.seed + salt, 2**32) / 2**32


def _there_and_back(way: NDArray[np.float64]) -> NDArray[np.float64]:
    """From a half to minus a half and back, for every whole step."""
    return np.abs(2.0 * (way % 1.0) - 1.0) - 0.5

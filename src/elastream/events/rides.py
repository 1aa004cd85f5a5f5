"""Taxi rides in New York, in the order in which they began.

Gesscale replays recorded rides by their timestamps, ten times as fast, and sends each of them three times. Here the
copies are the option `repeat`, and the pace is the workload's: of a trace of rides per second, such as
`trace(dsp_taxi_300s, baseline=78k, peak=500, stretch=0.1)`, a tenth of the length.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.events.columns import HEAD, HEAD_NAMES, degrees, drawn, head
from elastream.events.generators import whole
from elastream.events.randomness import IntArray

# Where rides begin and end, in degrees: most of Manhattan and some of what lies around it.
_SOUTH, _NORTH, _WEST, _EAST = 40.68, 40.82, -74.05, -73.91
_TAXIS, _DRIVERS = 13_000, 32_000
_FIELDS = (
    "ride BIGINT, taxi BIGINT, driver BIGINT, pickup_latitude DOUBLE, pickup_longitude DOUBLE,"
    " dropoff_latitude DOUBLE, dropoff_longitude DOUBLE, passengers INT, trip_s INT"
)


@dataclass(frozen=True, kw_only=True)
class Rides:
    """One event per ride and copy of it; the time that an event bears is that of the pick-up, as it is replayed."""

    options: ClassVar[tuple[str, ...]] = ("repeat",)
    schema: ClassVar[str] = f"{HEAD}, {_FIELDS}"
    key_column: ClassVar[str | None] = "ride"

    seed: int
    partitions: int
    repeat: int = 3
    """So many events that follow each other are the same ride."""

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        return cls(seed=seed, partitions=partitions, repeat=whole(given, "repeat", "3", least=1))

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        ride = offsets // self.repeat

        def whole_number(salt: int, over: int) -> IntArray:
            return drawn(ride, self.seed + salt, over)

        def place(salt: int, low: float, high: float) -> pa.Array:
            return degrees(low + (high - low) * (whole_number(salt, 1_000_000) / 1e6))

        return pa.RecordBatch.from_arrays(
            [
                *head(offsets, event_time_us, self.partitions),
                pa.array(ride),
                pa.array(whole_number(0, _TAXIS)),
                pa.array(whole_number(1, _DRIVERS)),
                place(2, _SOUTH, _NORTH),
                place(3, _WEST, _EAST),
                place(4, _SOUTH, _NORTH),
                place(5, _WEST, _EAST),
                pa.array((1 + whole_number(6, 6)).astype(np.int32)),
                pa.array((60 + whole_number(7, 3_540)).astype(np.int32)),
            ],
            names=[*HEAD_NAMES, *(field.split()[0] for field in _FIELDS.split(", "))],
        )

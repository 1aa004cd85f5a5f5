"""Road sensors: at many points, every lane tells how many cars pass and how fast they are (document 004's data)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from elastream.core.errors import UnknownName
from elastream.events.columns import HEAD, HEAD_NAMES, degrees, drawn, head, quarters
from elastream.events.generators import whole
from elastream.events.randomness import IntArray

# Lanes of fifty points, again and again: 1.58 on average, as published.
_LANES = (
    *(1, 2, 1, 1, 3, 1, 2, 1, 1, 3) * 2,
    *(1, 2, 1, 1, 4, 1, 2, 1, 1, 1) * 2,
    *(1, 2, 1, 3, 1, 2, 1, 3, 1, 2),
)
_BEFORE = (0, *accumulate(_LANES))
_POINT_OF_LANE = tuple(point for point, lanes in enumerate(_LANES) for _ in range(lanes))
_FASTEST_KMH, _MOST_CARS = 130, 60
_MEASURES = {
    "flow": "flow INT, accuracy INT",
    "speed": "speed_kmh DOUBLE, accuracy INT",
    "both": "flow INT, speed_kmh DOUBLE",
}


def lanes(points: int) -> int:
    """Of so many points, all together: each of them reports once a second."""
    full, rest = divmod(points, len(_LANES))
    return full * _BEFORE[-1] + _BEFORE[rest]


@dataclass(frozen=True, kw_only=True)
class Roads:
    """All lanes of all points report in turn, so each of them reports once a second if there are as many as events.

    Two streams with the same seed and workload tell of the same lane at the same offset and time, one its flow and the
    other its speed.
    """

    options: ClassVar[tuple[str, ...]] = ("measure", "ids")
    key_column: ClassVar[str | None] = "id"

    seed: int
    partitions: int
    measure: str = "flow"
    ids: int = 120
    """Points. The published ones grow with the rate: 120 of them have 190 lanes, for 190 events a second."""

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        measure = given.get("measure", "flow")
        if measure not in _MEASURES:
            raise UnknownName("source: unknown measure", measure, _MEASURES)
        return cls(seed=seed, partitions=partitions, measure=measure, ids=whole(given, "ids", "120", least=1))

    @property
    def schema(self) -> str:
        """Ten columns."""
        fixed = "id STRING, lane INT, lanes INT, latitude DOUBLE, longitude DOUBLE"
        return f"{HEAD}, {fixed}, {_MEASURES[self.measure]}"

    @property
    def reporting(self) -> int:
        """How many lanes there are."""
        return lanes(self.ids)

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        block, place = np.divmod(offsets % self.reporting, _BEFORE[-1])
        in_block = np.asarray(_POINT_OF_LANE)[place]
        point = block * len(_LANES) + in_block
        measured = [field.split()[0] for field in _MEASURES[self.measure].split(", ")]
        return pa.RecordBatch.from_arrays(
            [
                *head(offsets, event_time_us, self.partitions),
                pc.binary_join_element_wise("point-", pc.utf8_lpad(pa.array(point).cast(pa.string()), 6, "0"), ""),
                pa.array((place - np.asarray(_BEFORE)[in_block] + 1).astype(np.int32)),
                pa.array(np.asarray(_LANES, dtype=np.int32)[in_block]),
                degrees(51.0 + drawn(point, self.seed + 3, 2_000_000) / 1e6),
                degrees(4.0 + drawn(point, self.seed + 4, 2_500_000) / 1e6),
                *(self._measured(name, offsets) for name in measured),
            ],
            names=[*HEAD_NAMES, "id", "lane", "lanes", "latitude", "longitude", *measured],
        )

    def _measured(self, name: str, offsets: IntArray) -> pa.Array:
        if name == "speed_kmh":
            return quarters(drawn(offsets, self.seed, 4 * _FASTEST_KMH + 1))
        salt, over = (1, _MOST_CARS + 1) if name == "flow" else (2, 101)
        return pa.array(drawn(offsets, self.seed + salt, over).astype(np.int32))

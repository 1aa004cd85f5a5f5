"""Events with a key and a whole number, for whoever needs no more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.core.errors import BadInput
from elastream.events.generators import number, whole
from elastream.events.randomness import IntArray, scrambled, spread


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """Events with a key and a whole number as value; one key may be hot."""

    options: ClassVar[tuple[str, ...]] = ("keys", "hotShare")
    schema: ClassVar[str] = "offset BIGINT, partition INT, event_time TIMESTAMP, key BIGINT, value BIGINT"
    key_column: ClassVar[str | None] = "key"

    seed: int
    partitions: int
    keys: int = 1_000
    hot_share: float = 0.0
    """Share of the events that have key 0; the others are spread evenly over the other keys. 0: no key is hot."""

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        keys, hot_share = whole(given, "keys", "1000", least=1), number(given, "hotShare", "0")
        if keys >= 2**31:
            raise BadInput(f"source: keys: found {keys}; there may be up to 2147483647")
        if not 0 <= hot_share <= 1:
            raise BadInput(f"source: hotShare: found {given['hotshare']}; it must be between 0 and 1")
        return cls(seed=seed, partitions=partitions, keys=keys, hot_share=hot_share)

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        random = scrambled(offsets, self.seed)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(offsets),
                pa.array((offsets % self.partitions).astype(np.int32)),
                pa.array(event_time_us).cast(pa.timestamp("us", tz="UTC")),
                pa.array(self._keys(random)),
                pa.array((scrambled(offsets, self.seed + 1) % np.uint64(1_000)).astype(np.int64)),
            ],
            names=["offset", "partition", "event_time", "key", "value"],
        )

    def _keys(self, random: NDArray[np.uint64]) -> IntArray:
        high, low = random >> np.uint64(32), random & np.uint64(0xFFFFFFFF)
        hot_below = round(self.hot_share * 2**32)
        if not hot_below or self.keys == 1:
            return spread(low, self.keys)
        return np.where(high < hot_below, 0, 1 + spread(low, self.keys - 1))

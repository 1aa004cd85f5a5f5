"""Events with a key and a whole number, for whoever needs no more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.errors import BadInput
from elastream.events.columns import HEAD, HEAD_NAMES, head
from elastream.events.generators import share, whole
from elastream.events.randomness import IntArray, scrambled, skewed


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """Events with a key and a whole number as value; one key may be hot."""

    options: ClassVar[tuple[str, ...]] = ("keys", "hotShare")
    schema: ClassVar[str] = f"{HEAD}, key BIGINT, value BIGINT"
    key_column: ClassVar[str | None] = "key"

    seed: int
    partitions: int
    keys: int = 1_000
    hot_share: float = 0.0
    """Share of the events that have key 0; the others are spread evenly over the other keys. 0: no key is hot."""

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        keys = whole(given, "keys", "1000", least=1)
        if keys >= 2**31:
            raise BadInput(f"source: keys: found {keys}; there may be up to 2147483647")
        return cls(seed=seed, partitions=partitions, keys=keys, hot_share=share(given, "hotShare"))

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(
            [
                *head(offsets, event_time_us, self.partitions),
                pa.array(skewed(scrambled(offsets, self.seed), self.keys, self.hot_share)),
                pa.array((scrambled(offsets, self.seed + 1) % np.uint64(1_000)).astype(np.int64)),
            ],
            names=[*HEAD_NAMES, "key", "value"],
        )

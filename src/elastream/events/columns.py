"""Columns that many generators make alike."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.events.randomness import IntArray, scrambled, spread

HEAD = "offset BIGINT, partition INT, event_time TIMESTAMP"
"""How every schema begins."""
HEAD_NAMES = ("offset", "partition", "event_time")


def head(offsets: IntArray, event_time_us: IntArray, partitions: int) -> list[pa.Array]:
    """The columns that every schema begins with."""
    return [
        pa.array(offsets),
        pa.array((offsets % partitions).astype(np.int32)),
        pa.array(event_time_us).cast(pa.timestamp("us", tz="UTC")),
    ]


def drawn(numbers: IntArray, seed: int, over: int) -> IntArray:
    """For each number a random one below `over`."""
    return spread(scrambled(numbers, seed) & np.uint64(0xFFFFFFFF), over)


def texts(choice: Sequence[str], chosen: IntArray) -> pa.Array:
    """Texts out of a few."""
    return pa.array(choice, type=pa.string()).take(pa.array(chosen))


def quarters(numbers: IntArray) -> pa.Array:
    """So many quarters: sums of them are exact in doubles, in whatever order they are added."""
    return pa.array(numbers / 4.0)


def degrees(values: NDArray[np.float64]) -> pa.Array:
    """Places on the earth, to a tenth of a metre."""
    return pa.array(np.round(values, 6))

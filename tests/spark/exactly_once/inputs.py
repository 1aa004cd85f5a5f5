"""What each query reads. Both sides use this and nothing else of each other: the query in Spark, and the computation.

Events come in the order of their offsets, but their times are shuffled by up to ten seconds, so that windows of
neighbouring batches overlap. Watermarks allow for more than that: no event is late.
"""

from collections.abc import Mapping
from dataclasses import dataclass

SHUFFLED_US = 10_000
"""An event's time is its time at the source less this times its value, which is below 1,000."""
DELAY_S = 15
WINDOW_S = 10
NEAR_US = 1_000_000
"""Events of a join match when their times are no further apart."""
GAP_US = 1_000_500
"""Ends a session. Times are whole milliseconds, so nothing ever falls on the edge of a session or a watermark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One stream per seed, of the same length."""

    rows_per_batch: int
    keys: int
    seeds: tuple[int, ...] = (1,)
    partitions: int = 3

    def options(self, seed: int, rows: int | None) -> Mapping[str, str]:
        """For `format("elastream")`: everything has arrived long ago, and a batch takes so much of it."""
        options = {
            "workload": "constant(1k)",
            "start": "1",
            "seed": str(seed),
            "keys": str(self.keys),
            "partitions": str(self.partitions),
            "rowsPerBatch": str(self.rows_per_batch),
        }
        return options if rows is None else {**options, "rows": str(rows)}


INPUTS = {
    "stateless": Input(rows_per_batch=20_000, keys=1_000, seeds=(1,)),
    "windowed": Input(rows_per_batch=20_000, keys=300, seeds=(2,)),
    "joined": Input(rows_per_batch=10_000, keys=2_000, seeds=(3, 4)),
    "sessions": Input(rows_per_batch=10_000, keys=1_000, seeds=(5,)),
    "processor": Input(rows_per_batch=10_000, keys=100, seeds=(6,)),
    "each_batch": Input(rows_per_batch=20_000, keys=1_000, seeds=(7,)),
    # For long runs: state of a million keys, and batches of half a minute.
    "large": Input(rows_per_batch=60_000, keys=1_000_000, seeds=(8,)),
    "long": Input(rows_per_batch=24_000, keys=1_000, seeds=(9,), partitions=6),
}

ROCKSDB_ONLY = ("processor",)

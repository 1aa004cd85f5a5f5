"""Delays in the simulator: a batch is a stretch of the workload's exact arrival curve.

Partitions share the curve and are read in proportion to what waits in them, so what holds for the query holds for
each partition.
"""

from elastream.estimators.delay import Stretch
from elastream.workloads.series import RateSeries

DELAY_WINDOW_S = 60.0
"""As on Spark."""


def stretches(curve: RateSeries, first: float, last: float, committed_s: float) -> list[Stretch]:
    """The delays of the records after number `first` up to number `last`."""
    return [
        Stretch(committed_s, committed_s - end_s, committed_s - start_s, records)
        for start_s, end_s, records in curve.pieces(first, last)
    ]

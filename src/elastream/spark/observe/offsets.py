"""Records before an offset, counted per partition."""

from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

from elastream.spark.jvm.snapshot import Offset, partition_name

Counts = Mapping[str, float]
"""By partition; a source that does not tell its partitions apart has one, without a name."""


class Sample(NamedTuple):
    """What had arrived at a moment (UTC)."""

    utc_s: float
    records: Counts | None
    """None: the log was asked, and nobody knows now."""


def per_partition(offset: Offset) -> Counts | None:
    """Of the form {topic: {partition: number}}; None for any other."""
    if not isinstance(offset, Mapping) or not offset:
        return None
    found = {}
    for topic, ends in offset.items():
        if not isinstance(ends, Mapping):
            return None
        for partition, end in ends.items():
            # Nearly all are, and there may be thousands.
            if type(end) is not int and not is_number(end):
                return None
            found[partition_name(topic, partition)] = float(end)
    return found


def is_number(value: object) -> TypeGuard[float]:
    """Whether JSON gave a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)

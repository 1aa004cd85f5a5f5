"""Records before an offset, counted per partition."""

from collections.abc import Mapping
from typing import Any, NamedTuple

Counts = Mapping[str, float]
"""By partition; a source that does not tell its partitions apart has one, without a name."""


class Sample(NamedTuple):
    """What had arrived at a moment (UTC)."""

    utc_s: float
    records: Counts | None
    """None: the log was asked, and nobody knows now."""


def per_partition(offset: Any) -> Counts | None:
    """Of the form {topic: {partition: number}}; None for any other."""
    if not isinstance(offset, Mapping) or not offset:
        return None
    topics = [(topic, ends) for topic, ends in offset.items() if isinstance(ends, Mapping)]
    if len(topics) != len(offset) or not all(is_number(end) for _, ends in topics for end in ends.values()):
        return None
    return {f"{topic}-{partition}": float(end) for topic, ends in topics for partition, end in ends.items()}


def is_number(value: Any) -> bool:
    """Whether JSON gave a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)

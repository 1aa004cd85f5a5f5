"""What limits a query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from elastream.core.decision import Json

Kind = Literal[
    "blocked-sink", "hot-key", "hot-partition", "few-partitions", "driver", "source", "sink", "read-limit",
    "locality", "scheduler-delay", "memory", "garbage-collection", "page-faults", "state-store", "network", "disk",
    "waiting", "watermarks",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """What limits one query."""

    kind: Kind
    query: str
    """Its id."""
    sentence: str
    evidence: Mapping[str, Json] = field(default_factory=dict)
    useful_slots: int | None = None
    """Slots that the query can use; None: something else helps more, and executors may help."""

    @property
    def stops_growth(self) -> bool:
        """Whether more executors are known to be of no use."""
        return self.useful_slots is not None

"""Which instance reads which partitions of a log.

Partitions are dealt out in turn, as consumer groups do. With 12 partitions, 5 readers get 3, 3, 2, 2 and 2 of them: the
first two have more to do, and what waits in their partitions waits longer. A partition cannot be split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.simulator.continuous.model import LogModel


@dataclass(slots=True)
class Lane:
    """Partitions that are read alike: as far, by instances that are equally loaded and equally fast."""

    partitions: tuple[int, ...]
    share: float
    """Of the records of the log."""
    position: float
    """How far it has been read, as a number of records of the whole log."""
    power: float
    """Of the capacity of all readers."""
    group: int = 0
    """Which group of instances reads it."""
    taken: float = 0.0
    """Records of the last step."""


def loads(log: LogModel, readers: int) -> list[float]:
    """The share of the log that each reader gets."""
    shares = partition_shares(log)
    if shares is None:
        return [1 / readers] * readers
    return [sum(shares[reader::readers]) for reader in range(readers)]


def lanes(log: LogModel, positions: Sequence[float], powers: Sequence[float], groups: Sequence[int]) -> list[Lane]:
    """Deal out partitions, which have been read so far, to instances of these parts of the capacity and groups."""
    shares = partition_shares(log) or [1.0]
    held = loads(log, len(powers))
    alike: dict[tuple[float, float, float, int], list[int]] = {}
    for partition, position in enumerate(positions):
        reader = partition % len(powers)
        # What a reader holds beside this partition takes its part of the reader's power.
        power = powers[reader] / held[reader] if held[reader] else 0.0
        alike.setdefault((position, round(held[reader], 12), power, groups[reader]), []).append(partition)
    return [
        Lane(tuple(found), share := sum(shares[partition] for partition in found), position, power * share, group)
        for (position, _, power, group), found in alike.items()
    ]


def positions(read: Sequence[Lane], partitions: int) -> list[float]:
    """How far each partition has been read."""
    found = [0.0] * partitions
    for lane in read:
        for partition in lane.partitions:
            found[partition] = lane.position
    return found


def partition_shares(log: LogModel) -> list[float] | None:
    """The share of each partition; None where partitions do not matter."""
    if log.partitions is None:
        return None
    even = (1 - log.hot_share) / log.partitions
    return [even + log.hot_share, *[even] * (log.partitions - 1)]

"""How far a query has come, from its checkpoint: a progress may be lost when a query is stopped, this is not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The last committed batch."""

    batch: int
    ends: Mapping[str, Mapping[int, int]]
    """Of topics: for each partition the offset behind the last that was read."""
    watermark: datetime | None
    """Rows that wait for it are out; None: there was none."""
    is_between: bool
    """No other batch has begun."""


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """Of the query whose checkpoint is in this folder; None: nothing is committed."""
    commits, offsets = _numbers(folder / "checkpoint" / "commits"), _numbers(folder / "checkpoint" / "offsets")
    if not commits:
        return None
    # A version, what is known of the batch, and a line for each source.
    _, about, *sources = (folder / "checkpoint" / "offsets" / str(commits[-1])).read_text("utf-8").splitlines()
    watermark_ms = json.loads(about)["batchWatermarkMs"]
    return Checkpoint(
        batch=commits[-1],
        ends={topic: ends for source in sources for topic, ends in topic_ends(source).items()},
        watermark=datetime.fromtimestamp(watermark_ms / 1_000, UTC) if watermark_ms else None,
        is_between=offsets[-1] == commits[-1],
    )


def last_commit(folder: Path) -> int | None:
    """The number of the last committed batch."""
    return next(reversed(_numbers(folder / "checkpoint" / "commits")), None)


def topic_ends(offset: Any) -> dict[str, dict[int, int]]:
    """Kafka's offsets, by topic and partition, of a source's offset as text or as what that says; others have none."""
    try:
        read = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return {}
    if not isinstance(read, dict) or not all(isinstance(value, dict) for value in read.values()):
        return {}
    return {topic: {int(number): int(end) for number, end in ends.items()} for topic, ends in read.items()}


def _numbers(log: Path) -> list[int]:
    """Spark keeps the last few."""
    return sorted(int(file.name) for file in log.iterdir() if file.name.isdecimal()) if log.is_dir() else []

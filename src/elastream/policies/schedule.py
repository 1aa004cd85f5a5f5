"""Sizes at given times, whatever happens: how a plan that was made beforehand is replayed.

A CSV file with the columns `t` (seconds from the first look) and `workers` is read when the policy is built; from then
on its settings are the numbers, so that a journal holds the schedule itself and no name of a file.
"""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation
from elastream.core.slo import worst_of
from elastream.policies.catalogue import policies
from elastream.registry import setting

_COLUMNS = ("t", "workers")
_MOST_BYTES = 16 * 2**20

Moment = Annotated[float, Field(ge=0, le=1e12)]
Workers = Annotated[int, Field(ge=0, le=1_000_000)]


@policies.register("schedule")
@dataclass(frozen=True, kw_only=True)
class Schedule:
    """So many workers in every pool from each time on; before the first one, and without a schedule, as it is."""

    positional = ("file",)

    file: str | None = setting(None, doc="a CSV file with columns t (s) and workers; it is read at once")
    at_s: tuple[Moment, ...] = setting((), doc="times since the first look, instead of a file")
    workers: tuple[Workers, ...] = setting((), doc="the size from each of them on")
    interval_s: float = setting(0.0, doc="how often to decide; 0: at every look")
    needs: ClassVar[tuple[Need, ...]] = ()
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def __post_init__(self) -> None:
        if self.file is not None:
            if self.at_s or self.workers:
                raise BadInput(f"policy schedule: file {self.file!r} and times are both given; they exclude each other")
            rows = list(_read(self.file))
            object.__setattr__(self, "at_s", tuple(at_s for at_s, _ in rows))
            object.__setattr__(self, "workers", tuple(workers for _, workers in rows))
            object.__setattr__(self, "file", None)
        if len(self.at_s) != len(self.workers):
            raise BadInput(f"policy schedule: {len(self.at_s)} times for {len(self.workers)} sizes; one for each")
        late = next((place for place in range(1, len(self.at_s)) if self.at_s[place] <= self.at_s[place - 1]), None)
        if late is not None:
            raise BadInput(f"policy schedule: {self.at_s[late]:g} s follows {self.at_s[late - 1]:g} s; times must grow")

    def start(self) -> float | None:
        """There was no look."""
        return None

    def learn(self, memory: float | None, now: Observation, last: Decision | None) -> float | None:
        """When the first look was."""
        return now.at_s if memory is None else memory

    def decide(self, now: Observation, known: Knowledge, memory: float | None) -> Decision:
        """The size of the present time, and whether the promise is kept by it so far."""
        since_s = now.at_s - (now.at_s if memory is None else memory)
        place = bisect_right(self.at_s, since_s + 1e-9) - 1
        said = _tell_missed(now)
        if place < 0:
            return Decision.keep(now, f"the schedule has not begun{said}")
        workers = self.workers[place]
        reason = f"scheduled: {workers} from {self.at_s[place]:g} s on{said}"
        allocation = {
            pool.name: min(max(workers, pool.min_workers), pool.max_workers)
            if pool.min_workers < pool.max_workers else pool.wanted
            for pool in now.pools
        }  # fmt: skip
        return Decision(allocation=allocation, reason=reason)


def _tell_missed(now: Observation) -> str:
    worst = worst_of((query.slo, query.on_time) for query in now.queries if query.slo and query.on_time)
    if worst is None or worst[1].keeps(worst[0]):
        return ""
    return f"; the schedule misses the SLO: {worst[1].sentence(worst[0])}"


def _read(file: str) -> Iterator[tuple[float, int]]:
    path, label = Path(file), f"policy schedule: {file}"
    try:
        if not path.is_file():
            raise BadInput(f"{label}: there is no such file; it is a CSV with the columns {', '.join(_COLUMNS)}")
        if path.stat().st_size > _MOST_BYTES:
            raise BadInput(f"{label}: more than {_MOST_BYTES:,} bytes; a schedule is shorter")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as wrong:
        raise BadInput(f"{label} cannot be read: {wrong}") from None
    rows = csv.reader(text.splitlines())
    header = [name.strip() for name in next(rows, [])]
    if lacking := [name for name in _COLUMNS if name not in header]:
        raise BadInput(f"{label}: there is no column {lacking[0]!r}, only {', '.join(header) or 'none'}")
    t, size = (header.index(name) for name in _COLUMNS)
    found = False
    for row in filter(None, rows):
        found = True
        try:
            at_s, workers = float(row[t]), int(row[size])
        except (IndexError, ValueError):
            found_text = ",".join(row)
            raise BadInput(
                f"{label}:{rows.line_num}: found {found_text!r}; a time and a whole number belong there"
            ) from None
        if not (0 <= at_s <= 1e12 and 0 <= workers <= 1_000_000):
            raise BadInput(f"{label}:{rows.line_num}: found {at_s:g} s, {workers} workers; out of range")
        yield at_s, workers
    if not found:
        raise BadInput(f"{label}: there are no rows in it")

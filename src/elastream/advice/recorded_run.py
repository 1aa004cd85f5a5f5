"""The part of a recording that is simulated again: the newest run of it, or the last hours of that."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elastream.core.errors import BadInput
from elastream.core.observation import Observation, Query, Reading
from elastream.core.tick import Tick
from elastream.journal.format import Header
from elastream.journal.reader import Part, Recording

LEAD_S = 600.0
"""Before what is counted, so that a simulated policy has seen something and queues are as they were."""
LEAST_S = 120.0
"""Of a shorter run nothing can be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """One run: its ticks with a look, of which those from `since_s` on are counted."""

    where: str
    header: Header
    ticks: tuple[Tick, ...]
    since_s: float
    is_whole: bool = True
    """Whether it begins as the run began."""
    unknown: tuple[str, ...] = ()
    """What such a recording cannot tell, a sentence each."""

    @property
    def looks(self) -> list[Observation]:
        """What was seen."""
        return [tick.observation for tick in self.ticks if tick.observation is not None]

    @property
    def start_s(self) -> float:
        """Of the simulation, on the clock of the ticks."""
        return self.ticks[0].at_s

    @property
    def end_s(self) -> float:
        """Of both."""
        return self.ticks[-1].at_s

    @property
    def counted_s(self) -> float:
        """How long it is that is counted."""
        return self.end_s - self.since_s

    def as_recording(self) -> Recording:
        """Its ticks alone."""
        part = Part(name=self.where, header=self.header, snapshot=None, ticks=self.ticks)
        return Recording(parts=(part,))


def take_last(
    recording: Recording, where: str, last_s: float | None = None, *, unknown: Sequence[str] = ()
) -> RecordedRun:
    """The newest run of a recording; of `last_s` only so much of its end, with what is needed ahead of it."""
    header = recording.header
    parts: deque[list[Tick]] = deque()
    is_whole = False
    for part in reversed(recording.parts):
        if part.header.run != header.run:
            is_whole = True
            break
        parts.appendleft(_read(part))
        ticks = [tick for some in parts for tick in some]
        if last_s is not None and ticks and ticks[0].at_s < ticks[-1].at_s - last_s - LEAD_S:
            break
    else:
        is_whole = True
    ticks = [tick for some in parts for tick in some]
    if len(ticks) < 2 or ticks[-1].at_s - ticks[0].at_s < LEAST_S:
        raise BadInput(f"{where}: less than {LEAST_S:g} s were recorded; record a longer run")
    since_s = ticks[0].at_s
    if last_s is not None and ticks[-1].at_s - last_s > since_s:
        since_s = max(ticks[-1].at_s - last_s, since_s)
        first_s = since_s - LEAD_S
        is_whole = is_whole and ticks[0].at_s >= first_s
        ticks = [tick for tick in ticks if tick.at_s >= first_s]
    return RecordedRun(
        where=where, header=header, ticks=tuple(ticks), since_s=since_s, is_whole=is_whole, unknown=tuple(unknown)
    )


def sum_sources(query: Query, which: Callable[[Query], Sequence[Reading | None]]) -> Reading | None:
    """A total over the sources of a query; None where one of them is unknown."""
    readings = which(query)
    known = [reading for reading in readings if reading is not None]
    if not known or len(known) < len(readings):
        return None
    return Reading(sum(reading.value for reading in known), max(reading.at_s for reading in known))


def arrived_of(query: Query) -> Reading | None:
    """Records that have arrived."""
    return sum_sources(query, lambda query: [source.arrived for source in query.sources])


def committed_of(query: Query) -> Reading | None:
    """Records that are in committed batches."""
    return sum_sources(query, lambda query: [source.committed for source in query.sources])


def add_up(totals: Sequence[Reading]) -> list[Reading]:
    """What was added since the first of them; one that falls back begins anew, as after a restart."""
    found: list[Reading] = []
    added = last = 0.0
    for place, reading in enumerate(totals):
        added += max(reading.value - last, 0.0) if place else 0.0
        last = reading.value
        found.append(Reading(added, reading.at_s))
    return found


def _read(part: Part) -> list[Tick]:
    """Ticks with a look, each later than the one before."""
    found: list[Tick] = []
    for tick in part.ticks:
        if tick.observation is not None and (not found or tick.at_s > found[-1].at_s):
            found.append(tick)
    return found

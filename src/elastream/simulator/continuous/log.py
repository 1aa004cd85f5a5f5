"""An external log: what has arrived, how far it was read, and how long its records took.

Records are counted in the order they were read. What was read in one step is a chunk that remembers when its records
arrived; when the job is through with so many records, the oldest chunks tell their delays, exactly.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from elastream.estimators.delay import Stretch
from elastream.simulator.continuous import assignment
from elastream.simulator.continuous.assignment import Lane
from elastream.simulator.continuous.model import LogModel
from elastream.workloads.series import RateSeries

# Sums of floats over a day of steps differ by less than this share; a record more or less is not meant.
_ROUNDING = 1e-10


class _Piece(NamedTuple):
    """Records that arrived at an even rate, and which part of their chunk they are, from 0 to 1."""

    start_s: float
    end_s: float
    records: float
    first: float
    last: float


class _Chunk(NamedTuple):
    """What was read in one step."""

    end: float
    """Records read up to and including this chunk."""
    records: float
    pieces: list[_Piece]


class SimulatedLog:
    """One log and its reader. `read` falls when the job goes back to a checkpoint; `high` and `committed` never do."""

    def __init__(self, model: LogModel, curve: RateSeries) -> None:
        self.model = model
        self.curve = curve
        self.arrived = 0.0
        self.came = 0.0
        """Arrived in the last step."""
        self.read = 0.0
        self.high = 0.0
        self.committed = 0.0
        self.expired = 0.0
        self.lanes = [Lane(tuple(range(model.partitions or 0)), 1.0, 0.0, 1.0)]
        self._chunks: deque[_Chunk] = deque()

    def assign(self, shares: Sequence[float], powers: Sequence[float], groups: Sequence[int]) -> None:
        """Deal the records out anew, to instances that get these shares and have these parts of the capacity."""
        partitions = self.model.partitions
        if partitions is not None:
            self.lanes = assignment.lanes(self.model, assignment.positions(self.lanes, partitions), powers, groups)
            return
        # Without partitions to tell apart, what waits is dealt out like all the rest.
        position = sum(lane.position * lane.share for lane in self.lanes)
        alike: dict[tuple[float, float, int], int] = {}
        for reader in zip(shares, powers, groups, strict=True):
            alike[reader] = alike.get(reader, 0) + 1
        self.lanes = [
            Lane((), count * share, position, count * power, group) for (share, power, group), count in alike.items()
        ]
        if len(self.lanes) == 1:
            self.lanes[0].share = self.lanes[0].power = 1.0

    @property
    def unread(self) -> float:
        """Records that have arrived and wait to be read for the first time."""
        arrived, lanes = self.arrived, self.lanes
        if len(lanes) == 1:
            return (arrived - lanes[0].position) * lanes[0].share
        return sum([(arrived - lane.position) * lane.share for lane in lanes])

    @property
    def waiting(self) -> float:
        """Records to read, those to be read again among them."""
        return self.unread + self.high - self.read

    def arrive(self, now_s: float) -> None:
        """Let time pass."""
        before = self.arrived
        self.arrived = self.curve.arrived(now_s)
        self.came = self.arrived - before

    def supply(self, capacity: float) -> float:
        """How much of a capacity finds something to read: partitions of a reader that is done do not help another."""
        if len(self.lanes) == 1:
            lane = self.lanes[0]
            found, most = (self.arrived - lane.position) * lane.share + self.high - self.read, capacity * lane.power
            return found if found < most else most
        again = self.high - self.read
        left = max(0.0, capacity - again)
        found = sum([min((self.arrived - lane.position) * lane.share, left * lane.power) for lane in self.lanes])
        return min(capacity, again + found)

    def take(self, records: float, capacity: float) -> None:
        """Read so many records, at most what `supply` said of that capacity."""
        again = self.high - self.read
        self.read += records
        if again:
            # What is read again comes first; its delay was told when it was committed, or will be.
            if records <= again:
                return
            records, capacity = records - again, max(0.0, capacity - again)
        if records <= 0.0:
            return
        self.high = self.read
        if len(self.lanes) == 1:
            self._take_even(self.lanes[0], records)
        else:
            self._take_uneven(records, capacity)

    def expire(self, now_s: float) -> None:
        """Drop what was not read in time."""
        if self.model.retention_s is None:
            return
        oldest = self.curve.arrived(now_s - self.model.retention_s)
        for lane in self.lanes:
            if lane.position < oldest:
                self.expired += (oldest - lane.position) * lane.share
                lane.position = oldest

    def commit(self, through: float, start_s: float, end_s: float, base_s: float) -> list[Stretch]:
        """The job has got through so many records; those that are new since `start_s` tell their delays."""
        first = self.committed
        # What is short of all that was read by rounding alone is all of it.
        through = self.high if through > self.high * (1 - _ROUNDING) else through
        if through <= first:
            return []
        self.committed = through
        found: list[Stretch] = []
        pace = (end_s - start_s) / (through - first)
        chunks = self._chunks
        while chunks:
            end, records, pieces = chunks[0]
            start = end - records
            low = first if first > start else start
            high = through if through < end else end
            if high > low:
                from_s, to_s = start_s + (low - first) * pace, start_s + (high - first) * pace
                part = (low - start) / records, (high - start) / records
                _tell(found, pieces, part, from_s, to_s, end_s, base_s)
            if through < end:
                break
            chunks.popleft()
        return found

    def oldest_s(self) -> float | None:
        """When the first record arrived that is not committed, or None if there is none."""
        times = [self.curve.when(lane.position) for lane in self.lanes if lane.position < self.arrived]
        if self._chunks:
            end, records, pieces = self._chunks[0]
            done = max(0.0, (self.committed - end + records) / records)
            times += [
                piece.start_s
                + (piece.end_s - piece.start_s) * max(0.0, done - piece.first) / (piece.last - piece.first)
                for piece in pieces
                if piece.last > done
            ]
        return min(times, default=None)

    def _take_even(self, lane: Lane, records: float) -> None:
        first = lane.position
        last = first + records / lane.share
        if last > self.arrived * (1 - _ROUNDING):
            last = self.arrived
        lane.position, lane.taken = last, records
        self._chunks.append(_Chunk(self.read, records, _pieces(self.curve, first, last, lane.share)))

    def _take_uneven(self, records: float, capacity: float) -> None:
        wants = [min((self.arrived - lane.position) * lane.share, capacity * lane.power) for lane in self.lanes]
        part = min(1.0, records / (sum(wants) or 1.0))
        found: list[_Piece] = []
        for lane, want in zip(self.lanes, wants, strict=True):
            if want > 0.0:
                first = lane.position
                last = min(self.arrived, first + part * want / lane.share)
                if last > self.arrived * (1 - _ROUNDING):
                    last = self.arrived
                lane.position, lane.taken = last, part * want
                found += _pieces(self.curve, first, last, lane.share)
        self._chunks.append(_Chunk(self.read, records, found))


def _pieces(curve: RateSeries, first: float, last: float, share: float) -> list[_Piece]:
    cut = curve.pieces(first, last)
    if len(cut) == 1:
        start_s, end_s, records = cut[0]
        return [_Piece(start_s, end_s, records * share, 0.0, 1.0)]
    found, done, whole = [], 0.0, last - first
    for start_s, end_s, records in cut:
        after = done + records / whole
        found.append(_Piece(start_s, end_s, records * share, done, after))
        done = after
    return found


def _tell(
    found: list[Stretch],
    pieces: list[_Piece],
    part: tuple[float, float],
    from_s: float,
    to_s: float,
    end_s: float,
    base_s: float,
) -> None:
    """Delays of a part of a chunk that was committed at an even pace."""
    low, high = part
    for start, end, records, first, last in pieces:
        a, b = (low if low > first else first), (high if high < last else last)
        if b <= a:
            continue
        pace_s, width_s = (to_s - from_s) / (high - low), (end - start) / (last - first)
        begins = from_s + (a - low) * pace_s - start - (a - first) * width_s
        ends = from_s + (b - low) * pace_s - start - (b - first) * width_s
        # A record that is committed as it arrives has no delay; within a step it may seem to be early.
        begins, ends = (begins if begins > 0.0 else 0.0) + base_s, (ends if ends > 0.0 else 0.0) + base_s
        count = records * (b - a) / (last - first)
        found.append(Stretch(end_s, begins, ends, count) if begins <= ends else Stretch(end_s, ends, begins, count))

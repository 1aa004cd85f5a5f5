"""A file source: how much of its folder has not been read, as an estimate in records.

Files are listed by the driver (`FileLogs.java`), and which of them a batch has stands in the source's own log. So bytes
are known exactly, and records follow from the rows per byte of what was read so far. Bytes are counted in the order in
which they are read; each keeps the number of records that it was taken for when it came, so that totals only grow, and
nothing waits when no file does. Before the first batch has ended nobody knows what a file holds: lag is unknown then,
which is not the same as none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from elastream.spark.jvm.snapshot import FilesSeen, LogSeen, Offset, SourceSeen
from elastream.spark.observe.offsets import Counts, Sample, is_number

# What earlier batches weigh, each against the one after it: files change slowly, and one of them may be odd.
_KEPT_PER_BATCH = 0.9
# A listing that takes longer than this is too rare for the lag to be of now.
_SLOW_S = 5.0
_MAX_POINTS = 1024


class Scale:
    """Records before a byte; straight between two points, and never taken back."""

    def __init__(self) -> None:
        self._points: list[tuple[float, float]] = [(0.0, 0.0)]

    def begin_with(self, records: float) -> None:
        """So many lie before the first byte."""
        self._points = [(at, number + records) for at, number in self._points]

    def extend(self, until: float, per_byte: float) -> None:
        """What lies behind the last byte so far has that many records."""
        last, records = self._points[-1]
        if until > last:
            self._points.append((until, records + (until - last) * per_byte))
        if len(self._points) > _MAX_POINTS:
            half = _MAX_POINTS // 2
            self._points = self._points[:half:2] + self._points[half:]

    def at(self, position: float) -> float:
        place = bisect_right(self._points, position, key=lambda point: point[0])
        if place == len(self._points):
            return self._points[-1][1]
        (low, below), (high, above) = self._points[max(0, place - 1)], self._points[place]
        return below + (above - below) * max(0.0, position - low) / (high - low) if high > low else below


class FileProbe:
    """Numbers of records of one file source, estimated."""

    arrived_from: Literal["probe", "estimated"] = "estimated"

    def __init__(self, source: SourceSeen) -> None:
        self.source = source
        self.problem: str | None = None
        self._files: FilesSeen | None = None
        self._scale = Scale()
        self._rows = 0.0
        self._bytes = 0.0
        self._moved = 0.0
        """What to add to a position, so that it goes on when the source is opened again."""
        self._committed: tuple[int, float] | None = None
        """The last batch that was, and the bytes up to its end."""

    def records(self, offset: Offset) -> Counts | None:
        """Records up to the end of a batch."""
        number = _batch(offset)
        if number is None or self._files is None or not self._rows:
            return None
        return {"": self._scale.at(self._position(self._files, number))}

    def committed(self, offset: Offset, utc_s: float) -> Counts | None:
        """Records that need not be read any more."""
        number = -1 if offset is None else _batch(offset)
        if number is not None and self._files is not None:
            self._committed = number, self._position(self._files, number)
        return self.records({"logOffset": -1}) if offset is None else self.records(offset)

    def newest(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Sample | None:
        """What the folder held when it was listed last."""
        if log is None:
            return None
        self.problem = None if log.problem is None else f"its files cannot be listed: {log.problem}"
        if log.problem is not None or log.files is None or log.utc_s is None:
            return Sample(utc_s, None)
        self._take(log.files)
        if not self._rows:
            waiting, files = log.files.waiting
            self.problem = f"{files:,.0f} files ({waiting / 1e6:,.1f} MB) wait, and no batch has shown what files hold"
            return Sample(utc_s, None)
        if log.files.took_s > _SLOW_S:
            self.problem = f"its {log.files.arrived[1]:,.0f} files take {log.files.took_s:.0f} s to list"
        return Sample(log.utc_s, {"": self._scale.at(log.files.arrived[0] + self._moved)})

    def past(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Iterator[Sample]:
        """From the times of the files."""
        for then_s, position in log.files.past if log is not None and log.files is not None else ():
            yield Sample(then_s, {"": self._scale.at(position + self._moved)})

    def amount(self, start: Offset, end: Offset, unit: Literal["files", "bytes"]) -> float | None:
        """What a batch has read."""
        last = _batch(end)
        first = -1 if start is None else _batch(start)
        if self._files is None or first is None or last is None or last not in self._files.batches:
            return None
        place = 0 if unit == "bytes" else 1
        return sum(sums[place] for number, sums in self._files.batches.items() if first < number <= last)

    def learn(self, start: Offset, end: Offset, rows: float | None, before: float) -> None:
        """A batch had so many rows, and so many had been counted before it."""
        size = self.amount(start, end, "bytes")
        if self._files is None or rows is None or not size:
            return
        is_first = not self._rows
        self._rows = self._rows * _KEPT_PER_BATCH + rows
        self._bytes = self._bytes * _KEPT_PER_BATCH + size
        self._extend(self._files)
        if is_first and (first := self.committed(start, 0.0)) is not None:
            # Batches that ended before their files were listed have counted by their rows.
            self._scale.begin_with(max(0.0, before - first[""]))

    def _take(self, files: FilesSeen) -> None:
        before, self._files = self._files, files
        if before is not None and before.began_s != files.began_s and self._committed is not None:
            number, position = self._committed
            self._moved = 0.0
            self._moved = position - self._position(files, number)
        self._extend(files)

    def _extend(self, files: FilesSeen) -> None:
        if self._rows:
            self._scale.extend(files.arrived[0] + self._moved, self._rows / self._bytes)

    def _position(self, files: FilesSeen, batch: int) -> float:
        """All that has arrived, less what waits and what later batches have: files that vanish unread count as read."""
        later = sum(sums[0] for number, sums in files.batches.items() if number > batch)
        return files.arrived[0] - files.waiting[0] - later + self._moved


def _batch(offset: Offset) -> int | None:
    """Spark numbers the entries of the source's log."""
    number = offset.get("logOffset") if isinstance(offset, Mapping) else None
    return int(number) if is_number(number) and number is not None else None

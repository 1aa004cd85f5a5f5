"""One source of a query, followed from look to look: arrived, committed, and how old the backlog is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from elastream.core.observation import ArrivedFrom, Reading, Source
from elastream.estimators.delay import Stretch
from elastream.spark.jvm.snapshot import LogSeen, Offset, SourceSeen, partition_order
from elastream.spark.observe.arrival_curve import ArrivalCurve
from elastream.spark.observe.offsets import Counts
from elastream.spark.observe.outside_lag import OutsideLag
from elastream.spark.observe.probes import Uncounted, probe_for, read_limit

# A report no older than this stands as it is: ticks and polls are not closer together.
_FRESH_S = 1.0


def source_name(place: int) -> str:
    """What a source of a query is called."""
    return f"source-{place}"


class Read(NamedTuple):
    """What one batch took from a source."""

    rows: float | None
    limited: bool | None
    stretches: Sequence[Stretch] | None


class Partition:
    """One partition of a source; totals never fall."""

    def __init__(self) -> None:
        self.curve = ArrivalCurve()
        self.arrived: float | None = None
        self.committed = 0.0

    @property
    def backlog(self) -> float:
        return max(0.0, (self.arrived or 0.0) - self.committed)

    def commit(self, records: float) -> None:
        self.committed = max(self.committed, records)
        if self.arrived is not None:
            self.arrived = max(self.arrived, self.committed)

    def arrive(self, records: float) -> None:
        """What was extrapolated too far waits until it has come true."""
        self.arrived = max(self.arrived or 0.0, records, self.committed)

    def oldest_s(self) -> float | None:
        """When the oldest record that waits arrived."""
        arrived_s = self.curve.arrived_s(self.committed + 1)
        if arrived_s is None and (last := self.curve.last) is not None and last[1] <= self.committed:
            # It came after the last sample, and before now.
            return last[0]
        return arrived_s


class SourceTracker:
    """Counts in records since the source's beginning where its offsets tell, else since we watch."""

    def __init__(self, seen: SourceSeen) -> None:
        self.seen = seen
        self.rows: float | None = 0.0
        """Records in batches that ended since we watch."""
        self._probe = probe_for(seen)
        self._partitions: dict[str, Partition] = {}
        """Those that are there, and those that are not any more but that the query's offsets still name."""
        self._gone = 0.0
        """Records of partitions that were forgotten; totals keep them."""
        self._there: tuple[str, ...] = ()
        """Those that the log had when it answered last, in their order."""
        self._counts = False
        self._has_begun = False
        self._arrived_from: ArrivedFrom | None = None
        self._arrived_s: float | None = None
        self._probed = False
        self._outside: OutsideLag | None = None

    @property
    def is_asked(self) -> bool:
        """Whether its log itself tells what has arrived."""
        return self._probed or self.is_files

    def see_outside(self, at_s: float, waiting: Reading | None) -> None:
        """So many of its records waited by somebody outside of Spark, if anybody has said so."""
        if waiting is not None or self._outside is not None:
            self._outside = self._outside or OutsideLag()
            self._outside.commit(at_s, self._committed)
        if waiting is not None and self._outside is not None:
            self._outside.see(waiting)

    @property
    def is_files(self) -> bool:
        return self.seen.kind.endswith("FileStreamSource")

    @property
    def watched_only(self) -> str | None:
        """Why executors will never be changed for its lag, if so."""
        if self._outside is not None:
            return None
        if isinstance(self._probe, Uncounted) or (self._has_begun and not self._counts and not self.is_files):
            return f"{self.seen.kind.rpartition('.')[2]} does not tell how many records wait"
        return None

    @property
    def is_sampled(self) -> bool:
        """Whether it is known when records arrived."""
        return self._told_outside is not None or any(one.curve.last for one in self._partitions.values())

    @property
    def _told_outside(self) -> OutsideLag | None:
        """Whoever knows its lag where it cannot be asked itself."""
        return self._outside if self._outside is not None and not self._probed and self._outside.arrived else None

    def again(self, seen: SourceSeen) -> SourceTracker:
        """The same source in another run; if it is another one after all, begin anew."""
        if seen.kind != self.seen.kind or seen.table != self.seen.table:
            return SourceTracker(seen)
        self.seen = self._probe.source = seen
        return self

    def between(self, start: Offset, end: Offset) -> float | None:
        """Records between two offsets; there is none before the first offset."""
        return _rows(self._read(start, end))

    def _read(self, start: Offset, end: Offset) -> dict[str, tuple[float, float]] | None:
        """From where to where a batch reads each partition."""
        if start == end:
            return {}
        last = self._probe.records(end)
        first = self._probe.committed(None, 0.0) if start is None else self._probe.records(start)
        if first is None or last is None:
            return None
        # A partition that is new is read from its beginning.
        return {name: (first.get(name, 0.0), end) for name, end in last.items()}

    def report(self, at_s: float, latest: Offset) -> None:
        """The source itself has said, at that time, how far it reaches."""
        # Where a probe knows every tick, reports add nothing but their rounding.
        if not self._probed:
            self._sample(at_s, self._probe.records(latest) or {})

    def see(
        self,
        at_s: float,
        utc_s: float,
        *,
        committed: Offset,
        available: Offset,
        latest: Offset,
        asked_s: float | None,
        log: LogSeen | None = None,
    ) -> None:
        """Take in a look; `asked_s` is when the source was last asked for its latest offset."""
        offsets = available, committed, latest
        newest = self._probe.newest(utc_s, offsets, log)
        known = self._probe.committed(committed, utc_s)
        if known is not None or committed is not None:
            self._counts, self._has_begun = known is not None, True
        for name, number in (known or {}).items():
            self._partition(name).commit(number)
        if newest is None:
            if asked_s is not None:
                self.report(asked_s, latest)
            self._carry_on(at_s, self._probe.records(available) or {})
        elif newest.records is None:
            self._arrived_from = None
        else:
            if not self._probed:
                for then_s, records in self._probe.past(utc_s, offsets, log):
                    self._sample(at_s - (utc_s - then_s), records or {})
            then_s = min(at_s, at_s - (utc_s - newest.utc_s))
            # The same answer, looked at again a little sooner after it was given, is not older than it was.
            seen_s = self._arrived_s if self._probed else None
            self._take_newest(then_s if seen_s is None else max(then_s, seen_s), newest.records)
            if self._partitions.keys() > newest.records.keys():
                named = (self._probe.records(offset) or () for offset in offsets)
                self._forget_all_but({*newest.records, *(name for names in named for name in names)})

    def _take_newest(self, at_s: float, records: Counts) -> None:
        if records.keys() != set(self._there):
            if self._probed and self._arrived_s is not None:
                # A partition that was not there when the log was asked before had nothing then.
                fresh = [name for name in records if self._partition(name).curve.last is None]
                self._sample(self._arrived_s, dict.fromkeys(fresh, 0.0))
            self._there = tuple(sorted(records, key=partition_order))
        for name, number in records.items():
            known = self._partition(name)
            known.curve.add(at_s, number)
            known.arrive(number)
        self._close_all_but(records)
        self._probed, self._arrived_from, self._arrived_s = True, self._probe.arrived_from, at_s

    def _sample(self, at_s: float, records: Counts) -> None:
        for name, number in records.items():
            self._partition(name).curve.add(at_s, number)

    def _close_all_but(self, records: Counts) -> None:
        """What a partition that is gone still held, nobody will read."""
        for name in self._partitions.keys() - records.keys():
            gone = self._partitions[name]
            gone.commit(gone.arrived or 0.0)

    def _forget_all_but(self, names: Set[str]) -> None:
        """What is gone is dropped, or a source of hourly topics would grow for ever."""
        for name in self._partitions.keys() - names:
            gone = self._partitions.pop(name)
            gone.commit(gone.arrived or 0.0)
            self._gone += gone.committed

    def _carry_on(self, at_s: float, planned: Counts) -> None:
        """From reports of the source: as they are, or as the rate between them goes on."""
        reported = {name: one.curve for name, one in self._partitions.items() if one.curve.last is not None}
        times_s = [curve.last[0] for curve in reported.values() if curve.last is not None]
        if not times_s:
            self._arrived_from = None
            return
        rates = {name: curve.rate(at_s) for name, curve in reported.items()}
        is_old = at_s - max(times_s) > _FRESH_S and None not in rates.values()
        for name, number in planned.items():
            self._partition(name).arrive(number)
        is_ahead = False
        for name, curve in reported.items():
            asked_s, number = curve.last or (at_s, 0.0)
            known = self._partition(name)
            known.arrive(number + ((rates[name] or 0.0) * (at_s - asked_s) if is_old else 0.0))
            is_ahead = is_ahead or known.arrived != max(number, planned.get(name, 0.0), known.committed)
        # A total does not fall: what was carried on too far is no report until it has come true.
        self._arrived_from, self._arrived_s = ("extrapolated" if is_old or is_ahead else "reported"), at_s

    def take(
        self, progress: Mapping[str, object], ended_s: float, *, is_foreach: bool, scanned: float | None = None
    ) -> Read:
        """A batch has been committed; `progress` is its part about this source, `scanned` what its stages have read."""
        start, end = progress.get("startOffset"), progress.get("endOffset")
        number, before = progress.get("numInputRows"), self._committed
        # Spark counts rows again for every action of a foreachBatch: without offsets that count, its stages may know.
        counted = scanned if is_foreach else float(number) if isinstance(number, int | float) else None
        self._probe.learn(start, end, counted, self._committed)
        read = self._read(start, end)
        rows = _rows(read)
        if rows is None or self._probe.arrived_from == "estimated":
            rows = counted
        ends = {name: last for name, (_, last) in read.items()} if read else self._probe.records(end)
        self._counts, self._has_begun = ends is not None, True
        for name, number in (ends or {}).items():
            # A batch may be told of after a partition of it was forgotten.
            if name in self._partitions or not self._probed:
                self._partition(name).commit(number)
        if ends is not None and not self._probed:
            self._forget_all_but({*ends, *(self._probe.records(progress.get("latestOffset")) or ())})
        if ends is None and rows is not None:
            self._partition("").committed += rows
        self.rows = None if rows is None or self.rows is None else self.rows + rows
        stretches: Sequence[Stretch] | None = None
        if self._outside is not None:
            self._outside.commit(ended_s, self._committed)
        if (outside := self._told_outside) is not None:
            stretches = outside.stretches(before, self._committed, ended_s)
        elif read is not None and ends is not None:
            stretches = self._delays(read, ended_s)
        return Read(rows, self._limited(rows, start, end), stretches)

    def _delays(self, read: Mapping[str, tuple[float, float]], ended_s: float) -> list[Stretch]:
        stretches: list[Stretch] = []
        for name, (first, last) in read.items():
            if name in self._partitions:
                curve = self._partitions[name].curve
                stretches += curve.stretches(first, last, ended_s)
                curve.forget_before(last)
        return stretches

    def _limited(self, rows: float | None, start: Offset, end: Offset) -> bool | None:
        limit = read_limit(self.seen)
        if limit is None:
            return False
        # A limit in bytes ends a batch before the file that would pass it: what was read does not tell.
        files = self._probe.amount(start, end, "files")
        read = rows if limit.unit == "records" else files if limit.unit == "files" else None
        return None if read is None else read >= limit.most

    def source(self, place: int, at_s: float, partitions: int | None) -> Source:
        """The source as of a look."""
        total = self._committed
        # Where it begins may not be known before it has; what cannot be counted by its offsets is, by its rows.
        is_known = self._counts or (self._has_begun and self.rows is not None)
        committed = Reading(total, at_s) if is_known else None
        arrived, arrived_from, outside = None, self._arrived_from, self._told_outside
        # Of a query that has ended nobody asks the source any more, but what was known stays so.
        if self._arrived_from is not None and self._arrived_s is not None:
            known = self._partitions.values()
            arrived = Reading(self._gone + sum(one.arrived or one.committed for one in known), self._arrived_s)
        age_s = None if arrived is None else self._age(arrived, total, at_s)
        if outside is not None:
            arrived, arrived_from, age_s = outside.arrived, "prometheus", outside.age_s(total, at_s)
        return Source(
            name=source_name(place),
            read_limit=read_limit(self.seen),
            arrived=arrived,
            arrived_from=arrived_from,
            committed=committed,
            backlog_age_s=age_s,
            partitions=partitions,
            partition_backlogs=self._backlogs() if arrived is not None and committed is not None else None,
            problem=self._probe.problem if outside is None else None,
        )

    def overdue(self, due_s: float) -> float:
        """Records that had arrived by then and are not committed, as far as it is known when they came."""
        if (outside := self._told_outside) is not None:
            return outside.overdue(due_s, self._committed)
        return sum(max(0.0, one.curve.arrived(due_s) - one.committed) for one in self._partitions.values())

    @property
    def _committed(self) -> float:
        return self._gone + sum(one.committed for one in self._partitions.values())

    def _backlogs(self) -> tuple[float, ...] | None:
        there = self._there if self._probed else sorted(self._partitions, key=partition_order)
        return tuple(self._partitions[name].backlog for name in there) if len(there) > 1 else None

    def _age(self, arrived: Reading, committed: float, at_s: float) -> Reading | None:
        if arrived.value <= committed:
            # Reported before the batch was read, that says nothing: much may have come while it ran.
            return Reading(0.0, arrived.at_s) if self._arrived_from != "reported" or self._is_fresh(at_s) else None
        oldest = [one.oldest_s() for one in self._partitions.values() if one.backlog > 0]
        known = [came_s for came_s in oldest if came_s is not None]
        return Reading(max(0.0, at_s - min(known)), at_s) if known and len(known) == len(oldest) else None

    def _is_fresh(self, at_s: float) -> bool:
        lasts = [one.curve.last for one in self._partitions.values()]
        return bool(lasts) and all(last is not None and at_s - last[0] <= _FRESH_S for last in lasts)

    def _partition(self, name: str) -> Partition:
        known = self._partitions.get(name)
        if known is None:
            self._partitions[name] = known = Partition()
        return known


def _rows(read: Mapping[str, tuple[float, float]] | None) -> float | None:
    """Records of a batch, over all partitions."""
    return None if read is None else sum((max(0.0, last - first) for first, last in read.values()), 0.0)

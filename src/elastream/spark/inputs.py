"""One source of a query, followed from look to look: arrived, committed, and how old the backlog is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from elastream.core.observation import Reading, Source
from elastream.estimators.delay import Stretch
from elastream.spark.arrivals import ArrivalCurve
from elastream.spark.look import SourceSeen
from elastream.spark.newest import probe_for, read_limit, records_between

# A report no older than this stands as it is: ticks and polls are not closer together.
_FRESH_S = 1.0
_PAST_SAMPLES = 128


class Read(NamedTuple):
    """What one batch took from a source."""

    rows: float | None
    limited: bool | None
    stretches: Sequence[Stretch] | None


class Input:
    """Counts in records since the source's beginning where its offsets tell, else since we watch."""

    def __init__(self, seen: SourceSeen) -> None:
        self.seen = seen
        self.curve = ArrivalCurve()
        self.rows: float | None = 0.0
        """Records in batches that ended since we watch."""
        self._probe = probe_for(seen)
        self._committed = 0.0
        self._counts = True
        self._arrived: float | None = None
        self._arrived_from: Literal["probe", "reported", "extrapolated"] | None = None
        self._probed = False
        self._seen_s: float | None = None

    @property
    def is_files(self) -> bool:
        return self.seen.kind.endswith("FileStreamSource")

    def again(self, seen: SourceSeen) -> Input:
        """The same source in another run; if it is another one after all, begin anew."""
        if seen.kind != self.seen.kind or seen.table != self.seen.table:
            return Input(seen)
        self.seen, self._probe = seen, probe_for(seen)
        return self

    def between(self, start: Any, end: Any) -> float | None:
        """Records between two offsets."""
        return records_between(self._probe, self.seen, start, end)

    def report(self, at_s: float, latest: Any) -> None:
        """The source itself has said, at that time, how far it reaches."""
        # Where a probe knows every tick, reports add nothing but their rounding.
        if not self._probed and (records := self._probe.records(self.seen, latest)) is not None:
            self.curve.add(at_s, records)

    def see(
        self, at_s: float, utc_s: float, *, committed: Any, available: Any, latest: Any, asked_s: float | None
    ) -> None:
        """Take in a look; `asked_s` is when the source was last asked for its latest offset."""
        self._seen_s = at_s
        known = 0.0 if committed is None else self._probe.records(self.seen, committed)
        self._counts = known is not None
        if known is not None:
            self._committed = max(self._committed, known)
        planned = self._probe.records(self.seen, available) or 0.0
        offsets = available, committed, latest
        newest = self._probe.newest(self.seen, utc_s, offsets)
        if newest is not None:
            if not self._probed:
                self._probe_the_past(at_s, utc_s, offsets)
            self._probed = True
            self.curve.add(at_s, newest)
            self._raise_to(max(newest, planned), "probe")
            return
        if asked_s is not None:
            self.report(asked_s, latest)
        if (last := self.curve.last) is None:
            self._arrived = self._arrived_from = None
            return
        asked_at_s, reported = last
        rate = self.curve.rate(at_s)
        if at_s - asked_at_s > _FRESH_S and rate is not None:
            self._raise_to(max(reported + rate * (at_s - asked_at_s), planned), "extrapolated")
        else:
            self._raise_to(max(reported, planned), "reported")

    def _probe_the_past(self, at_s: float, utc_s: float, offsets: Sequence[Any]) -> None:
        """What waits may have come long before we began to watch, and some sources can still say when."""
        began_s = self._probe.began_s(self.seen, offsets)
        if began_s is None or began_s >= utc_s:
            return
        for step in range(_PAST_SAMPLES):
            then_s = began_s + (utc_s - began_s) * step / _PAST_SAMPLES
            if (records := self._probe.newest(self.seen, then_s, offsets)) is not None:
                self.curve.add(at_s - (utc_s - then_s), records)

    def _raise_to(self, records: float, origin: Literal["probe", "reported", "extrapolated"]) -> None:
        # A total never falls: what was extrapolated too far waits until it has come true.
        self._arrived = max(self._arrived or 0.0, records, self._committed)
        self._arrived_from = origin

    def take(self, progress: Mapping[str, Any], ended_s: float, *, is_foreach: bool) -> Read:
        """A batch has been committed; `progress` is its part about this source."""
        start, end = progress.get("startOffset"), progress.get("endOffset")
        rows = self.between(start, end)
        last = self._probe.records(self.seen, end)
        counted = progress.get("numInputRows")
        # Spark counts rows again for every action of a foreachBatch: without offsets that count, nobody knows.
        if rows is None and not is_foreach and isinstance(counted, int | float):
            rows = float(counted)
        if last is not None:
            self._committed = max(self._committed, last)
        elif rows is not None:
            self._committed += rows
        self.rows = None if rows is None or self.rows is None else self.rows + rows
        stretches = None
        if rows is not None and last is not None:
            stretches = list(self.curve.stretches(last - rows, last, ended_s))
            self.curve.forget_before(last)
        return Read(rows, self._limited(rows), stretches)

    def _limited(self, rows: float | None) -> bool | None:
        limit = read_limit(self.seen)
        if limit is None:
            return False
        return None if limit.unit != "records" or rows is None else rows >= limit.most

    def source(self, place: int, at_s: float, partitions: int | None) -> Source:
        """The source as of a look."""
        committed = Reading(self._committed, at_s) if self._counts or self.rows is not None else None
        # Of a query that has ended nobody asks the source any more, but what was known stays so.
        arrived = None if self._arrived is None else Reading(self._arrived, self._seen_s or at_s)
        return Source(
            name=f"source-{place}",
            read_limit=read_limit(self.seen),
            arrived=arrived,
            arrived_from=None if arrived is None else self._arrived_from,
            committed=committed,
            backlog_age_s=None if arrived is None else self._age(arrived, at_s),
            partitions=partitions,
        )

    def _age(self, arrived: Reading, at_s: float) -> Reading | None:
        if arrived.value <= self._committed:
            # Reported before the batch was read, that says nothing: much may have come while it ran.
            return Reading(0.0, arrived.at_s) if self._arrived_from != "reported" or self._is_fresh(at_s) else None
        arrived_s = self.curve.arrived_s(self._committed + 1)
        if arrived_s is None and (last := self.curve.last) is not None and last[1] <= self._committed:
            # The oldest came after the last sample, and before now.
            arrived_s = last[0]
        return None if arrived_s is None else Reading(max(0.0, at_s - arrived_s), at_s)

    def _is_fresh(self, at_s: float) -> bool:
        last = self.curve.last
        return last is not None and at_s - last[0] <= _FRESH_S

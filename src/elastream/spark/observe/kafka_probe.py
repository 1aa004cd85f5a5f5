"""A Kafka source: what its topics hold, asked with the query's own options, and what of it the query has committed.

Spark commits no offsets to Kafka, and what a progress calls latest is what the last plan saw. So the newest offsets
come from the log itself (`KafkaLogs.java`), and the committed ones from finished batches. Offsets are turned into
numbers of records that only grow, whatever happens to the topics:

- What retention has deleted unread is nobody's backlog: a committed offset before the oldest one counts as that.
- A partition that is added while we watch counts from its oldest record; the query will read it from there.
- A topic that was deleted and made again counts on from where it was. Until the query notices, its committed offset
  lies beyond the end, and nothing of the new topic is committed.
- A topic that is gone has no backlog, and is forgotten once no offset of the query names it: the query would read it
  from its beginning if it came back.

Offsets of compacted topics and transactions have gaps: then these numbers are more than the records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence, Set
from typing import Literal

from elastream.spark.jvm.snapshot import LogSeen, Offset, SourceSeen
from elastream.spark.observe.offsets import Counts, Sample, per_partition


class KafkaProbe:
    """Numbers of records of one source, per partition."""

    arrived_from: Literal["probe", "estimated"] = "probe"

    def __init__(self, source: SourceSeen) -> None:
        self.source = source
        self.problem: str | None = None
        self._log: LogSeen | None = None
        self._ends: dict[str, tuple[float, float]] = {}
        self._moved: dict[str, float] = {}
        """By partition: what to add to an offset, so that numbers go on."""
        self._seen: dict[str, tuple[float, float]] = {}
        """By partition: the committed offset, and since when it has been that (UTC)."""
        self._parsed: deque[tuple[Offset, Counts | None]] = deque(maxlen=4)

    def records(self, offset: Offset) -> Counts | None:
        """Records before an offset."""
        known = self._partitions(offset)
        if known is None:
            return None
        ends, moved, nothing = self._ends, self._moved, (0.0, 0.0)
        # As `_number`, which would take twice as long for thousands.
        return {name: max(end, ends.get(name, nothing)[0]) + moved.get(name, 0.0) for name, end in known.items()}

    def committed(self, offset: Offset, utc_s: float) -> Counts | None:
        """Records that need not be read any more; before the first commit, those before the query's first offset."""
        log = self._log
        known = self._partitions(log.first if offset is None and log is not None else offset)
        if known is None or log is None or log.utc_s is None:
            return None if known is None else self.records(offset)
        found = {}
        for name, (oldest, newest) in log.ends.items():
            # A partition without a commit is new.
            end = known.get(name, oldest)
            if self._seen.get(name, (-1.0, 0.0))[0] != end:
                self._seen[name] = end, utc_s
            # What was committed after the log was asked may well lie beyond its answer.
            if end > newest and self._seen[name][1] < log.utc_s:
                end = oldest
            found[name] = self._number(name, end)
        return found

    def newest(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Sample | None:
        """What the log answered last; unknown while it does not answer, and Spark's to say where nobody asks it."""
        if log is None:
            return None
        self.problem = None if log.problem is None else f"Kafka at {self._address()} gives no answer: {log.problem}"
        if log.utc_s is None or log.problem is not None:
            return Sample(utc_s, None)
        self._take(log)
        if len(self._ends) > len(log.ends):
            self._forget_all_but({*log.ends, *(name for offset in offsets for name in self._partitions(offset) or ())})
        return Sample(log.utc_s, {name: self._number(name, newest) for name, (_, newest) in log.ends.items()})

    def past(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Iterator[Sample]:
        """From the times that the records themselves carry."""
        for then_s, ends in log.past if log is not None else ():
            yield Sample(then_s, {name: self._number(name, end) for name, end in ends.items()})

    def amount(self, start: Offset, end: Offset, unit: Literal["files", "bytes"]) -> float | None:
        """Kafka's limits are in records."""
        return None

    def learn(self, start: Offset, end: Offset, rows: float | None, before: float) -> None:
        """Its offsets tell."""

    def _take(self, log: LogSeen) -> None:
        begins = self._log is None
        for name, (oldest, newest) in log.ends.items():
            before = self._ends.get(name)
            if before is None:
                self._moved[name] = 0.0 if begins else -oldest
            elif newest < before[1]:
                self._moved[name] += before[1] - oldest
            self._ends[name] = oldest, newest
        self._log = log

    def _partitions(self, offset: Offset) -> Counts | None:
        """The same offsets are asked for several times in a look, and may have thousands of partitions."""
        for known, partitions in self._parsed:
            if known is offset:
                return partitions
        self._parsed.append((offset, per_partition(offset)))
        return self._parsed[-1][1]

    def _forget_all_but(self, names: Set[str]) -> None:
        for known in (self._ends, self._moved, self._seen):
            for name in known.keys() - names:
                del known[name]

    def _address(self) -> str:
        options = {key.lower(): value for key, value in (self.source.options or {}).items()}
        return options.get("kafka.bootstrap.servers", "an unknown address")

    def _number(self, name: str, offset: float) -> float:
        oldest = self._ends.get(name, (0.0, 0.0))[0]
        return max(offset, oldest) + self._moved.get(name, 0.0)

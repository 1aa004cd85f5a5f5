"""What an offset counts, and how many records a source has by now.

A progress is stale by one batch, and without a read limit its lag is nil by construction: backlog needs the newest
offset of this moment. A probe knows it for one kind of source. To add one, write a class with the methods of `Probe` in
a file of its own and enter it in `PROBES` under the name of the JVM's stream class. Others announce theirs, or name
them in the settings (`spark/observe/probe_register.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from elastream.core.errors import ElastreamError
from elastream.core.observation import ReadLimit
from elastream.spark.jvm.snapshot import LogSeen, Offset, SourceSeen
from elastream.spark.observe.file_probe import FileProbe
from elastream.spark.observe.kafka_probe import KafkaProbe
from elastream.spark.observe.offsets import Counts, Sample, is_number, per_partition
from elastream.spark.observe.probe_register import ProbeRegister

P = TypeVar("P", bound="Probe")

_PAST_SAMPLES = 128


class Probe(Protocol):
    """Knows one source. Counts are per partition; a source that does not tell them apart has one."""

    source: SourceSeen
    problem: str | None
    """Why it is not known now what has arrived, in words for the owner of the query."""

    @property
    def arrived_from(self) -> Literal["probe", "estimated"]:
        """What its newest number is."""

    def records(self, offset: Offset) -> Counts | None:
        """Records before an offset, or None if it counts something else."""

    def committed(self, offset: Offset, utc_s: float) -> Counts | None:
        """Records that need not be read any more, before the first commit (None) as well; or None if unknown."""

    def newest(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Sample | None:
        """Records that have arrived by now, or None if only Spark can say; `offsets` are some that were seen."""

    def past(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Iterator[Sample]:
        """What had arrived at times that have passed, the oldest first; asked once."""

    def amount(self, start: Offset, end: Offset, unit: Literal["files", "bytes"]) -> float | None:
        """What a batch has read in another unit than records, where that is known."""

    def learn(self, start: Offset, end: Offset, rows: float | None, before: float) -> None:
        """A batch had so many rows, and so many were committed before it."""


class Reported:
    """Whatever keeps a running number in its offset. What is newest, only its own reports say."""

    problem: str | None = None
    arrived_from: Literal["probe", "estimated"] = "probe"

    def __init__(self, source: SourceSeen) -> None:
        self.source = source

    def records(self, offset: Offset) -> Counts | None:
        if not isinstance(offset, Mapping):
            return None
        for key in ("records", "offset"):
            if is_number(offset.get(key)):
                return {"": float(offset[key])}
        return per_partition(offset)

    def committed(self, offset: Offset, utc_s: float) -> Counts | None:
        return {} if offset is None else self.records(offset)

    def newest(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Sample | None:
        return None

    def past(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Iterator[Sample]:
        yield from ()

    def amount(self, start: Offset, end: Offset, unit: Literal["files", "bytes"]) -> float | None:
        return None

    def learn(self, start: Offset, end: Offset, rows: float | None, before: float) -> None:
        """Its offsets tell."""


class Rate(Reported):
    """Spark's `rate`: an offset is seconds since its start, and the rows of a second follow from the options."""

    def records(self, offset: Offset) -> Counts | None:
        # Without its options, nobody knows how many rows a second has.
        return {"": float(self._rows(int(offset)))} if is_number(offset) and self.source.options is not None else None

    def newest(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Sample | None:
        if self.source.created_s is None or self.source.options is None:
            return None
        return Sample(utc_s, {"": float(self._rows(max(0, int(utc_s - self.source.created_s))))})

    def past(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Iterator[Sample]:
        if self.source.created_s is not None:
            yield from _drawn(self.source.created_s, utc_s, lambda then_s: self.newest(then_s, offsets, log))

    def _rows(self, seconds: int) -> int:
        options = {key.lower(): value for key, value in (self.source.options or {}).items()}
        rate, ramp_s = int(options.get("rowspersecond", "1")), _whole_seconds(options.get("rampuptime", "0"))
        # As RateStreamProvider.valueAtSecond has it: the rate grows by the same step every second while it ramps up.
        ramped = min(seconds, ramp_s)
        return rate // (ramp_s + 1) * (ramped * (ramped + 1) // 2) + (seconds - ramped) * rate


class Embedded(Reported):
    """`format("elastream")`: arrivals follow from its options and the clock."""

    def newest(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Sample | None:
        # Imported when needed: it brings pyarrow, which only the laboratory has.
        from elastream.events.options import newest

        try:
            return Sample(utc_s, {"": float(newest(self.source.options or {}, utc_s, self._with_start(offsets)))})
        except (ElastreamError, TypeError, ValueError):
            return None

    def past(self, utc_s: float, offsets: Sequence[Offset], log: LogSeen | None) -> Iterator[Sample]:
        if (known := self._with_start(offsets)) is not None:
            began_s = float(known["start_ms"]) / 1000
            yield from _drawn(began_s, utc_s, lambda then_s: self.newest(then_s, offsets, log))

    def _with_start(self, offsets: Sequence[Offset]) -> Mapping[str, Any] | None:
        return next((offset for offset in offsets if isinstance(offset, Mapping) and "start_ms" in offset), None)


class Uncounted(Reported):
    """Offsets that number something else, such as those of a socket: lag is unknown."""

    problem: str | None = "its source does not tell how many records wait"

    def records(self, offset: Offset) -> Counts | None:
        return None


PROBES: dict[str, Callable[[SourceSeen], Probe]] = {
    "RateStreamMicroBatchStream": Rate,
    "FileStreamSource": FileProbe,
    "TextSocketMicroBatchStream": Uncounted,
    "KafkaMicroBatchStream": KafkaProbe,
    "elastream": Embedded,
}
"""By the simple name of the stream's class. Sources written in Python share one, and are named by their format."""

probes = ProbeRegister(PROBES, Probe)


def register_probe(stream: str) -> Callable[[type[P]], type[P]]:
    """Class decorator: ask the probe about such streams, by the simple or full name of their class in the JVM.

    A source that is written in Python is named by its format.
    """

    def decorate(cls: type[P]) -> type[P]:
        probes.register(stream, cls)
        return cls

    return decorate


def probe_for(source: SourceSeen) -> Probe:
    """Who knows this source."""
    return probes.find(stream_names(source), source) or Reported(source)


def stream_names(source: SourceSeen) -> tuple[str, ...]:
    """What a source's stream may be entered as: the full name of its class, and the simple one."""
    simple = source.kind.rpartition(".")[2]
    if simple.startswith("PythonMicroBatchStream"):
        return (source.table,) if source.table else ()
    return source.kind, simple


def read_limit(source: SourceSeen) -> ReadLimit | None:
    """What a source reads per batch at most, from the text that Spark makes of its limit."""
    text = source.limit or ""
    if found := re.search(r"(?:MaxRows: |\"max_rows\": |maxRows=)(\d+)", text):
        return ReadLimit(float(found[1]))
    if found := re.search(r"MaxFiles: (\d+)", text):
        return ReadLimit(float(found[1]), "files")
    if found := re.search(r"MaxBytes: (\d+)", text):
        return ReadLimit(float(found[1]), "bytes")
    return None


def _drawn(began_s: float, utc_s: float, at: Callable[[float], Sample | None]) -> Iterator[Sample]:
    """Samples from the beginning until now."""
    if began_s < utc_s:
        for step in range(_PAST_SAMPLES):
            if (sample := at(began_s + (utc_s - began_s) * step / _PAST_SAMPLES)) is not None:
                yield sample


def _whole_seconds(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+)\s*(ms|s|sec|second|seconds|m|min|minute|minutes|h)?\s*", text)
    if found is None:
        return 0
    scale = {"ms": 0.001, "m": 60, "min": 60, "minute": 60, "minutes": 60, "h": 3600}.get(found[2] or "s", 1)
    return int(int(found[1]) * scale)

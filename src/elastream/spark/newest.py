"""What an offset counts, and how many records a source has by now.

A progress is stale by one batch, and without a read limit its lag is nil by construction: backlog needs the newest
offset of this moment. A probe knows it for one kind of source. To add one (Kafka, say), write a class with the three
methods of `Probe` in a file of its own and enter it in `PROBES` under the name of the JVM's stream class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from elastream.core.errors import ElastreamError
from elastream.core.observation import ReadLimit
from elastream.spark.look import SourceSeen


class Probe(Protocol):
    """Knows one kind of source."""

    def records(self, source: SourceSeen, offset: Any) -> float | None:
        """Records before an offset, or None if it counts something else."""

    def newest(self, source: SourceSeen, now_utc_s: float, offsets: Sequence[Any]) -> float | None:
        """Records that have arrived by now, or None if only Spark can say; `offsets` are some that were seen."""

    def began_s(self, source: SourceSeen, offsets: Sequence[Any]) -> float | None:
        """Since when `newest` can be asked for times that have passed (UTC), or None."""


class Reported:
    """Whatever keeps a running number in its offset. What is newest, only its own reports say."""

    def records(self, source: SourceSeen, offset: Any) -> float | None:
        if not isinstance(offset, Mapping):
            return None
        for key in ("records", "offset"):
            if _is_number(offset.get(key)):
                return float(offset[key])
        # One number per partition of one or more topics.
        topics = list(offset.values())
        if topics and all(isinstance(topic, Mapping) and all(map(_is_number, topic.values())) for topic in topics):
            return float(sum(sum(topic.values()) for topic in topics))
        return None

    def newest(self, source: SourceSeen, now_utc_s: float, offsets: Sequence[Any]) -> float | None:
        return None

    def began_s(self, source: SourceSeen, offsets: Sequence[Any]) -> float | None:
        return None


class Rate:
    """Spark's `rate`: an offset is seconds since its start, and the rows of a second follow from the options."""

    def records(self, source: SourceSeen, offset: Any) -> float | None:
        return float(self._rows(source, int(offset))) if _is_number(offset) else None

    def newest(self, source: SourceSeen, now_utc_s: float, offsets: Sequence[Any]) -> float | None:
        if source.created_s is None:
            return None
        return float(self._rows(source, max(0, int(now_utc_s - source.created_s))))

    def began_s(self, source: SourceSeen, offsets: Sequence[Any]) -> float | None:
        return source.created_s

    def _rows(self, source: SourceSeen, seconds: int) -> int:
        options = {key.lower(): value for key, value in (source.options or {}).items()}
        rate, ramp_s = int(options.get("rowspersecond", "1")), _whole_seconds(options.get("rampuptime", "0"))
        # As RateStreamProvider.valueAtSecond has it: the rate grows by the same step every second while it ramps up.
        ramped = min(seconds, ramp_s)
        return rate // (ramp_s + 1) * (ramped * (ramped + 1) // 2) + (seconds - ramped) * rate


class Embedded(Reported):
    """`format("elastream")`: arrivals follow from its options and the clock."""

    def newest(self, source: SourceSeen, now_utc_s: float, offsets: Sequence[Any]) -> float | None:
        # Imported when needed: it brings pyarrow, which only the laboratory has.
        from elastream.spark.source_options import newest

        try:
            return float(newest(source.options or {}, now_utc_s, self._with_start(offsets)))
        except (ElastreamError, TypeError, ValueError):
            return None

    def began_s(self, source: SourceSeen, offsets: Sequence[Any]) -> float | None:
        known = self._with_start(offsets)
        return None if known is None else float(known["start_ms"]) / 1000

    def _with_start(self, offsets: Sequence[Any]) -> Mapping[str, Any] | None:
        return next((offset for offset in offsets if isinstance(offset, Mapping) and "start_ms" in offset), None)


class Uncounted:
    """Offsets that number batches or lines, such as those of files: lag is unknown."""

    def records(self, source: SourceSeen, offset: Any) -> float | None:
        return None

    def newest(self, source: SourceSeen, now_utc_s: float, offsets: Sequence[Any]) -> float | None:
        return None

    def began_s(self, source: SourceSeen, offsets: Sequence[Any]) -> float | None:
        return None


PROBES: dict[str, Probe] = {
    "RateStreamMicroBatchStream": Rate(),
    "FileStreamSource": Uncounted(),
    "TextSocketMicroBatchStream": Uncounted(),
}
"""By the simple name of the stream's class."""
PYTHON_PROBES: dict[str, Probe] = {"elastream": Embedded()}
"""Sources written in Python share their classes, and are told apart by the name of their format."""
_OTHERS = Reported()


def probe_for(source: SourceSeen) -> Probe:
    """Who knows this source."""
    kind = source.kind.rpartition(".")[2]
    if kind.startswith("PythonMicroBatchStream"):
        return PYTHON_PROBES.get(source.table or "", _OTHERS)
    return PROBES.get(kind, _OTHERS)


def records_between(probe: Probe, source: SourceSeen, start: Any, end: Any) -> float | None:
    """Records between two offsets; there is none before the first offset."""
    if start == end:
        return 0.0
    first, last = (0.0 if start is None else probe.records(source, start)), probe.records(source, end)
    return None if first is None or last is None else max(0.0, last - first)


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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole_seconds(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+)\s*(ms|s|sec|second|seconds|m|min|minute|minutes|h)?\s*", text)
    if found is None:
        return 0
    scale = {"ms": 0.001, "m": 60, "min": 60, "minute": 60, "minutes": 60, "h": 3600}.get(found[2] or "s", 1)
    return int(int(found[1]) * scale)

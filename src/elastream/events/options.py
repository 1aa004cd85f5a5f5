"""The options of generated events, those of `format("elastream")` among them, and when the events arrive."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, UnknownName
from elastream.events.generators import Generator, batches, maker, number, share, whole
from elastream.events.timing import ArrivalStretch, Timing
from elastream.events.wire import MESSAGES
from elastream.workloads import RateSeries, parse_workload

OPTIONS = {
    "workload": "the rate of arrivals over time, as text",
    "seed": "of the workload's noise and of the events (0)",
    "start": "UTC epoch seconds of the workload's time zero (the first start, kept in the checkpoint)",
    "duration": "arrivals end after so much of the workload's time (they go on)",
    "rows": "arrivals end after so many events (no limit)",
    "partitions": "tasks of a batch; an event's partition is its offset modulo this (4)",
    "rowsPerBatch": "read limit (none)",
    "timeFactor": "the workload's time passes so many times faster; rates stay what they are (1)",
    "epoch": "event time of the workload's time zero, UTC epoch seconds (2020-01-01)",
    "disorder": "so many events that follow each other bear each other's times (1: all are in order)",
    "lateShare": "share of the events that bear an earlier time than their own (0)",
    "lateBy": "by how much at most (0s)",
    "flush": "at the end one more event per partition, so much later than the last, to push the watermark on (none)",
    "payload": "columns, or json: what the same events are as messages of Kafka (columns)",
    "generator": "what makes the events: a name, or package.module:Class (keyed)",
}
"""Beside these, every generator has options of its own."""

# An event time that has nothing to do with the day on which a run happens to take place.
EPOCH_S = 1_577_836_800
# A workload without an end is drawn this long; after that the last rate goes on.
DRAWN_S = 86_400.0
# In microseconds it must fit into 32 bits.
_LATEST_S = 4_000.0


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """What a source was asked to do."""

    workload: str
    seed: int
    start_s: float | None
    duration_s: float | None
    rows: int | None
    partitions: int
    rows_per_batch: int | None
    flush_s: float | None
    is_json: bool
    timing: Timing
    """Without the end of the events, which takes a drawing of the workload: see `times`."""
    generator: Generator

    @property
    def schema(self) -> str:
        """The columns of the embedded source, as Spark's DDL."""
        return MESSAGES if self.is_json else self.generator.schema

    @cached_property
    def series(self) -> RateSeries:
        """Arrivals over the seconds that pass on the wall since the start."""
        # In the workload's time; one record then stands for as many as the factor, or rates would grow with it.
        drawn = parse_workload(self.workload).series(duration_s=self.duration_s or DRAWN_S, seed=self.seed)
        factor = self.timing.time_factor
        return RateSeries(drawn.times_s / factor, drawn.rates, drawn.duration_s / factor)

    @cached_property
    def stretch(self) -> ArrivalStretch:
        """The whole curve as arrays."""
        return ArrivalStretch(
            self.series.times_s, self.series.rates, np.asarray(self.series.arrived(self.series.times_s))
        )

    @cached_property
    def rows_to_come(self) -> int | None:
        """How many events the workload and its limits give, if that ends."""
        ends = [] if self.rows is None else [self.rows]
        if self.duration_s is not None:
            ends.append(math.floor(self.series.arrived(self.series.duration_s)))
        return min(ends) if ends else None

    @property
    def total(self) -> int | None:
        """How many events there will be, those that flush among them, if that ends."""
        rows = self.rows_to_come
        return rows if rows is None or self.flush_s is None else rows + self.partitions

    @cached_property
    def times(self) -> Timing:
        """The times that events bear."""
        if self.flush_s is None:
            return self.timing
        return replace(self.timing, flush_after=self.rows_to_come, flush_s=self.flush_s)

    def part(self, first: int, end: int) -> ArrivalStretch:
        """What the times of the events from `first` up to, without, `end` need."""
        return self.times.part(self.stretch, first, end)

    @cached_property
    def fingerprint(self) -> str:
        """Of all that decides what the events are and when they arrive."""
        decides = (self.workload, self.duration_s, self.partitions, self.timing, self.is_json, self.generator)
        return hashlib.sha256(repr(decides).encode()).hexdigest()[:12]

    def newest(self, since_s: float) -> int:
        """How many events had arrived so long after the start, which is the offset of the next one."""
        arrived = math.floor(self.series.arrived(float(since_s)))
        if self.total is None or self.rows_to_come is None or arrived < self.rows_to_come:
            return arrived
        return self.total


def parse_options(options: Mapping[str, str]) -> SourceOptions:
    """Options as Spark gives them, in any case, or BadInput."""
    given = {key.lower(): str(value) for key, value in options.items()}
    return _parsed(json.dumps(given, sort_keys=True))


@lru_cache(maxsize=32)
def _parsed(text: str) -> SourceOptions:
    """Cached, since whoever asks for the newest offset on every tick would draw the workload each time."""
    given: dict[str, str] = json.loads(text)
    makes = maker(given.get("generator", "keyed"))
    known = [*OPTIONS, *makes.options]
    for key in given.keys() - {name.lower() for name in known}:
        raise UnknownName("source: no option", key, known)
    if "workload" not in given:
        raise BadInput("source: the option workload is missing; give a rate over time, such as 'constant(1k)'")
    seed, partitions = whole(given, "seed", "0", least=0), whole(given, "partitions", "4", least=1)
    parsed = SourceOptions(
        workload=str(parse_workload(given["workload"])),
        seed=seed,
        start_s=number(given, "start") if "start" in given else None,
        duration_s=_positive(given, "duration") if "duration" in given else None,
        rows=whole(given, "rows", "", least=0) if "rows" in given else None,
        partitions=partitions,
        rows_per_batch=whole(given, "rowsPerBatch", "", least=1) if "rowsperbatch" in given else None,
        flush_s=_positive(given, "flush") if "flush" in given else None,
        is_json=_is_json(given.get("payload", "columns")),
        timing=_timing(given, seed),
        generator=makes.made(given, seed=seed, partitions=partitions),
    )
    # Drawn here, so that a duration the workload cannot have is told before anything starts.
    parsed.newest(0.0)
    if parsed.flush_s is not None and parsed.rows_to_come is None:
        raise BadInput("source: flush: events that have no end cannot be flushed; give rows or duration")
    return parsed


def newest(options: Mapping[str, str], now_utc_s: float, offset: Mapping[str, Any] | None = None) -> int:
    """How many events have arrived by now, which is the newest offset. Spark is not asked.

    Without the option `start` it needs any offset of the query (of its progress, or live), which carries the start.
    """
    parsed = parse_options(options)
    start_s = offset["start_ms"] / 1_000 if offset is not None else parsed.start_s
    if start_s is None:
        raise BadInput("source: the start is not known; give the option start, or an offset of the query")
    return parsed.newest(now_utc_s - start_s)


def events(options: Mapping[str, str], first: int, end: int) -> pa.Table:
    """The events from offset `first` up to, without, `end`: what a query must have read. Spark is not asked."""
    parsed = parse_options(options)
    made = batches(parsed.generator, parsed.times, parsed.part(first, end), range(first, end))
    nothing = np.empty(0, dtype=np.int64)
    return pa.Table.from_batches(list(made), schema=parsed.generator.batch(nothing, nothing).schema)


def _timing(given: Mapping[str, str], seed: int) -> Timing:
    late_by_s = number(given, "lateBy", "0")
    if not 0 <= late_by_s <= _LATEST_S:
        raise BadInput(f"source: lateBy: found {given['lateby']}; it must be from 0s to {_LATEST_S:g}s")
    return Timing(
        seed=seed,
        epoch_s=whole(given, "epoch", str(EPOCH_S), least=0),
        time_factor=_positive(given, "timeFactor", "1"),
        disorder=whole(given, "disorder", "1", least=1),
        late_share=share(given, "lateShare"),
        late_by_s=late_by_s,
    )


def _is_json(payload: str) -> bool:
    if payload not in ("columns", "json"):
        raise UnknownName("source: unknown payload", payload, ["columns", "json"])
    return payload == "json"


def _positive(given: Mapping[str, str], name: str, default: str = "") -> float:
    value = number(given, name, default)
    if value <= 0:
        raise BadInput(f"source: {name}: found {given[name.lower()]}; it must be more than 0")
    return value

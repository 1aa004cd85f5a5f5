"""The options of generated events, those of `format("elastream")` among them, and when the events arrive."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, UnknownName
from elastream.events.generators import Generator, Stretch, batches, maker, number, whole
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
    "generator": "what makes the events: keyed, or package.module:Class (keyed)",
}
"""Beside these, every generator has options of its own."""

# An event time that has nothing to do with the day on which a run happens to take place.
EPOCH_S = 1_577_836_800
# A workload without an end is drawn this long; after that the last rate goes on.
DRAWN_S = 86_400.0


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
    time_factor: float
    epoch_s: int
    generator: Generator

    @cached_property
    def series(self) -> RateSeries:
        """Arrivals over the seconds that pass on the wall since the start."""
        # In the workload's time; one record then stands for as many as the factor, or rates would grow with it.
        drawn = parse_workload(self.workload).series(duration_s=self.duration_s or DRAWN_S, seed=self.seed)
        return RateSeries(drawn.times_s / self.time_factor, drawn.rates, drawn.duration_s / self.time_factor)

    @cached_property
    def stretch(self) -> Stretch:
        """The whole curve as arrays."""
        return Stretch(self.series.times_s, self.series.rates, np.asarray(self.series.arrived(self.series.times_s)))

    @cached_property
    def total(self) -> int | None:
        """How many events there will be, if that ends."""
        ends = [] if self.rows is None else [self.rows]
        if self.duration_s is not None:
            ends.append(math.floor(self.series.arrived(self.series.duration_s)))
        return min(ends) if ends else None

    @cached_property
    def fingerprint(self) -> str:
        """Of all that decides what the events are and when they arrive."""
        decides = (self.workload, self.seed, self.duration_s, self.partitions, self.time_factor, self.epoch_s)
        return hashlib.sha256(repr((*decides, self.generator)).encode()).hexdigest()[:12]

    def newest(self, since_s: float) -> int:
        """How many events had arrived so long after the start, which is the offset of the next one."""
        arrived = math.floor(self.series.arrived(float(since_s)))
        return arrived if self.total is None else min(arrived, self.total)


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
        time_factor=_positive(given, "timeFactor", "1"),
        epoch_s=whole(given, "epoch", str(EPOCH_S), least=0),
        generator=makes.made(given, seed=seed, partitions=partitions),
    )
    # Drawn here, so that a duration the workload cannot have is told before anything starts.
    parsed.newest(0.0)
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
    made = batches(
        parsed.generator,
        parsed.stretch.of(first, end),
        range(first, end),
        epoch_s=parsed.epoch_s,
        time_factor=parsed.time_factor,
    )
    nothing = np.empty(0, dtype=np.int64)
    return pa.Table.from_batches(list(made), schema=parsed.generator.batch(nothing, nothing).schema)


def _positive(given: Mapping[str, str], name: str, default: str = "") -> float:
    value = number(given, name, default)
    if value <= 0:
        raise BadInput(f"source: {name}: found {given[name.lower()]}; it must be more than 0")
    return value

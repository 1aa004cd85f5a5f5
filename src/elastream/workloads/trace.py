"""Replay of recorded rates."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from elastream.core.errors import BadInput
from elastream.registry import setting
from elastream.workloads.pattern import MAX_POINTS, Moment, Pattern, Product, Rate, Streams, Sum, workloads
from elastream.workloads.series import FloatArray, RateSeries
from elastream.workloads.tracefile import RecordedRates, is_recording, read_recording

Factor = Annotated[float, Field(gt=0, le=1e12)]


@workloads.register("trace")
@dataclass(frozen=True, kw_only=True)
class Trace(Pattern):
    """A recorded load: the name of a shipped trace, or the path of a CSV or Parquet file.

    Applied in this order: skip `start_s` of the recording, subtract `baseline_rps`, multiply by `scale` (or bring the
    largest rate to `peak_rps`), lengthen by `stretch`.
    """

    positional = ("file",)

    file: str = setting(doc="a shipped trace or a path")
    stretch: Factor = setting(1.0, doc="how many times longer than recorded; below 1 it is faster")
    scale: Factor = setting(1.0, doc="what rates are multiplied by")
    peak_rps: Rate | None = setting(None, doc="scale so that the largest rate of the recording becomes this")
    baseline_rps: Rate = setting(0.0, doc="subtracted from every recorded rate first, down to zero")
    start_s: Moment = setting(0.0, doc="how far into the recording to start")
    then: Literal["hold", "repeat", "stop"] = setting("hold", doc="after the end: the last rate, again, or nothing")
    column: str | None = setting(None, doc="the column with the rates, if its name is not a usual one")
    time_column: str | None = setting(None, doc="the column with the times in seconds, likewise")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.peak_rps is not None and self.scale != 1.0:
            raise BadInput("workload trace: both scale and peak are given; they exclude each other")

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        recording = read_recording(self.file, column=self.column, time_column=self.time_column)
        if self.start_s and self.start_s >= recording.length_s:
            raise BadInput(f"trace {self.file!r}: start {self.start_s:g} s is after its {recording.length_s:g} s")
        times, rates = self._from_start(recording)
        times, end = times * self.stretch, (recording.length_s - self.start_s) * self.stretch
        if self.then == "repeat" and end > 0:
            times, rates = _repeated(times, rates, end, duration_s)
        elif self.then == "stop" and end > times[-1]:
            times, rates = np.append(times, end), np.append(rates, 0.0)
        needed = max(int(np.searchsorted(times, duration_s)), 1)
        return RateSeries(times[:needed], self._scaled(rates[:needed], recording), duration_s)

    def _from_start(self, recording: RecordedRates) -> tuple[FloatArray, FloatArray]:
        first = int(np.searchsorted(recording.times_s, self.start_s, side="right")) - 1
        return np.maximum(recording.times_s[first:] - self.start_s, 0.0), recording.rates[first:]

    def _scaled(self, rates: FloatArray, recording: RecordedRates) -> FloatArray:
        factor = self.scale
        if self.peak_rps is not None:
            highest = float(recording.rates.max()) - self.baseline_rps
            if highest <= 0:
                raise BadInput(f"trace {self.file!r}: nothing is left of it to bring to a peak of {self.peak_rps:g}")
            factor = self.peak_rps / highest
        return np.maximum(rates - self.baseline_rps, 0.0) * factor


def _repeated(times: FloatArray, rates: FloatArray, end: float, duration_s: float) -> tuple[FloatArray, FloatArray]:
    rounds = max(math.ceil(duration_s / end), 1)
    if rounds * len(times) > MAX_POINTS:
        raise BadInput(f"workload trace: {rounds} rounds of {len(times)} values are too many; use a longer stretch=")
    return (times + end * np.arange(rounds)[:, np.newaxis]).ravel(), np.tile(rates, rounds)


def find_traces(pattern: Pattern) -> Iterator[Trace]:
    """The recordings that a workload is made of."""
    if isinstance(pattern, Trace):
        yield pattern
    elif isinstance(pattern, Sum | Product):
        for term in pattern.terms:
            yield from find_traces(term)


def place_traces(pattern: Pattern, folder: Path) -> Pattern:
    """The workload, with paths of recordings that start from a folder; where nothing is there they stay as they are."""
    if isinstance(pattern, Trace) and not is_recording(pattern.file) and is_recording(str(folder / pattern.file)):
        return replace(pattern, file=str(folder / pattern.file))
    if isinstance(pattern, Sum | Product):
        return replace(pattern, terms=tuple(place_traces(term, folder) for term in pattern.terms))
    return pattern

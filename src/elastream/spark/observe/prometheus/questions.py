"""What is asked, and what an answer says of which executor or query, with the time at which it was true.

A question is a selector (`container_memory_rss{container="spark"}`) or an expression. Of a selector the samples
themselves are asked, each with the time it was scraped at; use of processors is then the growth of a counter between
the first and the last of a window. An expression has no times of its own, Prometheus stamps it with the moment of the
question: a second one says when its parts were scraped (`max by (pod) (timestamp(...))`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple, Protocol

from elastream.core.errors import ObservationFailed
from elastream.core.observation import Reading
from elastream.spark.observe.prometheus.client import LabelledSeries, SeriesPoint

Subject = Literal["cpu", "memory", "lag"]
SAYS: Mapping[Subject, str] = {
    "cpu": "processor use of executors elsewhere",
    "memory": "memory of executors elsewhere",
    "lag": "records that wait",
}
# A series that is replaced by another one (a container that was restarted) is no part of the sum any more.
_MISSED = 1.5
ALONE = ""
"""Of a lag that no label gives to a query: the only query of the application."""


class SeriesSource(Protocol):
    """What can be asked for series."""

    @property
    def place(self) -> str:
        """Where it is, as it is told."""

    def ask(self, promql: str, utc_s: float | None = None) -> list[LabelledSeries]:
        """What a query evaluates to; ObservationFailed with the reason where not."""

    def clock(self) -> tuple[float, float]:
        """Its time, and by how much it is ahead of ours."""


class Question(NamedTuple):
    """One subject, as it is asked."""

    subject: Subject
    promql: str
    times: str | None = None
    """What says when the parts of an expression were scraped; None for a selector."""

    def filled(self, names: Mapping[str, str]) -> Question:
        """With `$application` and `$name` put in, as they stand between quotes."""
        times = None if self.times is None else _filled(self.times, names)
        return self._replace(promql=_filled(self.promql, names), times=times)


class Labels(NamedTuple):
    """Which label of a series names what it belongs to."""

    executor: str
    pattern: re.Pattern[str]
    """What of its value does: the first group, or all of it."""
    is_host: bool
    """Whether it names a host and not an executor."""
    query: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideAnswers:
    """What was answered last, by executor (its id or host) and query; times are UTC, by our clock."""

    cpu: Mapping[str, Reading] = field(default_factory=dict)
    """Processors in use."""
    memory: Mapping[str, Reading] = field(default_factory=dict)
    lag: Mapping[str, Reading] = field(default_factory=dict)


def ask(
    client: SeriesSource, question: Question, labels: Labels, *, window_s: float, server_s: float, ahead_s: float
) -> dict[str, Reading]:
    """What one question says now; ObservationFailed with the reason where it says nothing."""
    key = _Key(question.subject, labels)
    if question.times is None:
        series = client.ask(f"{question.promql}[{max(1, round(window_s * 1000))}ms]", server_s)
        found = {name: _sum(some, question.subject) for name, some in key.grouped(series, needs_label=True).items()}
    else:
        values = key.grouped(client.ask(question.promql, server_s), needs_label=True)
        times = key.grouped(client.ask(question.times, server_s), needs_label=False)
        found = {name: _stamped(some, times.get(name, times.get(ALONE))) for name, some in values.items()}
    # Numbers that are finite may have a sum that is not.
    sound = {name: point for name, point in found.items() if point is not None and math.isfinite(sum(point))}
    return {name: Reading(point.value, point.utc_s - ahead_s) for name, point in sound.items()}


class _Key(NamedTuple):
    subject: Subject
    labels: Labels

    def grouped(self, series: Sequence[LabelledSeries], *, needs_label: bool) -> dict[str, list[LabelledSeries]]:
        """By what they belong to; those of nobody are left out."""
        label = self.labels.query if self.subject == "lag" else self.labels.executor
        found: dict[str, list[LabelledSeries]] = {}
        for one in series:
            value = ALONE if label is None else one.labels.get(label)
            if value is None and not needs_label and not one.labels:
                value = ALONE
            if value is None or (name := self._name(value)) is None:
                continue
            found.setdefault(name, []).append(one)
        if series and not found and needs_label:
            which = "a query" if self.subject == "lag" else "an executor"
            raise ObservationFailed(f"of {len(series)} series none has the label {label!r} with the name of {which}")
        return found

    def _name(self, value: str) -> str | None:
        if self.subject == "lag" or value == ALONE:
            return value
        matched = self.labels.pattern.fullmatch(value)
        if matched is None:
            return None
        return matched[1] if self.labels.pattern.groups else value


def _sum(series: Iterable[LabelledSeries], subject: Subject) -> SeriesPoint | None:
    """Of all series that belong together, true when the oldest of them was; None where one of them says nothing."""
    alive = _alive([one for one in series if one.points])
    points = [_growth(one.points) if subject == "cpu" else one.points[-1] for one in alive]
    known = [point for point in points if point is not None]
    if not known or len(known) < len(points):
        return None
    return SeriesPoint(sum(point.value for point in known), min(point.utc_s for point in known))


def _alive(series: list[LabelledSeries]) -> list[LabelledSeries]:
    newest_s = max((one.points[-1].utc_s for one in series), default=0.0)
    return [one for one in series if newest_s - one.points[-1].utc_s <= _MISSED * _every_s(one.points)]


def _every_s(points: Sequence[SeriesPoint]) -> float:
    """The longest time between two samples; one sample alone says nothing, and is kept for a while."""
    return max((after.utc_s - before.utc_s for before, after in pairwise(points)), default=15.0)


def _growth(points: Sequence[SeriesPoint]) -> SeriesPoint | None:
    """How fast a counter grew, since the window's first sample or since it last began anew."""
    first = max((place for place in range(1, len(points)) if points[place].value < points[place - 1].value), default=0)
    begin, end = points[first], points[-1]
    if end.utc_s <= begin.utc_s:
        return None
    return SeriesPoint((end.value - begin.value) / (end.utc_s - begin.utc_s), end.utc_s)


def _stamped(values: list[LabelledSeries], times: list[LabelledSeries] | None) -> SeriesPoint | None:
    known_s = [point.value for one in times or () for point in one.points]
    numbers = [point.value for one in values for point in one.points]
    return SeriesPoint(sum(numbers), min(known_s)) if known_s and numbers else None


def _filled(promql: str, names: Mapping[str, str]) -> str:
    def put(found: re.Match[str]) -> str:
        return names[found[1]].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return re.sub(rf"\$({'|'.join(names)})\b", put, promql) if names else promql

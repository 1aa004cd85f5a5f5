"""A run as its page is told of it: messages that follow from ticks, of a loop that runs and of a recording alike.

    run     what runs, under which policy, with which bounds; who opens the page is told it first
    ticks   moments, as rows of numbers in the order of `MEASURES`
    lines   decisions, and changes of the reason not to act, by their numbers: one that goes on is told again
    spans   stretches of time in which something was wrong
    summary the run in numbers, as of some moment of the last minute
    now     all that is true of the last moment only: sizes, queries with their operators, what holds them back

A message of moments has a place: who has seen it is told what came after it, and nothing twice.
"""

import json
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, Literal, NamedTuple

from elastream.core.tick import Tick
from elastream.evaluation.measures import Value, living_queries
from elastream.evaluation.predictions import find_expected, find_horizon
from elastream.evaluation.series import Measure, RunSeries
from elastream.evaluation.summary import summarise
from elastream.journal.format import Header
from elastream.journal.story import StoryFold, begin_line
from elastream.journal.story_line import Line
from elastream.render.page.facts import application_name, list_facts, list_tiles
from elastream.render.page.moment import ObservedCapacity, describe_moment

KEEP = 20_000
"""Moments that are kept: more than a day of looks every 5 s."""
KEEP_LINES = 500
KEEP_SPANS = 200
FEW_QUERIES = 4
SUM_EVERY_S = 60.0
"""A summary goes through all moments."""
VIRTUAL_BEFORE_S = 86400.0 * 365
"""The clock of a simulation starts in 1970."""
# Who trims one moment at a time moves all the others.
_SLACK = 1000
_PER_MESSAGE = 2000

MEASURES: Sequence[Measure] = (
    "arrived", "committed", "backlog", "delay", "to-come", "batch", "wanted", "requested", "ready", "leaving",
)  # fmt: skip
"""The columns of a moment, behind its time."""
EXPECTED = ("expected", "expected-low", "expected-high")
"""Columns of their own: what is expected to arrive, and between what it lies."""
OF_QUERIES: Sequence[Measure] = ("arrived", "backlog", "delay")


class FeedPlace(NamedTuple):
    """Where a moment stands in a journal: places compare as moments follow each other."""

    run: str
    """When the run began, in UTC."""
    tick: int

    def __str__(self) -> str:
        return f"{self.run}/{self.tick}"


def parse_place(text: str) -> FeedPlace | None:
    """A place as it was told; None where it is none of ours."""
    run, _, number = text.rpartition("/")
    return FeedPlace(run, int(number)) if run and number.isascii() and number.isdecimal() and len(number) < 12 else None


class FeedMessage(NamedTuple):
    """One thing that is told."""

    kind: Literal["run", "ticks", "lines", "spans", "summary", "now"]
    data: str
    """JSON."""
    place: FeedPlace | None = None


class PageFeed:
    """Folds ticks into messages, and tells who comes later what there was. Bounded."""

    def __init__(self, *, title: str | None = None, notes: Sequence[str] = (), keep: int = KEEP) -> None:
        self._title = title
        self._notes = tuple(notes)
        self._keep = keep
        self._header: Header | None = None
        self.series = RunSeries(tick_s=5.0)
        self._story = StoryFold()
        self._has_begun = False
        self._moments: deque[tuple[FeedPlace, str]] = deque(maxlen=keep)
        self._lines: dict[str, str] = {}
        self._capacity = ObservedCapacity()
        self._now: FeedMessage | None = None
        self._spans = self._summary = FeedMessage("spans", "[]")
        self._summed_at = -math.inf

    def begin(self, header: Header) -> FeedMessage:
        """A run begins, or a file of it that says more."""
        is_another = self._header is None or self._header.run[1] != header.run[1]
        self._header = header
        if is_another:
            self.series.begin(tick_s=header.tick_s, max_age_s=header.max_age_s)
            self._story, self._has_begun = StoryFold(), False
        return self._run()

    def update(self, tick: Tick, *, is_behind: bool = False) -> list[FeedMessage]:
        """Take in one tick: what there is to tell. One that is not later than the last is left out.

        Where more ticks wait, nothing is summed up: that goes through all moments, and would be outdated at once.
        """
        assert self._header is not None
        before = len(self.series.at)
        self.series.update(tick)
        rows = [self._row(number, tick) for number in range(before, len(self.series.at))]
        if not rows:
            return []
        place = FeedPlace(self._header.started_utc, tick.number)
        self._moments.extend((place, row) for row in rows)
        if len(self.series.at) > self._keep + _SLACK:
            self.series.trim(self._keep)
        self._capacity.update(tick)
        self._now = FeedMessage("now", _dumped(describe_moment(tick, self.series, self._capacity, self._header.pause)))
        summary = None if is_behind else self._tell_summary(self._header)
        told = (self._tell_lines(self._header, tick), self._tell_spans(), summary)
        return [FeedMessage("ticks", f"[{','.join(rows)}]", place), *filter(None, told), self._now]

    def catch_up(self, place: FeedPlace | None) -> Iterator[FeedMessage]:
        """The moments after a place while they are more than a message holds, each piece made when it is asked for.

        `since` tells the rest. What comes in between is told too.
        """
        has_begun = False
        while True:
            following = (entry for entry in self._moments if place is None or entry[0] > place)
            some = list(islice(following, _PER_MESSAGE + 1))
            if len(some) <= _PER_MESSAGE:
                return
            if not has_begun:
                yield self._run()
                has_begun = True
            # Moments of one look stay together.
            some = [entry for entry in some[:-1] if entry[0] != some[-1][0]] or some[:-1]
            place = some[-1][0]
            yield FeedMessage("ticks", f"[{','.join(row for _, row in some)}]", place)

    def since(self, place: FeedPlace | None) -> Iterator[FeedMessage]:
        """What somebody has to be told who has seen everything up to a place, or nothing yet."""
        if self._header is None:
            return
        yield self._run()
        waiting = [(at, row) for at, row in self._moments if place is None or at > place]
        for first in range(0, len(waiting), _PER_MESSAGE):
            some = waiting[first : first + _PER_MESSAGE]
            yield FeedMessage("ticks", f"[{','.join(row for _, row in some)}]", some[-1][0])
        if self._lines:
            yield FeedMessage("lines", f"[{','.join(self._lines.values())}]")
        yield self._spans
        if self._now is not None:
            # Many may come back at once.
            if self.series.at[-1] > self._summed_at:
                self._summed_at = -math.inf
            yield self._tell_summary(self._header) or self._summary
            yield self._now

    def _run(self) -> FeedMessage:
        header = self._header
        assert header is not None
        told = {
            "title": self._title,
            "application": application_name(header, self.series),
            "policy": header.policy,
            "settings": header.policy_settings,
            "guards": sorted(name.replace("_", "-") for name in header.guards),
            "platform": header.platform,
            "tick_s": header.tick_s,
            "elastream": header.elastream,
            "spark": header.spark,
            "notes": [*header.notes, *self._notes],
            "measures": MEASURES,
            "expected": EXPECTED,
            "ahead_s": find_horizon(header.policy_settings),
        }
        return FeedMessage("run", _dumped(told))

    def _row(self, number: int, tick: Tick) -> str:
        series = self.series
        values = (series.column(measure)[number] for measure in MEASURES)
        # Moments between two looks have no decision of their own.
        is_last = number == len(series.at) - 1
        expected = _find_expected(tick) if is_last else (None, None, None)
        row: list[Any] = [round(series.at[number], 2), *map(_short, values)]
        queries = living_queries(series.last) if series.last is not None else []
        if 1 < len(queries) <= FEW_QUERIES:
            # A line each, where several can be told apart.
            row.append({
                query.id: [query.name, *(_short(series.column(measure, query.id)[number]) for measure in OF_QUERIES)]
                for query in queries
            })  # fmt: skip
        if any(value is not None for value in expected):
            row += [*([{}] if len(row) == 1 + len(MEASURES) else []), list(map(_short, expected))]
        return _dumped(row)

    def _tell_spans(self) -> FeedMessage | None:
        spans = [[round(span.start, 1), round(span.end, 1), span.kind, span.text[:300]] for span in self.series.spans]
        told = FeedMessage("spans", _dumped(spans[-KEEP_SPANS:]))
        if told == self._spans:
            return None
        self._spans = told
        return told

    def _tell_summary(self, header: Header) -> FeedMessage | None:
        series = self.series
        if series.at[-1] - self._summed_at < SUM_EVERY_S:
            return None
        self._summed_at = series.at[-1]
        is_virtual = series.start < VIRTUAL_BEFORE_S
        told = {
            "facts": list_facts(header, series, is_virtual=is_virtual),
            "tiles": list_tiles(summarise(series), series),
        }
        self._summary = FeedMessage("summary", _dumped(told))
        return self._summary

    def _tell_lines(self, header: Header, tick: Tick) -> FeedMessage | None:
        """Lines that are new, or not what they were."""
        found: list[Line] = [] if self._has_begun else [begin_line(header, tick)]
        self._has_begun = True
        found += [*self._story.update(tick), *self._story.open_lines()]
        changed = []
        for line in found:
            key = f"{header.started_utc}/{line.number}{line.what[0]}"
            text = _dumped({"id": key, **asdict(line)})
            if self._lines.get(key) != text:
                self._lines[key] = text
                changed.append(text)
        while len(self._lines) > KEEP_LINES:
            del self._lines[next(iter(self._lines))]
        return FeedMessage("lines", f"[{','.join(changed)}]") if changed else None


def _find_expected(tick: Tick) -> tuple[Value, Value, Value]:
    if tick.decision is None or tick.observation is None:
        return None, None, None
    return find_expected(tick.decision, living_queries(tick.observation))


def _short(value: Value) -> Value:
    """As many digits as anybody reads."""
    return None if value is None else float(f"{value:.5g}")


def _dumped(value: object) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        # Evidence is whatever a policy says, and what is no number is none in JSON either.
        return json.dumps(_finite(value), separators=(",", ":"))


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

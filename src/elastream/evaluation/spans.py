"""Stretches of time in which something was wrong with a run."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from elastream.core.observation import Observation
from elastream.core.tick import Tick

SpanKind = Literal["blind", "trouble", "absent", "limited"]
"""blind: could not be looked at. trouble: something failed. absent: nobody looked. limited: executors cannot help."""

TOUCHING_S = 1.0
"""Ticks come a little late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleSpan:
    """A stretch of time in which something was wrong."""

    kind: SpanKind
    start: float
    end: float
    text: str


def find_trouble(tick: Tick) -> tuple[SpanKind, str] | None:
    """What was wrong on a tick, in words; None if all was well."""
    if tick.observation is None:
        return "blind", "; ".join(tick.troubles) or "no look"
    if wrong := [*tick.troubles, *_ill(tick.observation)]:
        return "trouble", "; ".join(wrong)
    if limits := [one.sentence for one in tick.bottlenecks if one.stops_growth]:
        return "limited", "; ".join(limits)
    return None


def add_span(spans: list[TroubleSpan], span: TroubleSpan) -> None:
    """Put a stretch at the end; one of the same kind that it touches becomes longer."""
    last = spans[-1] if spans else None
    if last is not None and span.kind == last.kind and span.start <= last.end + TOUCHING_S:
        spans[-1] = replace(last, end=span.end)
    else:
        spans.append(span)


def _ill(now: Observation) -> Iterator[str]:
    for query in now.queries:
        if query.error is not None:
            yield f"query {query.name} failed: {query.error}"
        elif query.phase == "restarting":
            yield f"query {query.name} is restarting"

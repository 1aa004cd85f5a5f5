"""How far a query is behind, at moments that can be compared, and how fast that changes.

Of a continuous query: its backlog at every look. Of one that runs micro-batches: what waited right after each commit,
beyond what one trigger interval brings. In between, the backlog of a batch rises and falls however healthy the query.
"""

from __future__ import annotations

import math
from typing import TypedDict

from elastream.core.observation import Query

_KEPT = 128
# A slope of so many standard errors is an accident once in twenty times (Student's t), by samples beyond two; and of
# more samples.
_SURE = {1: 6.3, 2: 2.9, 3: 2.4, 4: 2.1}
_SURE_OF_MANY = 2.0
_ASAP_S = 5.0
"""How long batches may be where the trigger is as fast as possible."""


class Behind(TypedDict):
    """What was seen of one query: plain values, to be kept in a policy's memory."""

    arrived: list[float] | None
    """Time and records at the last look."""
    began: list[float] | None
    """Id of the running batch, and what had arrived when it began."""
    batch: int | None
    """The last batch that was taken in."""
    samples: list[list[float]]
    """Time, and records left behind at that time."""


def period_s(query: Query) -> float:
    """How long a batch may take before it leaves records behind."""
    return query.trigger.interval_s or _ASAP_S


def is_batched(query: Query) -> bool:
    """Whether the query runs micro-batches, as far as it shows."""
    return query.running is not None or query.finished is not None


def watched(before: Behind | None, query: Query) -> Behind:
    """What is remembered after one more look at a query."""
    before = before or {"arrived": None, "began": None, "batch": None, "samples": []}
    arrived = _arrived(query)
    if arrived is None:
        return before
    # A total that fell was reset: nothing can be compared across the break.
    if before["arrived"] is not None and arrived[1] < before["arrived"][1]:
        before = {"arrived": None, "began": None, "batch": None, "samples": []}
    after: Behind = {**before, "arrived": arrived}
    if query.running is not None and (before["began"] is None or before["began"][0] != query.running.id):
        after["began"] = [float(query.running.id), _between(before["arrived"], arrived, query.running.started_s)]
    sample = _batch_sample(before, arrived, query) if is_batched(query) else _plain_sample(query, arrived[0])
    if sample is not None:
        after["samples"] = [*before["samples"][1 - _KEPT :], sample]
    if query.finished is not None:
        after["batch"] = query.finished.id
    return after


def records_behind(behind: Behind, query: Query) -> float | None:
    """Records left behind by now."""
    samples = _with_running(behind, query)
    return samples[-1][1] if samples else None


def growth_rps(behind: Behind, query: Query, now_s: float, window_s: float) -> float | None:
    """By how many records per second it falls further behind: the slope of a line through the samples of a window.

    Where batches are longer than the window, the last two samples stand for it.
    """
    line = _line(_chosen(_with_running(behind, query), now_s, window_s, least=2))
    return None if line is None else line[0]


def surely_grows(behind: Behind, now_s: float, window_s: float) -> bool:
    """Whether it falls further behind beyond doubt: by more than the samples scatter, and at least three of them.

    A batch that hangs is no sample: what it waits for may have nothing to do with how many there are to work.
    """
    chosen = _chosen(behind["samples"], now_s, window_s, least=3)
    line = _line(chosen) if len(chosen) >= 3 else None
    return line is not None and line[0] > _SURE.get(len(chosen) - 2, _SURE_OF_MANY) * line[1]


def _chosen(samples: list[list[float]], now_s: float, window_s: float, least: int) -> list[list[float]]:
    """The samples of a window, or the last ones where there are too few in it."""
    inside = [sample for sample in samples if sample[0] > now_s - window_s]
    return inside if len(inside) >= least else samples[-least:]


def _line(samples: list[list[float]]) -> tuple[float, float] | None:
    """The slope of a line through samples, and its standard error."""
    if len(samples) < 2:
        return None
    middle_s = sum(at_s for at_s, _ in samples) / len(samples)
    mean = sum(records for _, records in samples) / len(samples)
    spread = sum((at_s - middle_s) ** 2 for at_s, _ in samples)
    if not spread:
        return None
    slope = sum((at_s - middle_s) * records for at_s, records in samples) / spread
    left_over = sum((records - mean - slope * (at_s - middle_s)) ** 2 for at_s, records in samples)
    return slope, math.sqrt(left_over / max(1, len(samples) - 2) / spread)


def _with_running(behind: Behind, query: Query) -> list[list[float]]:
    """The samples, and what came while the running batch ran, if it has been running for too long already."""
    samples, arrived, began = behind["samples"], behind["arrived"], behind["began"]
    if query.running is None or arrived is None or began is None or began[0] != query.running.id:
        return samples
    for_s = arrived[0] - query.running.started_s
    over = (arrived[1] - began[1]) * (1 - period_s(query) / for_s) if for_s > period_s(query) else 0.0
    if samples and (over <= samples[-1][1] or arrived[0] <= samples[-1][0]):
        return samples
    return [*samples, [arrived[0], over]]


def _plain_sample(query: Query, at_s: float) -> list[float] | None:
    backlog = query.backlog
    return None if backlog is None else [at_s, backlog]


def _batch_sample(before: Behind, arrived: list[float], query: Query) -> list[float] | None:
    batch, backlog = query.finished, query.backlog
    if batch is None or backlog is None or batch.id == before["batch"]:
        return None
    # Looks come at their own times; what had arrived at the commit lies on the line between two of them.
    at_commit = _between(before["arrived"], arrived, batch.ended_s)
    left = backlog - (arrived[1] - at_commit)
    began = before["began"]
    seen_begin = began is not None and began[0] == batch.id
    at_begin = began[1] if began and seen_begin else _between(before["arrived"], arrived, batch.started_s)
    share = min(1.0, period_s(query) / batch.duration_s) if batch.duration_s > 0 else 1.0
    usual = (at_commit - at_begin) * share
    return [batch.ended_s, max(0.0, left - usual)]


def _arrived(query: Query) -> list[float] | None:
    readings = [source.arrived for source in query.sources]
    known = [reading for reading in readings if reading is not None]
    if not known or len(known) < len(readings):
        return None
    return [known[0].at_s, sum(reading.value for reading in known)]


def _between(before: list[float] | None, now: list[float], at_s: float) -> float:
    """Records that had arrived at a time, on the line through two looks; never more than now."""
    if before is None or now[0] <= before[0]:
        return now[1]
    rate = (now[1] - before[1]) / (now[0] - before[0])
    return min(now[1], max(0.0, now[1] - rate * (now[0] - at_s)))

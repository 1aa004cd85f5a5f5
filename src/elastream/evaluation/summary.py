"""A recorded run in numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from elastream.core.slo import Judged, worst_of
from elastream.evaluation.history import History
from elastream.evaluation.rates import Value
from elastream.journal.story_line import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run took and what it gave. None is unknown."""

    mean_workers: float | None
    max_workers: float | None
    worker_hours: float | None
    grown: int
    shrunk: int
    promise: Judged | None
    """The promise that was kept least, and how many records kept it; None if none was made or judged."""
    time_within_slo: float | None
    """Share of the looks that could tell at which every 95th percentile was within its bound."""
    max_delay_s: float | None
    """The longest of the 95th percentiles."""
    max_backlog: float | None
    backlog_left: float | None


def summarise(history: History, lines: Sequence[Line]) -> Summary:
    """The numbers of a run."""
    ready, leaving = history.column("ready"), history.column("leaving")
    workers = [None if a is None or b is None else a + b for a, b in zip(ready, leaving, strict=True)]
    known_s, worker_s = _integral(history, workers)
    within = [kept for kept in history.within if kept is not None]
    changes = [change for line in lines if line.what == "change" for change in line.changes.values()]
    return Summary(
        mean_workers=worker_s / known_s if known_s else _largest(workers),
        max_workers=_largest(workers),
        worker_hours=worker_s / 3600 if _largest(workers) is not None else None,
        grown=sum(after > before for before, after in changes),
        shrunk=sum(after < before for before, after in changes),
        promise=worst_of(history.on_time.values()),
        time_within_slo=sum(within) / len(within) if within else None,
        max_delay_s=_largest(history.column("delay")),
        max_backlog=_largest(history.column("backlog")),
        backlog_left=next((value for value in reversed(history.column("backlog")) if value is not None), None),
    )


def _integral(history: History, workers: Sequence[Value]) -> tuple[float, float]:
    """Seconds for which the number of workers is known, and worker-seconds in them.

    Workers that cannot be seen for a while cost all the same, so that a number holds until the next one; but not while
    nobody looked at all.
    """
    known_s = worker_s = 0.0
    held: Value = None
    absent = {span.start for span in history.spans if span.kind == "absent"}
    for (at, until), value in zip(pairwise(history.at), workers, strict=False):
        held = None if at in absent else held if value is None else value
        if held is not None:
            known_s += until - at
            worker_s += held * (until - at)
    return known_s, worker_s


def _largest(values: Sequence[Value]) -> Value:
    return max((value for value in values if value is not None), default=None)

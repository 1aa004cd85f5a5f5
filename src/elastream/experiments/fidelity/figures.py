"""What a run came to while its load lasted: the same count for runs on executors and simulated ones.

A live run is looked at before its load begins and until all of it is committed; a simulated one begins and ends with
its load. So only the time of the load counts, and its beginning is found by what has arrived.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from elastream.advice.figures import find_stretches
from elastream.core.errors import BadInput
from elastream.core.observation import Observation
from elastream.core.paid import count_paid
from elastream.core.tick import Tick
from elastream.estimators.delay import quantiles
from elastream.evaluation.curve import StepCurve
from elastream.evaluation.measures import Value, count_ready, count_wanted, living_queries, sum_backlogs, sum_known
from elastream.workloads.series import RateSeries

SHARE = 0.95
"""Of the records: their delay is what is compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFigures:
    """A run in numbers, and what is drawn of it; times are those of its load."""

    duration_s: float
    mean_rps: float
    """Of the load."""
    worker_hours: Value
    """Paid for."""
    delay_p95_s: Value
    """Over the records that were committed while the load lasted."""
    mean_backlog: Value
    changes: int
    """Of the size that was wanted."""
    wanted: StepCurve
    ready: StepCurve
    backlog: StepCurve
    delay: StepCurve
    """The 95th percentile of the last minute, at each look."""


def measure_load(ticks: Sequence[Tick], load: RateSeries, where: str) -> LoadFigures:
    """The numbers of a run under a load that is known; BadInput where nothing of it arrived."""
    looks = [(tick, tick.observation) for tick in ticks if tick.observation is not None]
    start_s = find_start(looks, load, where)
    end_s = load.duration_s

    def curve(values: Sequence[Value]) -> StepCurve:
        return _within([tick.at_s - start_s for tick, _ in looks], values, end_s)

    paid, backlog = curve([count_paid(now) for _, now in looks]), curve([_backlog(now) for _, now in looks])
    wanted = curve([count_wanted(tick) for tick, _ in looks])
    parts = list(find_stretches(_commits([now for _, now in looks], start_s), load))
    return LoadFigures(
        duration_s=end_s,
        mean_rps=load.mean_rps,
        worker_hours=paid.integral / 3600 if paid.known_s else None,
        delay_p95_s=float(quantiles(parts, (SHARE,))[0]) if parts else None,
        mean_backlog=backlog.mean,
        changes=len(wanted.changes()),
        wanted=wanted,
        ready=curve([count_ready(now) for _, now in looks]),
        backlog=backlog,
        delay=curve([_delay(now) for _, now in looks]),
    )


def find_start(looks: Sequence[tuple[Tick, Observation]], load: RateSeries, where: str) -> float:
    """When the load began, on the clock of the looks: what had arrived at a look tells how long ago that was."""
    total = load.arrived(load.duration_s)
    begun = []
    for _, now in looks:
        arrived, at_s = _arrived(now)
        # Where nothing arrives, time does not show; beyond the end, events that flush windows are counted, too.
        if arrived is not None and 0 < arrived < total and load.rate(load.when(arrived)) > 0:
            begun.append(at_s - load.when(arrived))
    if not begun:
        raise BadInput(f"{where}: nothing of the load arrived while somebody looked; record it again")
    return median(begun)


def _commits(looks: Sequence[Observation], start_s: float) -> Iterator[tuple[float, float]]:
    """How many records were committed at each look, and when the last batch of them ended."""
    for now in looks:
        committed, ended_s = _committed(now), _ended_s(now)
        if committed is not None and ended_s is not None:
            yield committed, ended_s - start_s


def _within(at: Sequence[float], values: Sequence[Value], end_s: float) -> StepCurve:
    """From the beginning to the end of a load; what was known holds on until the next look that knows it."""
    held: Value = None
    moments: list[tuple[float, Value]] = []
    for at_s, value in zip(at, values, strict=True):
        held = held if value is None else value
        if at_s <= 0:
            moments = [(0.0, held)]
        elif at_s < end_s:
            moments.append((at_s, held))
    if not moments or moments[0][0] > 0:
        moments.insert(0, (0.0, None))
    moments.append((end_s, moments[-1][1]))
    return StepCurve([at_s for at_s, _ in moments], [value for _, value in moments])


def _arrived(now: Observation) -> tuple[Value, float]:
    readings = [source.arrived for query in living_queries(now) for source in query.sources]
    known = [reading for reading in readings if reading is not None]
    if not known or len(known) < len(readings):
        return None, now.at_s
    return sum(reading.value for reading in known), max(reading.at_s for reading in known)


def _committed(now: Observation) -> Value:
    readings = [source.committed for query in living_queries(now) for source in query.sources]
    return sum_known([None if reading is None else reading.value for reading in readings])


def _ended_s(now: Observation) -> Value:
    return max((query.finished.ended_s for query in living_queries(now) if query.finished), default=None)


def _backlog(now: Observation) -> Value:
    return sum_backlogs(living_queries(now))


def _delay(now: Observation) -> Value:
    return max((query.delay.p95_s for query in living_queries(now) if query.delay), default=None)

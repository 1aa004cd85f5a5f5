"""A run in numbers: the only definitions, for runs that go on, that are simulated and that were recorded."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from elastream.core.slo import Judged
from elastream.evaluation.measures import Value
from elastream.evaluation.series import RunSeries


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run took and what it gave. None is unknown.

    A number of workers that was seen holds until the next one, also while nothing can be seen, for they cost all the
    same; but not while nobody looked at all.
    """

    ticks: int
    mean_workers: float | None
    """Workers that were ready, over the time for which they are known."""
    max_workers: float | None
    """Of workers that were ready."""
    worker_hours_paid: float | None
    """From the request of each worker until it has left: what a run costs. `count_paid` over time."""
    worker_hours_ready: float | None
    """What could be used of it: `mean_workers` times the hours for which they are known."""
    actions: int
    """Changes of the job; one that changes several pools is one."""
    grown: int
    shrunk: int
    holds: int
    """Looks at which the size was held because something was unknown."""
    promise: Judged | None
    """The promise that was kept least, and how many records kept it; None if none was made or judged."""
    time_within_slo: float | None
    """Share of the time for which it is known, in which the 95th percentile of each query was within its bound."""
    max_delay_p95_s: float | None
    """The longest of the 95th percentiles."""
    max_backlog: float | None
    last_backlog: float | None

    @property
    def records_within_slo(self) -> float | None:
        """Share of the records that were judged and committed within the bound: what an SLO speaks of."""
        return None if self.promise is None else self.promise[1].share

    @property
    def slo_kept(self) -> bool | None:
        """Whether that is at least what was promised; None if none was made or judged."""
        return None if self.promise is None else self.promise[1].keeps(self.promise[0])

    def as_json(self) -> dict[str, object]:
        """As plain values."""
        plain = asdict(self)
        del plain["promise"]
        return {**plain, "records_within_slo": self.records_within_slo, "slo_kept": self.slo_kept}


def summarise(series: RunSeries) -> Summary:
    """The numbers of a run so far."""
    ready = series.column("ready")
    known_s, ready_s = integrate(series, ready)
    judged_s, within_s = _integrate_known(series.at, series.within)
    most = _largest(ready)
    return Summary(
        ticks=series.ticks,
        mean_workers=ready_s / known_s if known_s else most,
        max_workers=most,
        worker_hours_paid=None if most is None else integrate(series, series.column("paid"))[1] / 3600,
        worker_hours_ready=None if most is None else ready_s / 3600,
        actions=series.actions.actions,
        grown=series.actions.grown,
        shrunk=series.actions.shrunk,
        holds=series.holds,
        promise=series.promise,
        time_within_slo=within_s / judged_s if judged_s else None,
        max_delay_p95_s=_largest(series.column("delay")),
        max_backlog=_largest(series.column("backlog")),
        last_backlog=next((value for value in reversed(series.column("backlog")) if value is not None), None),
    )


def integrate(series: RunSeries, values: Sequence[Value]) -> tuple[float, float]:
    """Seconds for which something is known, and its sum over them: a value holds until the next one that is known.

    Not while nobody looked: what was there in the meantime, nobody knows.
    """
    held: Value = None
    carried = []
    for value, attended in zip(values, series.attended, strict=True):
        held = None if not attended else held if value is None else value
        carried.append(held)
    return _integrate_known(series.at, carried)


def _integrate_known(at: Sequence[float], values: Sequence[Value]) -> tuple[float, float]:
    """Every value holds until the next moment; those that are unknown count for nothing."""
    known_s = total = 0.0
    for (since, until), value in zip(pairwise(at), values, strict=False):
        if value is not None:
            known_s += until - since
            total += value * (until - since)
    return known_s, total


def _largest(values: Sequence[Value]) -> Value:
    return max((value for value in values if value is not None), default=None)

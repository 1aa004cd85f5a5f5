"""A run in numbers: the only definitions, for runs that go on, that are simulated and that were recorded."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from elastream.core.slo import Judged
from elastream.evaluation.curve import StepCurve
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
    mean_wanted: float | None
    """Workers that were decided on, over time: what was deployed, also while a change stops the job."""
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
    longest_violation_s: float | None
    """The longest stretch in which the 95th percentile was beyond the bound; what is unknown ends one."""
    delay_sample_mean_s: float | None
    """Of the median delay at each look, over time: what is seen by whoever looks now and then. So are the next five."""
    delay_sample_p50_s: float | None
    delay_sample_p95_s: float | None
    delay_sample_p99_s: float | None
    delay_sample_max_s: float | None
    delay_sample_variance_s2: float | None
    age_sample_mean_s: float | None
    """Of the age of the oldest record that waits, at each look: time in the log, also while nothing is committed. So
    are the next two."""
    age_sample_p50_s: float | None
    age_sample_p95_s: float | None
    mean_arrived_rps: float | None
    mean_committed_rps: float | None
    throughput_ratio: float | None
    """Records committed for each that arrived."""
    mean_cpu: float | None
    """Processor use of the workers that tell it."""
    mean_worker_memory_bytes: float | None
    idle_share: float | None
    """Of the time of all slots, that in which no task ran."""
    time_in_change: float | None
    """Share of the time in which a change was being carried out."""
    excess_time: float | None
    """For how long what waited was worked off after the last record came, over the time in which records came."""

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
    within, typical = StepCurve(series.at, series.within), StepCurve(series.at, series.column("delay-p50"))
    age = StepCurve(series.at, series.column("age"))
    most, totals = _largest(ready), series.totals
    return Summary(
        ticks=series.ticks,
        mean_workers=ready_s / known_s if known_s else most,
        max_workers=most,
        mean_wanted=StepCurve(series.at, series.column("wanted")).mean,
        worker_hours_paid=None if most is None else integrate(series, series.column("paid"))[1] / 3600,
        worker_hours_ready=None if most is None else ready_s / 3600,
        actions=series.actions.actions,
        grown=series.actions.grown,
        shrunk=series.actions.shrunk,
        holds=series.holds,
        promise=series.promise,
        time_within_slo=within.mean,
        max_delay_p95_s=_largest(series.column("delay")),
        max_backlog=_largest(series.column("backlog")),
        last_backlog=next((value for value in reversed(series.column("backlog")) if value is not None), None),
        longest_violation_s=within.longest(lambda is_within: not is_within),
        delay_sample_mean_s=typical.mean,
        delay_sample_p50_s=typical.quantile(0.5),
        delay_sample_p95_s=typical.quantile(0.95),
        delay_sample_p99_s=typical.quantile(0.99),
        delay_sample_max_s=typical.largest,
        delay_sample_variance_s2=typical.variance,
        age_sample_mean_s=age.mean,
        age_sample_p50_s=age.quantile(0.5),
        age_sample_p95_s=age.quantile(0.95),
        mean_arrived_rps=totals.mean_rps(totals.arrived),
        mean_committed_rps=totals.mean_rps(totals.committed),
        throughput_ratio=totals.throughput_ratio,
        mean_cpu=StepCurve(series.at, series.column("cpu")).mean,
        mean_worker_memory_bytes=StepCurve(series.at, series.column("memory")).mean,
        idle_share=totals.idle_share,
        time_in_change=StepCurve(series.at, series.column("changing")).mean,
        excess_time=totals.excess_time,
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
    curve = StepCurve(series.at, carried)
    return curve.known_s, curve.integral


def _largest(values: Sequence[Value]) -> Value:
    return max((value for value in values if value is not None), default=None)

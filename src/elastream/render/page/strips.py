"""The four strips of a run."""

from collections.abc import Callable, Sequence

from elastream.evaluation.measures import Value
from elastream.evaluation.series import Measure, RunSeries
from elastream.render import marks
from elastream.render.strip import Curve, Strip
from elastream.render.units import compact, duration, seconds

FEW = 4
"""So many queries have a line each."""


def strips(series: RunSeries) -> list[Strip]:
    """Rate, backlog, delay, executors."""
    return [_rate(series), _backlog(series), _delay(series), _executors(series)]


def told_apart(series: RunSeries) -> list[str]:
    """Queries that have lines of their own: several, but few."""
    return list(series.names) if 1 < len(series.names) <= FEW else []


def query_class(number: int) -> str:
    """The colour of a query."""
    return f"query-{number}"


def _rate(series: RunSeries) -> Strip:
    arrived, committed = series.column("arrived"), series.column("committed")
    top = _most(arrived, committed)
    over = f"mean over {duration(series.window_s)}"
    return Strip(
        name="rate",
        title="Rate",
        unit=f"records/s, {over}",
        description=f"Records that arrived and that were committed per second, {over}. {_extent(arrived, 'arrived')}",
        curves=[
            Curve(name="committed", label="committed", values=committed, shape="area"),
            *_by_query(series, "arrived"),
            Curve(name="arrived", label="arrived", values=arrived),
        ],
        scale=marks.numbers(top),
        peak=_peak(arrived, lambda value: f"{compact(value)}/s arrived"),
    )


def _backlog(series: RunSeries) -> Strip:
    values = series.column("backlog")
    return Strip(
        name="backlog",
        title="Backlog",
        unit="records",
        description=f"Records that arrived and were not committed yet. {_extent(values, 'waiting')}",
        curves=[
            Curve(name="waiting", label="waiting", values=values, shape="area", in_legend=False),
            *_by_query(series, "backlog"),
            Curve(name="waiting", label="waiting", values=values),
        ],
        scale=marks.numbers(_most(values)),
        peak=_peak(values, compact),
    )


def _delay(series: RunSeries) -> Strip:
    values, to_come = series.column("delay"), series.column("to-come")
    slos = sorted(series.slos_s)[-FEW:]
    promise = f" Promised: {', '.join(seconds(slo) for slo in slos)}." if slos else ""
    return Strip(
        name="delay",
        title="Delay",
        unit="arrival to commit, p95",
        description=f"The 95th percentile of the time from arrival to commit. {_extent(values, 'p95')}{promise}",
        curves=[
            *_by_query(series, "delay"),
            Curve(name="delayed", label="longest" if told_apart(series) else "p95", values=values),
            *([Curve(name="to-come", label="at least, by what waits", values=to_come)] if any(to_come) else []),
        ],
        # Room for the label above the line.
        scale=marks.delays(_most(values, to_come, [slo * 1.15 for slo in slos])),
        peak=_peak(values, seconds),
        limits=[marks.AxisMark(at=slo, label=f"SLO {seconds(slo)}") for slo in slos],
    )


def _executors(series: RunSeries) -> Strip:
    wanted, ready, leaving = series.column("wanted"), series.column("ready"), series.column("leaving")
    both = [None if a is None or b is None else a + b for a, b in zip(ready, leaving, strict=True)]
    return Strip(
        name="executors",
        title="Executors",
        unit="",
        description=f"Executors wanted, ready and leaving. {_extent(wanted, 'wanted')} {_extent(ready, 'ready')}",
        curves=[
            Curve(name="leaving", label="leaving", values=both, shape="step-area"),
            Curve(name="ready", label="ready", values=ready, shape="step-area"),
            Curve(name="wanted", label="wanted", values=wanted, shape="step"),
        ],
        scale=marks.whole_numbers(_most(wanted, both)),
        peak=_peak(both, lambda value: f"{value:.0f} running"),
    )


def _by_query(series: RunSeries, measure: Measure) -> list[Curve]:
    return [
        Curve(name=query_class(i), label=series.names[query], values=series.column(measure, query), in_legend=False)
        for i, query in enumerate(told_apart(series))
    ]


def _most(*columns: Sequence[Value]) -> float:
    """The largest value; something to draw an axis for where there is none."""
    return max((value for column in columns for value in column if value), default=1.0)


def _peak(values: Sequence[Value], spelt: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    return f"max {spelt(max(known))}" if known else "unknown"


def _extent(values: Sequence[Value], what: str) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return f"Unknown throughout: {what}."
    return f"{what.capitalize()}: {compact(min(known))} to {compact(max(known))}."

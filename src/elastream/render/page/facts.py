"""What ran, and how it went, in words and numbers at the top of the page."""

from collections.abc import Sequence

from elastream.core.bounds import spell_bounds
from elastream.core.slo import Judged
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import Summary
from elastream.journal.format import Header
from elastream.render.html import Html, clipped, element, joined
from elastream.render.units import call, compact, duration, moment, seconds

FACT_BYTES = 2000
NOTES = 20


def default_title(header: Header, series: RunSeries) -> str:
    """`windowed-count under threshold`."""
    return f"{application_name(header, series) or header.platform} under {header.policy}"


def facts(header: Header, series: RunSeries, *, is_virtual: bool) -> Html:
    """Names and their values."""
    begun = moment(series.start, "%-d %B %Y, %H:%M:%S UTC") if series.at else ""
    length = f"{duration(series.end - series.start)}, " if len(series.at) > 1 else ""
    found = {
        "Application": application_name(header, series),
        "Policy": call(header.policy, header.policy_settings),
        "Queries": ", ".join(series.names.values()),
        "Guards": ", ".join(call(name.replace("_", "-"), settings) for name, settings in header.guards.items()),
        "Platform": header.platform,
        "Executors": _bounds(series),
        "Started": "on a simulated clock" if is_virtual else begun,
        "Duration": f"{length}a look every {header.tick_s:g} s",
        "Versions": f"Elastream {header.elastream}" + (f", Spark {header.spark}" if header.spark else ""),
    }
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", clipped(value, FACT_BYTES)))
            for name, value in found.items()
            if value
        ),
        class_="facts",
    )


def notes_told(notes: Sequence[str], left_out: int) -> Html:
    """What a reader must know before reading on."""
    told = [clipped(note, FACT_BYTES) for note in notes[:NOTES]]
    if len(notes) > NOTES:
        told.append(f"and {len(notes) - NOTES} more notes")
    if left_out:
        told.append(f"not shown: {left_out} older in the same folder, of times that overlap those of this one")
    return element("ul", *(element("li", note) for note in told), class_="notes") if told else joined(())


def tiles(summary: Summary, series: RunSeries) -> Html:
    """The run in a few numbers."""
    promise = ", ".join(seconds(slo) for slo in sorted(series.slos_s)[:4])
    found = [
        _tile("Mean executors", summary.mean_workers and f"{summary.mean_workers:.1f}", _max(summary.max_workers)),
        _tile("Executor-hours paid", _hours(summary.worker_hours_paid), _ready_hours(summary.worker_hours_ready)),
        _tile("Changes", f"{summary.actions:,}", f"{summary.grown:,} up, {summary.shrunk:,} down"),
        _within(summary.promise, promise),
        _tile("Time within SLO", percent(summary.time_within_slo), "while p95 was within it") if promise else None,
        _tile(
            "Longest delay",
            _seconds(summary.max_delay_p95_s),
            "p95 of a window",
        ),
        _tile(
            "Largest backlog",
            None if summary.max_backlog is None else compact(summary.max_backlog),
            None if summary.last_backlog is None else f"{compact(summary.last_backlog)} at the end",
        ),
    ]
    return element("dl", *found, class_="tiles", aria_label="Summary")


def _tile(name: str, value: str | float | None, more: str | None = None, *, state: str = "") -> Html:
    shown = "unknown" if value is None else str(value)
    return element(
        "div",
        element("dt", name),
        element("dd", shown, class_=f"number {state}".strip()),
        element("dd", more, class_="more") if more else None,
    )


def _within(promise: Judged | None, bounds: str) -> Html | None:
    """The share of records that kept the promise."""
    if promise is None:
        return _tile("Within SLO", None, f"within {bounds}") if bounds else None
    slo, found = promise
    state = "good" if found.keeps(slo) else "bad"
    return _tile("Within SLO", percent(found.share), f"of records; promised {slo.sentence()}", state=state)


def percent(share: float | None) -> str | None:
    """Rounded down, so that a promise of 99 % does not seem to be kept by 98.96 %."""
    return None if share is None else f"{int(share * 1000) / 10:g} %"


def application_name(header: Header, series: RunSeries) -> str:
    """What ran."""
    return header.application or (series.last.application if series.last else "")


def _bounds(series: RunSeries) -> str:
    if series.last is None:
        return ""
    return ", ".join(
        f"{'' if pool.name == 'executors' else pool.name + ' '}{spell_bounds(pool.min_workers, pool.max_workers)}, "
        f"{pool.slots_per_worker} slot{'' if pool.slots_per_worker == 1 else 's'} each"
        for pool in series.last.pools
    )


def _max(value: float | None) -> str | None:
    return None if value is None else f"ready; max {value:.0f}"


def _hours(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _ready_hours(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f} ready"


def _seconds(value: float | None) -> str | None:
    return None if value is None else seconds(value)

"""What ran, and how it went, in words and numbers at the top of the page."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from elastream.core.bounds import spell_bounds
from elastream.core.slo import Judged
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import Summary
from elastream.journal.format import Header
from elastream.render.html import Html, clipped, element, joined
from elastream.render.units import call, compact, duration, moment, seconds

FACT_BYTES = 2000
NOTES = 20
UNKNOWN = "unknown"


def default_title(header: Header, series: RunSeries) -> str:
    """`windowed-count under threshold`."""
    return f"{application_name(header, series) or header.platform} under {header.policy}"


def list_facts(header: Header, series: RunSeries, *, is_virtual: bool) -> dict[str, str]:
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
    return {name: clipped(value, FACT_BYTES) for name, value in found.items() if value}


def notes_told(notes: Sequence[str], left_out: int) -> Html:
    """What a reader must know before reading on."""
    told = [clipped(note, FACT_BYTES) for note in notes[:NOTES]]
    if len(notes) > NOTES:
        told.append(f"and {len(notes) - NOTES} more notes")
    if left_out:
        told.append(f"not shown: {left_out} older in the same folder, of times that overlap those of this one")
    return element("ul", *(element("li", note) for note in told), class_="notes") if told else joined(())


class Tile(NamedTuple):
    """One number of a run, spelt."""

    name: str
    number: str
    more: str = ""
    state: Literal["", "good", "bad"] = ""


def list_tiles(summary: Summary, series: RunSeries) -> list[Tile]:
    """The run in a few numbers."""
    promise = ", ".join(seconds(slo) for slo in sorted(series.slos_s)[:4])
    return [
        Tile("Mean executors", _spelt(summary.mean_workers, ".1f"), _spelt(summary.max_workers, ".0f", "ready; max ")),
        Tile(
            "Executor-hours paid",
            _spelt(summary.worker_hours_paid, ".2f"),
            _spelt(summary.worker_hours_ready, ".2f", more=" ready"),
        ),
        Tile("Changes", f"{summary.actions:,}", f"{summary.grown:,} up, {summary.shrunk:,} down"),
        *_within(summary.promise, promise),
        *([Tile("Time within SLO", percent(summary.time_within_slo) or UNKNOWN, "while p95 was within it")]
          if promise else []),
        Tile("Longest delay", UNKNOWN if (longest := summary.max_delay_p95_s) is None else seconds(longest),
             "p95 of a window"),
        Tile("Largest backlog", _compact(summary.max_backlog),
             "" if summary.last_backlog is None else f"{compact(summary.last_backlog)} at the end"),
    ]  # fmt: skip


def _within(promise: Judged | None, bounds: str) -> list[Tile]:
    """The share of records that kept the promise."""
    if promise is None:
        return [Tile("Within SLO", UNKNOWN, f"within {bounds}")] if bounds else []
    slo, found = promise
    state: Literal["good", "bad"] = "good" if found.keeps(slo) else "bad"
    return [Tile("Within SLO", percent(found.share) or UNKNOWN, f"of records; promised {slo.sentence()}", state)]


def percent(share: float | None) -> str | None:
    """Rounded down, so that a promise of 99 % does not seem to be kept by 98.96 %."""
    return None if share is None else f"{int(share * 1000) / 10:g} %"


def application_name(header: Header, series: RunSeries) -> str:
    """What ran."""
    return header.name or header.application or (series.last.application if series.last else "")


def _bounds(series: RunSeries) -> str:
    if series.last is None:
        return ""
    return ", ".join(
        f"{'' if pool.name == 'executors' else pool.name + ' '}{spell_bounds(pool.min_workers, pool.max_workers)}, "
        f"{pool.slots_per_worker} slot{'' if pool.slots_per_worker == 1 else 's'} each"
        for pool in series.last.pools
    )


def _spelt(value: float | None, form: str, before: str = "", more: str = "") -> str:
    return UNKNOWN if value is None else f"{before}{value:{form}}{more}"


def _compact(value: float | None) -> str:
    return UNKNOWN if value is None else compact(value)

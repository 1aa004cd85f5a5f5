"""The page of a recorded run: one HTML file that needs nothing else."""

import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from elastream.core.sanitizer import sanitizer
from elastream.evaluation.measures import Value
from elastream.evaluation.recorded import read_series
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import Summary, summarise
from elastream.journal.reader import Recording
from elastream.journal.story import sentences
from elastream.journal.story_line import Line
from elastream.render import marks
from elastream.render.document import make_document
from elastream.render.html import Html, clipped, element, joined
from elastream.render.page.decisions import DecisionEntry, lane, table
from elastream.render.page.facts import default_title, facts, notes_told, tiles
from elastream.render.page.strips import query_class, strips, told_apart
from elastream.render.strip import TimeAxis, drawn, time_axis
from elastream.render.thin import grouped
from elastream.render.units import compact, seconds

CLOCK_LABELS = 9
CURSOR_COLUMNS = 600
"""Places at which the cursor can read values."""
CURSOR_SPANS = 200
VIRTUAL_BEFORE_S = 86400.0 * 365
"""The clock of a simulation starts in 1970."""


def page(recording: Recording, *, title: str | None = None, notes: Sequence[str] = ()) -> str:
    """The page as text. `notes` are what a reader must know of the run, such as that its capacity was emulated."""
    found = read_series(recording)
    series = found.series
    lines = list(sentences(found.shown)) if series.at else []
    fit = sanitizer().line
    heading = clipped(fit(title or default_title(recording.header, series)), 400)
    is_virtual = series.start < VIRTUAL_BEFORE_S
    body = [
        element(
            "header",
            element("h1", heading),
            facts(recording.header, series, is_virtual=is_virtual),
            notes_told([*recording.header.notes, *map(fit, notes), *recording.warnings], found.left_out),
        )
    ]
    if series.at:
        summary = summarise(series)
        body += [tiles(summary, series), *_story(series, summary, place_lines(lines), is_virtual)]
    else:
        body.append(element("p", "Nothing was recorded after the header: the run ended before its first tick."))
    body.append(_footer(series, is_virtual=is_virtual))
    return document(heading, joined(body))


def write_page(recording: Recording, path: Path, *, title: str | None = None, notes: Sequence[str] = ()) -> None:
    """Write the page to a file."""
    path.write_text(page(recording, title=title, notes=notes), encoding="utf-8")


def place_lines(lines: Sequence[Line]) -> list[DecisionEntry]:
    """The lines at their places on the axis: as there, UTC is read when a run begins and counted on from then."""
    found, offset = [], 0.0
    for number, line in enumerate(lines, 1):
        if line.what == "start":
            offset = line.utc_s - line.at_s
        found.append(DecisionEntry(number=number, at=line.at_s + offset, line=line))
    return found


def _story(series: RunSeries, summary: Summary, entries: Sequence[DecisionEntry], is_virtual: bool) -> list[Html]:
    axis = TimeAxis(
        at=series.at,
        start=series.start,
        end=series.end,
        grid=marks.clock(series.start, series.end, CLOCK_LABELS, virtual=is_virtual),
        spans=series.spans,
        decisions=[entry.at for entry in entries if entry.line.what == "change"],
    )
    stack = element(
        "div",
        lane(entries, axis, summary.actions),
        *(drawn(strip, axis) for strip in strips(series)),
        time_axis(axis),
        class_="stack",
    )
    return [
        element(
            "section",
            element("div", element("h2", "Over time"), _keys(series), class_="head"),
            stack,
            _cursor_data(series),
            aria_label="Over time",
        ),
        element("section", element("h2", "Decisions, and why"), table(entries, is_virtual=is_virtual), class_="told"),
    ]


def _keys(series: RunSeries) -> Html:
    """What several strips have in common: the colours of queries, and shading."""
    queries = [
        element("span", element("i", class_=f"key line {query_class(i)}"), clipped(series.names[query], 120))
        for i, query in enumerate(told_apart(series))
    ]
    told = {
        "blind": "could not be looked at",
        "trouble": "something failed",
        "absent": "nothing recorded",
        "limited": "executors cannot help",
    }
    kinds = {span.kind for span in series.spans}
    shades = [
        element("span", element("i", class_=f"key shade {kind}"), label)
        for kind, label in told.items()
        if kind in kinds
    ]
    return element("p", *queries, *shades, class_="keys") if queries or shades else joined(())


def _cursor_data(series: RunSeries) -> Html:
    """What the script shows where the pointer is, spelt already."""
    groups = grouped(series.at, series.start, series.end, CURSOR_COLUMNS)
    data = {
        "start": series.start,
        "length": series.end - series.start,
        "at": [round(series.at[group[0]] - series.start, 1) for group in groups],
        "values": {
            name: [_spelt([values[i] for i in group], spell) for group in groups]
            for name, (values, spell) in _readable(series).items()
        },
        "spans": [
            [round(span.start - series.start, 1), round(span.end - series.start, 1), clipped(span.text, 300)]
            for span in series.spans[:CURSOR_SPANS]
        ],
    }
    # The one character that could end the element.
    written = Html(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))
    return element("script", written, type="application/json", id="cursor-data")


def _readable(series: RunSeries) -> dict[str, tuple[list[Value], Callable[[float], str]]]:
    """Name of the curve -> its values, and how they are spelt."""
    return {
        "arrived": (series.column("arrived"), _per_second),
        "committed": (series.column("committed"), _per_second),
        "waiting": (series.column("backlog"), compact),
        "delayed": (series.column("delay"), seconds),
        "to-come": (series.column("to-come"), _at_least),
        "wanted": (series.column("wanted"), compact),
        "ready": (series.column("ready"), compact),
        "leaving": (series.column("leaving"), compact),
    }


def _at_least(value: float) -> str:
    return f"at least {seconds(value)}"


def _per_second(value: float) -> str:
    return f"{compact(value)}/s"


def _spelt(values: Sequence[Value], spell: Callable[[float], str]) -> str | None:
    """The largest of those that share a place: a peak must not vanish."""
    known = [value for value in values if value is not None]
    return spell(max(known)) if known else None


def _footer(series: RunSeries, *, is_virtual: bool) -> Html:
    times = "Times are of the simulation's own clock." if is_virtual else "Times are UTC."
    return element(
        "footer", f"Made by Elastream from {series.ticks:,} ticks. {times} Where a line breaks, nothing was known."
    )


def document(title: str, body: Html) -> str:
    """A page that needs nothing else and runs nothing but our own script."""
    style, script = (files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return make_document(title, body, style=style, script=script)

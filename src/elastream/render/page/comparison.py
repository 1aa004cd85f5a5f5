"""The page of several recorded runs: their numbers in one table, and their strips on one time axis."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from elastream.core.sanitizer import sanitizer
from elastream.evaluation.recorded import read_series
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import Summary, summarise
from elastream.journal.format import Header
from elastream.journal.reader import Recording
from elastream.journal.story import sentences
from elastream.journal.story_line import Line
from elastream.render import marks
from elastream.render.document import make_document
from elastream.render.html import Html, clipped, element, joined
from elastream.render.page.facts import application_name, notes_told, percent
from elastream.render.page.strips import strips
from elastream.render.strip import TimeAxis, drawn, time_axis
from elastream.render.units import compact, duration, seconds

CLOCK_LABELS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One run, with its times counted from its own start."""

    label: str
    header: Header
    series: RunSeries
    summary: Summary
    changes: Sequence[float]

    @property
    def name(self) -> str:
        """Its label, and its policy where that does not say it."""
        policy = self.header.policy
        return self.label if self.label.startswith(policy) else f"{self.label} ({policy})"

    @property
    def length_s(self) -> float:
        return self.series.end


def compare(runs: Mapping[str, Recording], *, title: str | None = None, notes: Sequence[str] = ()) -> str:
    """The page as text; `runs` are named as their reader is to know them."""
    fit = sanitizer().line
    found = [_measure(fit(label), recording) for label, recording in runs.items()]
    heading = clipped(fit(title or _title(found)), 400)
    warnings = [f"{one}: {warning}" for one, recording in runs.items() for warning in recording.warnings]
    body = [
        element("header", element("h1", heading), notes_told([*map(fit, notes), *map(fit, warnings)], 0)),
        element("section", element("h2", "Numbers"), _table(found), class_="runs", aria_label="Numbers"),
        *_drawn(found),
        element(
            "footer",
            "Made by Elastream. Times are counted from the start of each run, and scales are the same for all. "
            "A page of one run tells its decisions, and why.",
        ),
    ]
    style = files(__package__).joinpath("comparison.css").read_text(encoding="utf-8")
    return make_document(heading, joined(body), style=style)


def write_comparison(
    runs: Mapping[str, Recording], path: Path, *, title: str | None = None, notes: Sequence[str] = ()
) -> None:
    """Write the page to a file."""
    path.write_text(compare(runs, title=title, notes=notes), encoding="utf-8")


def _title(runs: Sequence[ComparedRun]) -> str:
    names = {application_name(run.header, run.series) for run in runs}
    of = f" of {names.pop()}" if len(names) == 1 and "" not in names else ""
    return f"{len(runs)} runs{of} compared"


def _measure(label: str, recording: Recording) -> ComparedRun:
    found = read_series(recording)
    series = found.series
    lines = list(sentences(found.shown)) if series.at else []
    start, summary = series.start, summarise(series)
    series.at = [at - start for at in series.at]
    series.spans = [replace(span, start=span.start - start, end=span.end - start) for span in series.spans]
    changes = [at - start for at in _times_of_changes(lines)]
    return ComparedRun(label=label, header=recording.header, series=series, summary=summary, changes=changes)


def _times_of_changes(lines: Sequence[Line]) -> Iterator[float]:
    """On the axis of a series: as there, UTC is read when a run begins and counted on from then."""
    offset = 0.0
    for line in lines:
        if line.what == "start":
            offset = line.utc_s - line.at_s
        elif line.what == "change":
            yield line.at_s + offset


def _table(runs: Sequence[ComparedRun]) -> Html:
    head = (
        "Run", "Length", "Executors, mean", "Executors, max", "Executor-hours paid", "Changes", "Within SLO",
        "Longest p95 delay", "Most backlog", "Backlog left",
    )  # fmt: skip
    rows = [element("tr", *(_cell(text, state) for text, state in _numbers(run))) for run in runs]
    names = (element("th", name, scope="col") for name in head)
    return element("table", element("thead", element("tr", *names)), element("tbody", *rows))


def _cell(text: str, state: str) -> Html:
    return element("td", text, class_=state or None)


def _numbers(run: ComparedRun) -> list[tuple[str, str]]:
    """Texts, each with how it is to be judged."""
    found = run.summary
    kept = "" if found.promise is None else "good" if found.promise[1].keeps(found.promise[0]) else "bad"
    return [
        (clipped(run.name, 200), ""),
        (duration(run.length_s) if run.series.at else "nothing recorded", ""),
        (_number(found.mean_workers, lambda value: f"{value:.1f}"), ""),
        (_number(found.max_workers, lambda value: f"{value:.0f}"), ""),
        (_number(found.worker_hours_paid, lambda value: f"{value:.1f}"), ""),
        (str(found.actions), ""),
        ("" if found.promise is None else percent(found.promise[1].share) or "unknown", kept),
        (_number(found.max_delay_p95_s, seconds), ""),
        (_number(found.max_backlog, compact), ""),
        (_number(found.last_backlog, compact), ""),
    ]


def _number(value: float | None, spell: Callable[[float], str]) -> str:
    return "unknown" if value is None else spell(value)


def _drawn(runs: Sequence[ComparedRun]) -> list[Html]:
    """A section per run; whatever is drawn twice has one scale."""
    end = max((run.length_s for run in runs if run.series.at), default=1.0)
    grid = marks.clock(0.0, end, CLOCK_LABELS, virtual=True)
    shown = [(run, strips(run.series)) for run in runs if run.series.at]
    scales = {
        strip.name: max((other.scale for _, others in shown for other in others if other.name == strip.name), key=_top)
        for _, found in shown
        for strip in found
    }
    sections = []
    for number, (run, found) in enumerate(shown):
        axis = TimeAxis(at=run.series.at, start=0.0, end=end, grid=grid, spans=run.series.spans, decisions=run.changes)
        same = [replace(strip, scale=scales[strip.name], prefix=f"run-{number}-") for strip in found]
        stack = element("div", *(drawn(strip, axis) for strip in same), time_axis(axis), class_="stack")
        name = clipped(run.name, 200)
        sections.append(element("section", element("h2", name), stack, aria_label=name))
    return sections


def _top(scale: Sequence[marks.AxisMark]) -> float:
    return scale[-1].at

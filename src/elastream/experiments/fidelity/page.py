"""A fidelity plan's result as one HTML file: every judged run, live against simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.core.sanitizer import sanitizer
from elastream.evaluation.curve import StepCurve
from elastream.evaluation.measures import Value
from elastream.experiments.fidelity.figures import LoadFigures
from elastream.experiments.fidelity.predictors import find_typical
from elastream.experiments.fidelity.sentences import WORDS, tell_goals, tell_naive, tell_slots
from elastream.experiments.fidelity.study import MODELS, RESULT, SIMULATOR, SPARK, FidelityResult
from elastream.experiments.fidelity.verdict import NAMES, QUANTITIES, FidelityVerdict, Name
from elastream.experiments.report.document import make_report_document
from elastream.experiments.report.tables import Cell, ReportTable, draw_table, number_cell, text_cell
from elastream.render import marks
from elastream.render.html import Html, element
from elastream.render.marks import AxisMark
from elastream.render.strip import Curve, Strip, TimeAxis, drawn, time_axis
from elastream.render.units import compact, seconds

CLOCK_LABELS = 9
FORMS = {"worker_hours": "{:.4f}", "delay_p95_s": "{:.1f}", "mean_backlog": "{:,.0f}", "changes": "{:.0f}"}


def write_fidelity_page(result: FidelityResult, file: Path) -> Path:
    """Write the page; where it is."""
    try:
        file.write_text(make_fidelity_page(result), encoding="utf-8")
    except OSError as wrong:
        raise BadInput(f"--out {file}: {wrong.strerror}") from None
    return file


def make_fidelity_page(result: FidelityResult) -> str:
    """The file's text."""
    title = sanitizer().line(f"How far the simulator is off: {result.name}")
    return make_report_document(title, [
        _head(result, title),
        _errors(result),
        *(_section(f"run-{number}", one, "") for number, one in enumerate(result.verdicts)),
        *(_section(f"own-{number}", one, ": the run that calibrates, by its own model")
          for number, one in enumerate(result.own)),
        _source(result),
    ])  # fmt: skip


def _head(result: FidelityResult, title: str) -> Html:
    about = sanitizer().line(result.about)
    return element(
        "header",
        element("h1", title),
        element("p", f"{tell_slots(result)}.", class_="hint"),
        element("p", about, class_="about") if about else None,
        *(element("p", f"{line}.", class_="answer") for line in tell_goals(result.verdicts)[:2]),
        *(element("p", f"Not judged: {sanitizer().line(lack)}", class_="hint") for lack in result.lacking),
    )


def _errors(result: FidelityResult) -> Html:
    """How far off each is, beside the naive predictors."""
    rows = [
        [text_cell(one.title), text_cell(WORDS[quantity]), _cell(getattr(one.live, quantity), FORMS[quantity]),
         _cell(getattr(one.said["simulator"], quantity), FORMS[quantity]),
         *(number_cell(one.error(name, quantity), "{:.0%}") for name in NAMES)]
        for one in result.verdicts for quantity in QUANTITIES
    ]  # fmt: skip
    rows += [[text_cell(one.title), text_cell("wanted agrees"), _empty(), _empty(),
              *(number_cell(one.agreement(name), "{:.0%}") for name in NAMES)]
             for one in result.verdicts]  # fmt: skip
    headings = ["run", "number", "live", "simulated", *(f"{name} off by" for name in NAMES)]
    told = (
        "Last value says that all will be as in the run that calibrates; linear in the rate, that everything grows "
        "with the mean rate of the load. Off by is the distance to what came, as a share of that; of decisions, the "
        "share of the time in which the size that was wanted is the one that was said."
    )
    return element(
        "section",
        element("h2", "How far off"),
        element("p", told, class_="hint"),
        *(element("p", f"{line}.") for line in [*tell_goals(result.verdicts)[2:], *tell_naive(result.verdicts)]),
        draw_table(ReportTable(name="errors", headings=headings, rows=rows)),
        aria_label="How far off",
    )


def _section(key: str, one: FidelityVerdict, more: str) -> Html:
    heading = f"{one.title}{more}"
    axis = _axis(one)
    told = f"{one.slots}; calibrated on {one.known}. {_tell(one, 'simulator')}"
    return element(
        "section",
        element("h2", heading),
        element("p", told, class_="hint"),
        element("div", *(drawn(strip, axis) for strip in _strips(key, one)), time_axis(axis), class_="stack"),
        aria_label=heading,
    )


def _tell(one: FidelityVerdict, name: Name) -> str:
    errors = [(WORDS[quantity], one.error(name, quantity)) for quantity in QUANTITIES]
    told = ", ".join(f"{word} {error:.0%}" for word, error in errors if error is not None)
    agreement = one.agreement(name)
    same = "" if agreement is None else f"; sizes agree for {agreement:.0%} of the time"
    return f"Off by: {told}{same}."


def _typical(one: FidelityVerdict) -> LoadFigures:
    return find_typical(one.draws)


def _axis(one: FidelityVerdict) -> TimeAxis:
    end = one.live.duration_s
    at = _moments(one)
    return TimeAxis(at=at, start=0.0, end=end, grid=marks.clock(0.0, end, CLOCK_LABELS, virtual=True))


def _moments(one: FidelityVerdict) -> list[float]:
    """All at which one of both was looked at, so that they share an axis."""
    return sorted({*one.live.wanted.at, *_typical(one).wanted.at})


def _strips(key: str, one: FidelityVerdict) -> list[Strip]:
    pairs: list[tuple[str, str, str, StepCurve, StepCurve, Callable[[float], str]]] = [
        ("size-wanted", "Executors wanted", "", one.live.wanted, _typical(one).wanted, lambda value: f"{value:.0f}"),
        ("size-ready", "Executors ready", "", one.live.ready, _typical(one).ready, lambda value: f"{value:.0f}"),
        ("backlog", "Backlog", "records", one.live.backlog, _typical(one).backlog, compact),
        ("delay", "Delay", "p95 of the last minute", one.live.delay, _typical(one).delay, seconds),
    ]
    return [
        _strip(f"{key}-", name, title, unit, _spread(live, one), _spread(simulated, one), spell)
        for name, title, unit, live, simulated, spell in pairs
    ]


def _strip(
    prefix: str, name: str, title: str, unit: str, live: Sequence[Value], simulated: Sequence[Value],
    spell: Callable[[float], str],
) -> Strip:  # fmt: skip
    most = max((value for value in [*live, *simulated] if value), default=1.0)
    known = [[value for value in values if value is not None] for values in (live, simulated)]
    peak = " and ".join(spell(max(values)) for values in known if values)
    scale: dict[str, Callable[[float], list[AxisMark]]] = {"backlog": marks.numbers, "delay": marks.delays}
    is_size = name.startswith("size-")
    return Strip(
        name=name, title=title, unit=unit, prefix=prefix, description=f"{title}: live against simulated.",
        curves=[Curve(name="live", label="live", values=live, shape="step-area" if is_size else "area"),
                Curve(name="simulated", label="simulated", values=simulated, shape="step" if is_size else "line")],
        scale=scale.get(name, marks.whole_numbers)(most), peak=f"max {peak}" if peak else "unknown",
    )  # fmt: skip


def _spread(curve: StepCurve, one: FidelityVerdict) -> list[Value]:
    """The values that hold at the moments that both share."""
    values: list[Value] = []
    place = -1
    for moment in _moments(one):
        while place + 1 < len(curve.at) and curve.at[place + 1] <= moment:
            place += 1
        values.append(curve.values[place] if place >= 0 else None)
    return values


def _source(result: FidelityResult) -> Html:
    folder = result.folder
    told = f"Raw data: {folder / SPARK} (live) and {folder / SIMULATOR}; models: {folder / MODELS}; all numbers: "
    return element(
        "section",
        element("h2", "How this was made"),
        element("pre", f"elastream fidelity PLAN --out {folder}"),
        element("p", told, element("code", str(folder / RESULT)), ". The plan is ",
                element("code", str(folder / SPARK / "plan.yaml")), ".", class_="hint"),
        aria_label="How this was made",
    )  # fmt: skip


def _cell(value: Value, form: str) -> Cell:
    return number_cell(None if value is None else float(value), form)


def _empty() -> Cell:
    return Cell(shown="", raw=None)

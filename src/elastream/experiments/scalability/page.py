"""A scalability experiment as one HTML file that works offline: curves with their laws, tables, and every probe."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.core.sanitizer import sanitizer
from elastream.experiments.report.document import make_report_document
from elastream.experiments.report.tables import ReportTable, draw_table, number_cell, text_cell
from elastream.experiments.scalability.laws import TITLES
from elastream.experiments.scalability.probe import ProbeMoment
from elastream.experiments.scalability.recording import MOMENTS
from elastream.experiments.scalability.result import ScalabilityResult
from elastream.experiments.scalability.scaling import CurvePoint, ScalingCurve
from elastream.experiments.scalability.search import spell_rate
from elastream.experiments.scalability.shape import ShapeScore
from elastream.experiments.scalability.store import ASKED, PAGE, RESULT, StoredProbe
from elastream.experiments.scalability.study import LayoutResult
from elastream.render import marks
from elastream.render.html import Html, element
from elastream.render.law_plot import MeasuredPoint, PlottedLine, draw_law_plot
from elastream.render.marks import AxisMark
from elastream.render.strip import Curve, Strip, TimeAxis, drawn, time_axis
from elastream.render.units import compact

_CLOCK_LABELS = 7
_LINE_POINTS = 40


def write_scalability_page(result: ScalabilityResult, file: Path | None = None) -> Path:
    """Write the page; where it is."""
    place = file or result.folder / PAGE
    try:
        place.write_text(make_scalability_page(result), encoding="utf-8")
    except OSError as wrong:
        raise BadInput(f"{place}: {wrong.strerror}") from None
    return place


def make_scalability_page(result: ScalabilityResult) -> str:
    """The file's text."""
    title = sanitizer().line(f"How far {result.job} scales")
    curves = result.curves
    return make_report_document(title, [
        _head(result, title),
        *(_curve_section(curve, result.search.precision) for curve in curves),
        _efficiency(curves) if curves else None,
        _shapes(result.shapes) if result.shapes else None,
        _answers(result) if result.loads_rps else None,
        element("section", element("h2", "Probes"),
                *(_layout_section(one) for one in result.results), aria_label="Probes"),
        _source(result),
    ])  # fmt: skip


def _head(result: ScalabilityResult, title: str) -> Html:
    lines = [sanitizer().line(one.sentence()) for one in result.results]
    limits = [
        sanitizer().line(f"{one.layout.name} is kept from more: {limit.sentence}")
        for one in result.results
        for limit in one.limits[:1]
    ]
    return element(
        "header",
        element("p", f"{sanitizer().line(result.head())}.", class_="hint"),
        element("h1", title),
        *(element("p", f"{line}.", class_="answer") for line in lines),
        *(element("p", f"{line}.") for line in limits),
        *(element("p", f"Left out: {sanitizer().line(reason)}.", class_="hint") for reason in result.left_out),
    )


def _curve_section(curve: ScalingCurve, precision: float) -> Html:
    whole = _plot(curve, "Sustained, records/s", lambda rate, number: rate, precision)
    each = _plot(curve, "Sustained by each of them, records/s", lambda rate, number: rate / number, precision)
    lines = [
        f"{TITLES[law.name]}: "
        + law.spell()
        + f"; a layout that is left out is foretold with an error of {law.left_out:.1%}"
        for law in curve.laws
    ]  # fmt: skip
    return element(
        "section",
        element("h2", curve.curve.title[:1].upper() + curve.curve.title[1:]),
        element("p", "A dot is what was sustained; its line ends at the lowest rate that failed.", class_="hint"),
        whole,
        each,
        *(element("p", f"{line}.") for line in [*lines, *curve.too_few]),
        aria_label=curve.curve.title,
    )


def _plot(curve: ScalingCurve, title: str, get: Callable[[float, float], float], precision: float) -> Html:
    points = [one for one in curve.points if one.rate_rps]
    if not points:
        return element("p", "No layout of this curve sustains anything.")
    widest = max(curve.most if curve.laws else 0, max(one.number for one in points))
    ends = [_ends(one, precision) for one in points]
    law = curve.laws[0] if curve.laws else None
    numbers = [1 + (widest - 1) * place / _LINE_POINTS for place in range(_LINE_POINTS + 1)] if widest > 1 else [1.0]
    tops = [get(high, one.number) for one, (_, high) in zip(points, ends, strict=True)]
    if law is not None:
        tops += [get(law.rate(number), number) for number in numbers]
    rows = marks.numbers(max(tops))
    top = rows[-1].at

    def across(number: float) -> float:
        return (number - 1) / (widest - 1) if widest > 1 else 0.5

    def up(rate: float, number: float) -> float:
        return min(1.0, get(rate, number) / top)

    # Layouts that are all perfect would lie on a straight line through the smallest.
    base = (points[0].rate_rps or 0.0) / points[0].number
    lines = [PlottedLine(name="ideal", label="as good as the smallest",
                         places=[(across(number), up(base * number, number)) for number in numbers
                                 if get(base * number, number) <= top * 1.001])]  # fmt: skip
    if law is not None:
        bands = [(number, law.interval(number)) for number in numbers]
        lines.append(
            PlottedLine(
                name="fitted", label=f"{TITLES[law.name]}, 19 times out of 20",
                places=[(across(number), up(law.rate(number), number)) for number in numbers],
                band=[(across(number), up(within.low, number), up(within.high, number)) for number, within in bands],
            )
        )  # fmt: skip
    measured = [
        MeasuredPoint(
            at=(across(one.number), up(one.rate_rps or 0.0, one.number)), low=up(low, one.number),
            high=up(high, one.number),
            told=f"{one.result.layout.name}: {compact(get(one.rate_rps or 0.0, one.number))}",
        )
        for one, (low, high) in zip(points, ends, strict=True)
    ]  # fmt: skip
    shown = sorted({one.number for one in points} | {widest})
    return draw_law_plot(
        title, measured, lines,
        [AxisMark(at=across(number), label=str(number)) for number in shown],
        [AxisMark(at=mark.at / top, label=mark.label) for mark in rows],
        across=curve.curve.counted,
    )  # fmt: skip


def _ends(point: CurvePoint, precision: float) -> tuple[float, float]:
    """What was sustained, and the lowest rate that was not."""
    rate = point.rate_rps or 0.0
    below = point.result.found.below_rps if point.result.found is not None else None
    return rate, below if below is not None else rate * (1 + precision)


def _efficiency(curves: Sequence[ScalingCurve]) -> Html:
    rows = [
        [text_cell(curve.curve.title), text_cell(one.result.layout.name),
         number_cell(None if one.rate_rps is None else float(one.rate_rps), "{:,.0f}"),
         number_cell(one.per_core_rps, "{:,.0f}"), number_cell(one.efficiency, "{:.0%}")]
        for curve in curves for one in curve.points
    ]  # fmt: skip
    return element(
        "section",
        element("h2", "Efficiency"),
        element("p", "Against the next smaller layout of the curve: how many times as much is sustained, over how many "
                     "times as many cores there are.", class_="hint"),
        draw_table(ReportTable(name="efficiency",
                               headings=["curve", "layout", "sustained, records/s", "per core", "efficiency"],
                               rows=rows)),
        aria_label="Efficiency",
    )  # fmt: skip


def _shapes(shapes: Sequence[ShapeScore]) -> Html:
    agreed = {True: "yes", False: "no", None: ""}
    rows = [
        [text_cell(score.title), text_cell(one.step), number_cell(one.published, "{:.0%}"),
         number_cell(one.found, "{:.0%}"), text_cell(agreed[one.agrees])]
        for score in shapes for one in score.steps
    ]  # fmt: skip
    return element(
        "section",
        element("h2", "Beside the published curves"),
        element("p", "Efficiency of each step. The published layouts have six cores for a worker, or six workers, on "
                     "other machines: shapes can be compared, rates cannot.", class_="hint"),
        *(element("p", f"{one.sentence()}.") for one in shapes),
        draw_table(ReportTable(name="published", headings=["curve", "step", "published", "here", "agrees"], rows=rows)),
        aria_label="Beside the published curves",
    )  # fmt: skip


def _answers(result: ScalabilityResult) -> Html:
    from elastream.experiments.scalability.scaling import answer_load

    lines = [
        line
        for load in result.loads_rps
        for line in (answer_load(result.results, load), *(curve.answer(load) for curve in result.curves))
    ]
    return element("section", element("h2", "Loads"), *(element("p", f"{line}.") for line in lines), aria_label="Loads")


def _layout_section(result: LayoutResult) -> Html:
    return element(
        "details",
        element("summary", f"{result.sentence()}: {len(result.probes)} probes"),
        *(_probe_strip(one) for one in result.probes),
        class_="run",
    )


def _probe_strip(probe: StoredProbe) -> Html:
    title = f"{spell_rate(probe.rate_rps)}, probe {probe.number}: {probe.verdict.state}"
    told = sanitizer().line("; ".join([probe.verdict.reason, *(limit.sentence for limit in probe.limits[:1])]))
    try:
        series = [moment for moments in probe.moments().values() for moment in moments]
    except BadInput as wrong:
        return element("p", f"{title}: {wrong}", class_="hint")
    if len(series) < 2:
        return element("p", f"{title}: {told}", class_="hint")
    series.sort(key=lambda one: one.at_s)
    axis = TimeAxis(
        at=[one.at_s for one in series], start=0.0, end=max(1.0, series[-1].at_s),
        grid=marks.clock(0.0, max(1.0, series[-1].at_s), _CLOCK_LABELS, virtual=True),
    )  # fmt: skip
    return element(
        "div", drawn(_strip(probe, title, series), axis), time_axis(axis), element("p", told, class_="hint why"),
        class_="stack",
    )  # fmt: skip


def _strip(probe: StoredProbe, title: str, series: Sequence[ProbeMoment]) -> Strip:
    waiting = [max(0.0, one.arrived - one.committed) for one in series]
    return Strip(
        name="backlog", prefix=f"{probe.layout.name}-{probe.number}-", title=title, unit="records that wait",
        description=f"{title}. Backlog over time.",
        curves=[Curve(name="waiting", label="backlog", values=waiting, shape="area", in_legend=False)],
        scale=marks.numbers(max(waiting)), peak=f"max {compact(max(waiting))}",
    )  # fmt: skip


def _source(result: ScalabilityResult) -> Html:
    folder = result.folder
    return element(
        "section",
        element("h2", "How this was made"),
        element("pre", sanitizer().line(result.command)),
        element("p", "All numbers: ", element("code", str(folder / RESULT)), "; what was asked: ",
                element("code", str(folder / ASKED)), "; what each probe recorded: ",
                element("code", f"{folder}/LAYOUT/PROBE/{MOMENTS}"), ".", class_="hint"),
        aria_label="How this was made",
    )  # fmt: skip

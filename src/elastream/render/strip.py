"""One strip: lines and areas over time, drawn as SVG that is as wide as its room.

The drawing is stretched to fit; what must not be stretched, such as text, stands beside it in per cent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from elastream.evaluation.measures import Value
from elastream.evaluation.spans import TroubleSpan
from elastream.render.html import Html, element, joined
from elastream.render.marks import AxisMark
from elastream.render.thin import Point, segments

WIDE, HIGH = 4000, 1000
"""Of the drawing, in its own units: finer than any screen, and written in few digits."""
COLUMNS = 1000
TICKS = 150
"""More decisions than this would hide the lines; the marks above the strips remain."""
SHADES = 200
"""Stretches of trouble that are drawn at most; they are merged before that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """What all strips share."""

    at: Sequence[float]
    start: float
    end: float
    grid: Sequence[AxisMark]
    spans: Sequence[TroubleSpan] = ()
    decisions: Sequence[float] = ()

    def x(self, at: float) -> int:
        """A time in units of the drawing."""
        return round(self.share(at) * WIDE)

    def percent(self, at: float) -> str:
        """A time as a place in whatever is as wide as a strip."""
        return f"{self.share(at) * 100:.2f}%"

    def share(self, at: float) -> float:
        """From 0 at the first moment to 1 at the last."""
        return min(1.0, max(0.0, (at - self.start) / (self.end - self.start)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One series of a strip. Its name is also the class that gives it a colour."""

    name: str
    label: str
    values: Sequence[Value]
    shape: Literal["line", "area", "step", "step-area"] = "line"
    in_legend: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """What to draw, in drawing order."""

    name: str
    title: str
    unit: str
    description: str
    curves: Sequence[Curve]
    scale: Sequence[AxisMark]
    peak: str
    """The largest value, in words."""
    limits: Sequence[AxisMark] = field(default_factory=tuple)
    """Lines that ought not to be passed."""
    prefix: str = ""
    """Of its ids, where a page has the strips of several runs."""


def drawn(strip: Strip, axis: TimeAxis) -> Html:
    """A strip with its heading and legend."""
    heading = element(
        "figcaption",
        element("h3", strip.title, " ", element("small", strip.unit)),
        element("span", *(_legend(curve) for curve in strip.curves if curve.in_legend), class_="legend"),
        element("span", strip.peak, class_="peak"),
    )
    top, key = strip.scale[-1].at, f"{strip.prefix}{strip.name}"
    picture = element(
        "svg",
        element("title", strip.title, id=f"{key}-title"),
        element("desc", strip.description, id=f"{key}-desc"),
        element(
            "svg",
            *_shading(axis),
            *(_rule(f"M0 {_y(mark.at, top)}H{WIDE}", "grid") for mark in strip.scale),
            _rule("".join(f"M{axis.x(mark.at)} 0V{HIGH}" for mark in axis.grid), "grid"),
            *(_path(curve, axis, top) for curve in strip.curves),
            *(_rule(f"M0 {_y(mark.at, top)}H{WIDE}", "limit") for mark in strip.limits),
            _rule("".join(f"M{x} 0V{HIGH}" for x in _ticks(axis)), "decisions"),
            viewBox=f"0 0 {WIDE} {HIGH}",
            preserveAspectRatio="none",
            width="100%",
            height="100%",
            # Half of a stroke along the edge lies outside.
            overflow="visible",
        ),
        *(
            element("text", mark.label, x=-8, y=_percent(mark.at, top), dy="0.32em", class_="scale")
            for mark in strip.scale
        ),
        *(
            element("text", mark.label, x="100%", dx=-4, y=_percent(mark.at, top), dy=-4, class_="limit-label")
            for mark in strip.limits
        ),
        class_="plot",
        role="img",
        aria_labelledby=f"{key}-title {key}-desc",
    )
    return element("figure", heading, picture, class_=f"strip {strip.name}")


def time_axis(axis: TimeAxis) -> Html:
    """The times below all strips."""
    labels = (
        element("text", mark.label, x=axis.percent(mark.at), y=14, class_=None if i % 2 == 0 else "spare")
        for i, mark in enumerate(axis.grid)
        # A label in the very corner would be cut off, or stand in the gutter.
        if 0.01 < axis.share(mark.at) < 0.985
    )
    return element("svg", *labels, class_="times", aria_hidden="true")


def _legend(curve: Curve) -> Html:
    key = element("i", class_=f"key {curve.name} {curve.shape}")
    return element("span", key, curve.label, element("b", data_value=curve.name), class_="entry")


def _shading(axis: TimeAxis) -> Iterable[Html]:
    for span in _fewer(axis.spans):
        left, right = axis.x(span.start), axis.x(span.end)
        # Even the shortest is to be seen.
        yield element("rect", x=left, y=0, width=max(right - left, WIDE // 500), height=HIGH, class_=span.kind)


def _fewer(spans: Sequence[TroubleSpan]) -> Sequence[TroubleSpan]:
    """As many stretches as can be told apart: those with the smallest gaps between them are drawn as one."""
    if len(spans) <= SHADES:
        return spans
    gaps = sorted((later.start - earlier.end, i) for i, (earlier, later) in enumerate(pairwise(spans)))
    cuts = sorted(i + 1 for _, i in gaps[-(SHADES - 1) :])
    groups = [spans[a:b] for a, b in zip([0, *cuts], [*cuts, len(spans)], strict=True)]
    return [
        TroubleSpan(kind=group[0].kind, start=group[0].start, end=group[-1].end, text=group[0].text) for group in groups
    ]


def _path(curve: Curve, axis: TimeAxis, top: float) -> Html:
    found = segments(axis.at, curve.values, axis.start, axis.end, COLUMNS)
    is_step = curve.shape.startswith("step")
    parts = []
    for points in found:
        line = _steps(points, axis, top) if is_step else _straight(points, axis, top)
        if curve.shape.endswith("area"):
            line = f"M{axis.x(points[0][0])} {HIGH}L{line[1:]}V{HIGH}Z"
        parts.append(line)
    return element("path", d="".join(parts), class_=f"{curve.name} {curve.shape}")


def _straight(points: Sequence[Point], axis: TimeAxis, top: float) -> str:
    line = "L".join(f"{axis.x(at)} {_y(value, top)}" for at, value in points)
    # A moment alone between two gaps is a dot.
    return f"M{line}" + ("h1" if len(points) == 1 else "")


def _steps(points: Sequence[Point], axis: TimeAxis, top: float) -> str:
    at, value = points[0]
    line, last = [f"M{axis.x(at)} {_y(value, top)}"], _y(value, top)
    for at, value in points[1:]:
        if (y := _y(value, top)) != last:
            line.append(f"H{axis.x(at)}V{y}")
            last = y
    return "".join(line) + f"H{max(axis.x(points[-1][0]), axis.x(points[0][0]) + 1)}"


def _ticks(axis: TimeAxis) -> Sequence[int]:
    places = sorted({axis.x(at) for at in axis.decisions})
    return places if len(places) <= TICKS else ()


def _rule(path: str, class_: str) -> Html:
    return element("path", d=path, class_=class_) if path else joined(())


def _y(value: float, top: float) -> int:
    return round((1 - min(1.0, max(0.0, value / top))) * HIGH)


def _percent(value: float, top: float) -> str:
    return f"{(1 - value / top) * 100:.2f}%"

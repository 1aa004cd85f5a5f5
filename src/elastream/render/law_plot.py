"""Measured values over a number that can be chosen, and lines that say what lies between and beyond them."""

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.render.band import SIZE
from elastream.render.html import Html, element
from elastream.render.marks import AxisMark

Place = tuple[float, float]
"""From 0 to 1, from the left and from the bottom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """A value, and where the true one lies at least and at most."""

    at: Place
    low: float
    high: float
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlottedLine:
    """A line, with its band if there is one."""

    name: str
    """Of its colour."""
    label: str
    places: Sequence[Place]
    band: Sequence[tuple[float, float, float]] = ()
    """Place, lower end, upper end."""


def draw_law_plot(
    title: str,
    points: Sequence[MeasuredPoint],
    lines: Sequence[PlottedLine],
    columns: Sequence[AxisMark],
    rows: Sequence[AxisMark],
    *,
    across: str,
) -> Html:
    """The picture with a legend of its lines."""
    stretched = element(
        "svg",
        *(element("path", d=_outline(line.band), class_=f"law {line.name} area") for line in lines if line.band),
        *(element("path", d=_path(line.places), class_=f"law {line.name}") for line in lines),
        viewBox=f"0 0 {SIZE} {SIZE}", preserveAspectRatio="none", width="100%", height="100%", overflow="hidden",
    )  # fmt: skip
    picture = element(
        "svg",
        *(element("line", x1=0, x2="100%", y1=_down(mark.at), y2=_down(mark.at), class_="grid") for mark in rows),
        stretched,
        *(_draw_point(one) for one in points),
        *(element("text", mark.label, x=-8, y=_down(mark.at), dy="0.32em", class_="scale") for mark in rows),
        *(element("text", mark.label, x=_right(mark.at), y="100%", dy=16, class_="below") for mark in columns),
        class_="bands", role="img", aria_label=f"{title}: {'; '.join(one.told for one in points)}",
    )  # fmt: skip
    legend = (
        element("span", element("i", class_=f"key {line.name} line"), line.label, class_="entry") for line in lines
    )
    heading = element("figcaption", element("h3", title), element("span", *legend, class_="legend"))
    return element("figure", heading, picture, element("p", across, class_="axis across"), class_="banded")


def _draw_point(point: MeasuredPoint) -> Html:
    x, y = point.at
    bar = element(
        "line", x1=_right(x), x2=_right(x), y1=_down(point.low), y2=_down(point.high), class_="interval"
    )  # fmt: skip
    dot = element("circle", element("title", point.told), cx=_right(x), cy=_down(y), r=4.5, class_="point")
    return element("g", bar, dot)


def _outline(band: Sequence[tuple[float, float, float]]) -> str:
    edge = [*((at, high) for at, _, high in band), *((at, low) for at, low, _ in reversed(band))]
    return _path(edge) + "Z"


def _path(places: Sequence[Place]) -> str:
    return "M" + "L".join(f"{round(x * SIZE)} {round((1 - y) * SIZE)}" for x, y in places)


def _right(place: float) -> str:
    return f"{place * 100:.2f}%"


def _down(place: float) -> str:
    return f"{(1 - place) * 100:.2f}%"

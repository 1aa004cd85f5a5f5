"""A number against a setting: a line through its means, and a band for its intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.render.html import Html, element
from elastream.render.marks import AxisMark

SIZE = 1000
"""Of the drawing, which is stretched; text stands beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BandPoint:
    """A mean and its interval, in places from 0 to 1; without an interval all three are one."""

    at: float
    mean: float
    low: float
    high: float
    told: str


def draw_band(
    title: str, points: Sequence[BandPoint], columns: Sequence[AxisMark], rows: Sequence[AxisMark]
) -> Html:  # fmt: skip
    """The picture; points stand from left to right."""
    edge = [*((one.at, one.high) for one in points), *((one.at, one.low) for one in reversed(points))]
    stretched = element(
        "svg",
        element("path", d=_path(edge) + "Z", class_="band"),
        element("path", d=_path([(one.at, one.mean) for one in points]), class_="line"),
        viewBox=f"0 0 {SIZE} {SIZE}", preserveAspectRatio="none", width="100%", height="100%",
    )  # fmt: skip
    picture = element(
        "svg",
        *(element("line", x1=0, x2="100%", y1=_down(mark.at), y2=_down(mark.at), class_="grid") for mark in rows),
        stretched,
        *(
            element("circle", element("title", one.told), cx=_right(one.at), cy=_down(one.mean), r=4, class_="point")
            for one in points
        ),
        *(element("text", mark.label, x=-8, y=_down(mark.at), dy="0.32em", class_="scale") for mark in rows),
        *(element("text", mark.label, x=_right(mark.at), y="100%", dy=16, class_="below") for mark in columns),
        class_="bands", role="img", aria_label=f"{title}: {'; '.join(one.told for one in points)}",
    )  # fmt: skip
    return element("figure", element("figcaption", element("h3", title)), picture, class_="banded")


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{round(x * SIZE)} {round((1 - y) * SIZE)}" for x, y in places)


def _right(place: float) -> str:
    return f"{place * 100:.2f}%"


def _down(place: float) -> str:
    return f"{(1 - place) * 100:.2f}%"

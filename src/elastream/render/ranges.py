"""Distributions side by side: a row for each, from its middle to its far end, over one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.render.html import Html, element
from elastream.render.marks import AxisMark


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRow:
    """One distribution: places from 0 to 1, in rising order."""

    label: str
    told: str
    middle: float
    high: float
    """Where the thick part ends."""
    end: float
    """Where the thin part ends."""
    far: float | None
    """The largest, as a dot; None: unknown."""


def draw_ranges(rows: Sequence[RangeRow], grid: Sequence[AxisMark], limit: AxisMark | None) -> Html:
    """A list of rows, each with its label above its line, so that a phone has room for it."""
    lines = [(mark, "grid") for mark in grid] + ([(limit, "limit")] if limit is not None else [])
    drawn = [
        element(
            "li",
            element("span", row.label, class_="label"),
            element(
                "svg",
                element("title", row.told),
                *(element("line", x1=_at(mark.at), x2=_at(mark.at), y1=0, y2="100%", class_=kind)
                  for mark, kind in lines),
                element("line", x1=_at(row.middle), x2=_at(row.end), y1="50%", y2="50%", class_="thin"),
                element("line", x1=_at(row.middle), x2=_at(row.high), y1="50%", y2="50%", class_="thick"),
                element("circle", cx=_at(row.middle), cy="50%", r=5, class_="middle"),
                None if row.far is None else element("circle", cx=_at(row.far), cy="50%", r=3, class_="far"),
                class_="range", role="img", aria_label=row.told,
            ),
        )
        for row in rows
    ]  # fmt: skip
    labels = (element("text", mark.label, x=_at(mark.at), y=14, class_="below") for mark in grid)
    told = [] if limit is None else [element("text", limit.label, x=_at(limit.at), y=30, class_="limit-label")]
    axis = element("li", element("span", class_="label"), element("svg", *labels, *told, class_="range axis-row"))
    return element("ul", *drawn, axis, class_="ranges")


def _at(place: float) -> str:
    return f"{min(1.0, max(0.0, place)) * 100:.2f}%"

"""What was told beside what was found: a row for each, a ring and a dot over one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.render.html import Html, element
from elastream.render.marks import AxisMark


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldAndFound:
    """A row: places from 0 to 1; None: there is no such value."""

    label: str
    title: str
    told: float | None
    found: float | None
    interval: tuple[float, float] | None
    is_doubtful: bool
    """Whether what was told is not believed."""


def draw_told_and_found(heading: str, rows: Sequence[ToldAndFound], grid: Sequence[AxisMark]) -> Html:
    """A list of rows, each with its label above its line on a phone."""
    drawn = [
        element(
            "li",
            element("span", row.label, class_="label"),
            element(
                "svg",
                element("title", row.title),
                *(_line(mark.at, mark.at, "grid", y1="0", y2="100%") for mark in grid),
                *_marks(row),
                class_="range", role="img", aria_label=row.title,
            ),
        )
        for row in rows
    ]  # fmt: skip
    labels = (element("text", mark.label, x=_at(mark.at), y=14, class_="below") for mark in grid)
    axis = element("li", element("span", class_="label"), element("svg", *labels, class_="range axis-row"))
    ring = "Ring: published (dashed: not scored). " if any(row.told is not None for row in rows) else ""
    key = f"{ring}Dot: here, with its interval over repetitions."
    rows_of_all = element("ul", *drawn, axis, class_="ranges", aria_label=heading)
    return element("figure", element("figcaption", key, class_="hint"), rows_of_all, class_="told-and-found")


def _marks(row: ToldAndFound) -> list[Html]:
    found = []
    if row.told is not None and row.found is not None:
        found.append(_line(row.told, row.found, "apart"))
    if row.interval is not None:
        found.append(_line(*row.interval, "thick"))
    if row.told is not None:
        found.append(
            element("circle", cx=_at(row.told), cy="50%", r=6, class_="told doubtful" if row.is_doubtful else "told")
        )
    if row.found is not None:
        found.append(element("circle", cx=_at(row.found), cy="50%", r=4, class_="far"))
    return found


def _line(start: float, end: float, kind: str, *, y1: str = "50%", y2: str = "50%") -> Html:
    return element("line", x1=_at(start), x2=_at(end), y1=y1, y2=y2, class_=kind)


def _at(place: float) -> str:
    return f"{min(1.0, max(0.0, place)) * 100:.2f}%"

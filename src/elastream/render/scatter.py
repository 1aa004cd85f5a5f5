"""One dot for each contender on two axes, with its interval; a grey curve of references, and the front.

Places are in per cent of the room and sizes in pixels, so that text stays legible on a phone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from elastream.render.html import Html, element
from elastream.render.marks import AxisMark

Place = tuple[float, float]
"""From 0 to 1, from the left and from the bottom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A contender."""

    letter: str
    title: str
    """What is told of it where the pointer is."""
    at: Place
    across: tuple[float, float] | None
    """Where the interval of its horizontal place begins and ends; None: it has none."""
    along: tuple[float, float] | None
    """The same of the vertical one."""
    is_reference: bool
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """What to draw. The marks of both axes stand from 0 to 1."""

    title: str
    description: str
    across: str
    along: str
    columns: Sequence[AxisMark]
    rows: Sequence[AxisMark]
    dots: Sequence[Dot]
    front: Sequence[Place] = ()
    limit: AxisMark | None = None
    """A line that the dots ought to be above."""


def draw_scatter(scatter: Scatter) -> Html:
    """The picture, with the names of its axes."""
    references = [dot.at for dot in scatter.dots if dot.is_reference]
    inside = [
        *(_line((0, mark.at), (1, mark.at), "grid") for mark in scatter.rows),
        *(_line((mark.at, 0), (mark.at, 1), "grid") for mark in scatter.columns),
        *([] if scatter.limit is None else _limit(scatter.limit)),
        *(_line(a, b, "reference") for a, b in pairwise(sorted(references))),
        *(_line(a, b, "front") for a, b in _stairs(scatter.front)),
        *(
            element("text", mark.label, x=-8, y=_down(mark.at), dy="0.32em", class_="scale") for mark in scatter.rows
        ),
        *(
            element("text", mark.label, x=_right(mark.at), y="100%", dy=16, class_="below") for mark in scatter.columns
        ),
        # The letters of those that decide lie above those that do not.
        *(_draw_dot(dot) for dot in sorted(scatter.dots, key=lambda dot: not dot.is_reference)),
    ]  # fmt: skip
    return element(
        "div",
        element("p", scatter.along, class_="axis"),
        element("svg", element("title", scatter.title), element("desc", scatter.description), *inside,
                class_="scatter", role="group", aria_label=f"{scatter.title}. {scatter.description}"),
        element("p", scatter.across, class_="axis across"),
        class_="chart",
    )  # fmt: skip


def _draw_dot(dot: Dot) -> Html:
    x, y = dot.at
    bars = []
    if dot.across is not None:
        bars.append(_line((dot.across[0], y), (dot.across[1], y), "interval"))
    if dot.along is not None:
        bars.append(_line((x, dot.along[0]), (x, dot.along[1]), "interval"))
    point = element(
        "svg",
        element("rect", x=-10, y=-10, width=20, height=20, class_="body")
        if dot.is_reference
        else element("circle", r=11, class_="body"),
        element("text", dot.letter, dy="0.35em", class_="letter"),
        x=_right(x), y=_down(y), overflow="visible",
    )  # fmt: skip
    kind = "dot reference" if dot.is_reference else "dot"
    return element("a", element("title", dot.title), *bars, point, href=dot.href, class_=kind, aria_label=dot.title)


def _limit(mark: AxisMark) -> list[Html]:
    label = element("text", mark.label, x="100%", dx=-4, y=_down(mark.at), dy=-5, class_="limit-label")
    return [_line((0, mark.at), (1, mark.at), "limit"), label]


def _stairs(places: Sequence[Place]) -> Iterable[tuple[Place, Place]]:
    """From one to the next: what lies right of the line and below it costs more and keeps less."""
    for (x, y), (right, up) in pairwise(places):
        yield (x, y), (right, y)
        yield (right, y), (right, up)


def _line(start: Place, end: Place, class_: str) -> Html:
    return element(
        "line", x1=_right(start[0]), y1=_down(start[1]), x2=_right(end[0]), y2=_down(end[1]), class_=class_
    )  # fmt: skip


def _right(share: float) -> str:
    return f"{share * 100:.2f}%"


def _down(share: float) -> str:
    return f"{(1 - share) * 100:.2f}%"

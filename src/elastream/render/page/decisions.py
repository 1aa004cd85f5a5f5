"""The decisions of a run: marks above the strips, and a table of what was decided and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from elastream.journal.story_line import GuardHold, Line
from elastream.render.html import Html, clipped, element, joined
from elastream.render.strip import TimeAxis
from elastream.render.units import duration, moment

MARKS = 110
"""A mark is about nine pixels wide: closer decisions share one."""
MARK_BYTES = 700
TEXT_BYTES = 600
"""Of one reason, guard's note or trouble."""
TABLE_BYTES = 350_000
_FIRST = {"change": 0, "start": 0, "blind": 1, "hold": 1, "keep": 2}
"""What stays in the table if there is no room for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionEntry:
    """A line with its place on the axis and in the page."""

    number: int
    at: float
    line: Line


def lane(entries: Sequence[DecisionEntry], axis: TimeAxis, actions: int) -> Html:
    """Marks for all changes; each is a link to its row, and has its sentence as title."""
    changes = [entry for entry in entries if entry.line.what == "change"]
    marks = []
    for _, group in groupby(changes, key=lambda entry: int(axis.share(entry.at) * MARKS)):
        marks.append(_mark(list(group), axis))
    return element(
        "figure",
        element(
            "figcaption",
            element("h3", "Decisions"),
            element("span", _key("up", "grow"), _key("down", "shrink"), class_="legend"),
            element("span", _count(actions, "change"), class_="peak"),
        ),
        element("svg", *marks, class_="lane", role="group", aria_label="Changes of the number of executors"),
        class_="strip",
    )


def table(entries: Sequence[DecisionEntry], *, is_virtual: bool) -> Html:
    """All lines, those that only kept the size on demand."""
    rows, left_out = _chosen(entries)
    kept = sum(_row_class(entry.line) == "keep" for entry, _ in rows)
    days = {moment(entry.line.utc_s, "%Y-%m-%d") for entry in entries}
    head = element(
        "thead",
        element(
            "tr",
            *(
                element("th", name, scope="col")
                for name in (_clock_name(len(days), is_virtual), "Change", "Why", "Took")
            ),
        ),
    )
    return joined(
        (
            element("input", type="checkbox", id="kept", class_="toggle") if kept else None,
            element("label", f"Show {_count(kept, 'stretch', 'stretches')} that kept the size", for_="kept")
            if kept
            else None,
            element("table", head, element("tbody", *(row for _, row in rows))),
            element("p", f"{left_out:,} more lines are left out here; `elastream why` tells all.", class_="hint")
            if left_out
            else None,
        )
    )


def _mark(group: Sequence[DecisionEntry], axis: TimeAxis) -> Html:
    first = group[0]
    told = [entry.line.text() for entry in group[:3]]
    if len(group) > len(told):
        told.append(f"and {len(group) - len(told)} more")
    ways = {_direction(entry.line) for entry in group}
    way = ways.pop() if len(ways) == 1 else "both"
    return element(
        "a",
        element("title", clipped("\n".join(told), MARK_BYTES)),
        element(
            "svg",
            element("rect", x=-8, y=0, width=16, height=22, class_="hit"),
            element("path", d=_GLYPHS[way]),
            x=axis.percent(first.at),
            overflow="visible",
        ),
        href=f"#d{first.number}",
        id=f"m{first.number}",
        class_=f"mark {way}",
        data_at=f"{axis.share(first.at):.5f}",
    )


_GLYPHS = {"up": "M0 5L5.5 15H-5.5Z", "down": "M0 16L-5.5 6H5.5Z", "both": "M0 4L6 10.5L0 17L-6 10.5Z"}


def _chosen(entries: Sequence[DecisionEntry]) -> tuple[list[tuple[DecisionEntry, Html]], int]:
    """Rows in the order of time, and how many there was no room for: the oldest of the least telling."""
    dated = len({moment(entry.line.utc_s, "%j") for entry in entries}) > 1
    room, found = TABLE_BYTES, []
    for entry in sorted(entries, key=lambda entry: (_FIRST[entry.line.what], -entry.number)):
        row = _row(entry, dated=dated)
        room -= len(row.encode())
        if room < 0:
            break
        found.append((entry, row))
    return sorted(found, key=lambda pair: pair[0].number), len(entries) - len(found)


def _row(entry: DecisionEntry, *, dated: bool) -> Html:
    line = entry.line
    clock = moment(line.utc_s, "%-d %b %H:%M:%S" if dated else "%H:%M:%S")
    notes = [
        *(("guard", told) for told in _guards(line.held)),
        *(("limited", f"Limited: {limit}") for limit in line.limits),
        *(("failed", f"Failed: {trouble}") for trouble in line.troubles if trouble != line.reason),
    ]
    return element(
        "tr",
        element("td", element("time", clock, datetime=moment(line.utc_s, "%Y-%m-%dT%H:%M:%SZ")), class_="clock"),
        element("td", _change(line), class_="what"),
        element(
            "td",
            clipped(line.reason, TEXT_BYTES),
            *(element("div", clipped(note, TEXT_BYTES), class_=kind) for kind, note in notes),
            class_="why",
        ),
        element("td", _took(line), class_="took"),
        id=f"d{entry.number}",
        class_=_row_class(line),
    )


def _row_class(line: Line) -> str:
    """What keeps the size because nothing else helps is news, unlike what keeps it because it is right."""
    if line.what == "keep" and (line.limits or any(one.guard == "bottleneck" for one in line.held)):
        return "hold"
    return f"{line.what} {_direction(line)}" if line.what == "change" else line.what


def _change(line: Line) -> Html:
    match line.what:
        case "start":
            return element("span", "a run begins")
        case "change":
            is_plain = set(line.changes) == {"executors"}
            return joined(
                element(
                    "span",
                    None if is_plain else f"{clipped(pool, 80)} ",
                    f"{before} → {after}",
                    class_="up" if after > before else "down",
                )
                for pool, (before, after) in list(line.changes.items())[:20]
            )
        case "blind":
            return element("span", "not seen")
        case what:
            return element("span", f"{sum(line.sizes.values())} {'kept' if what == 'keep' else 'held'}")


def _took(line: Line) -> str:
    if line.what == "start":
        return ""
    if line.what != "change":
        return duration(line.lasted_s) if line.ticks > 1 else ""
    if line.ready_after_s is not None:
        return f"ready after {duration(line.ready_after_s)}"
    return "not ready before the next" if line.overtaken else "not seen to be ready"


def _guards(held: Sequence[GuardHold]) -> Iterator[str]:
    """One clause per guard and reason."""
    has_pools = len({one.pool for one in held}) > 1
    clauses: dict[tuple[str, str], list[str]] = {}
    for one in held:
        low, high = one.asked
        asked = str(low) if low == high else f"{low} to {high}"
        clauses.setdefault((one.guard, one.reason), []).append(f"{one.pool} {asked}" if has_pools else asked)
    for (guard, reason), asked_for in clauses.items():
        yield f"{guard}: {reason} (asked {', '.join(asked_for)})"


def _direction(line: Line) -> str:
    grown = sum(after - before for before, after in line.changes.values())
    return "up" if grown > 0 else "down" if grown < 0 else "both"


def _key(way: str, label: str) -> Html:
    glyph = element("svg", element("path", d=_GLYPHS[way]), viewBox="-8 0 16 22", class_="glyph", aria_hidden="true")
    return element("span", glyph, label, class_=f"entry {way}")


def _clock_name(days: int, is_virtual: bool) -> str:
    return "Time" if is_virtual else "Date, UTC" if days > 1 else "UTC"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"

"""Strips as lines of text."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from elastream.cli.terminal.output import is_drawable
from elastream.cli.terminal.strips import ASCII, BLOCKS, Block, TextStrip, Values, axis, blocks, column_of

INDENT = 2
NARROWEST = 20
WIDEST = 160
"""Beyond it, the eye loses the line."""


def draw(console: Console, groups: Sequence[Block], duration_s: float) -> None:
    """Print all strips over the same columns, the times below them."""
    for line in draw_lines(groups, duration_s, width=console.width, encoding=console.encoding):
        console.print(line, no_wrap=True, overflow="ignore", crop=False)


def draw_lines(
    groups: Sequence[Block], duration_s: float, *, width: int, encoding: str, now_s: float | None = None
) -> list[Text]:
    """The same as lines, for a picture that owns its console. What comes after `now_s` stays empty behind a mark."""
    characters = BLOCKS if is_drawable(BLOCKS, encoding) else ASCII
    strips = [strip for group in groups for strip in group.strips]
    left = INDENT + max(len(strip.label) for strip in strips) + 2
    right = max(len(strip.extent()) for strip in strips) + 2
    columns = min(WIDEST, max(NARROWEST, width - left - right))
    tops = _tops(strips)
    lines: list[Text] = []
    for group in groups:
        if group.heading:
            heading = Text(group.heading, style="bold")
            heading.truncate(width, overflow="ellipsis")
            lines.append(heading)
        for strip in group.strips:
            line = Text(f"{' ' * INDENT}{strip.label}".ljust(left))
            top = strip.top or tops[strip.label]
            line.append_text(_drawn(strip, strip.columns(columns, duration_s, now_s), top, characters))
            if now_s is not None:
                at = left + column_of(now_s, columns, duration_s)
                line = Text.assemble(line[:at], (_mark(encoding), "bold"), line[at + 1 :])
            line.append(f"  {strip.extent()}", style="dim")
            lines.append(line)
    lines.append(Text(" " * left + axis(columns, duration_s), style="dim"))
    if now_s is not None:
        lines.append(_now(left, columns, column_of(now_s, columns, duration_s), encoding))
    return lines


def _mark(encoding: str) -> str:
    return "│" if is_drawable("│", encoding) else "|"


def _now(left: int, columns: int, at: int, encoding: str) -> Text:
    """The foot of the mark; its word stands where there is room."""
    mark = "▲" if is_drawable("▲", encoding) else "^"
    text = f"{mark} now" if at + len("^ now") <= columns else f"now {mark}"
    return Text(" " * (left + at - text.index(mark)) + text, style="bold")


def _tops(strips: Sequence[TextStrip]) -> dict[str, float]:
    """Strips of one label share a scale, so that the eye may compare them."""
    tops: dict[str, float] = {}
    for strip in strips:
        tops[strip.label] = max(tops.get(strip.label, 0.0), *strip.known(), 0.0)
    return tops


def _drawn(strip: TextStrip, columns: Values, top: float, characters: str) -> Text:
    drawn = Text(blocks(columns, top, characters), style=strip.style)
    if strip.limit is not None:
        for i, value in enumerate(columns):
            if value is not None and value > strip.limit:
                drawn.stylize("red", i, i + 1)
    return drawn

"""The picture of a running application, as lines that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elastream.cli.terminal.digits import CHARACTERS, HEIGHT, draw_digits, shorten, shorten_time
from elastream.cli.terminal.drawing import draw_lines
from elastream.cli.terminal.live_history import LiveHistory, Numbers
from elastream.cli.terminal.output import is_drawable
from elastream.cli.terminal.strips import Block

if TYPE_CHECKING:
    from rich.text import Text

MOST_LINES = 3
"""Of a sentence; the whole of it is in the journal."""
UNKNOWN = ("-", "")
ALARM = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the picture shows beside the ticks."""

    title: str
    notes: Sequence[str] = ()
    steps: Sequence[str] = ()
    """What goes on, one line each, the present one last."""
    duration_s: float
    zero_utc_s: float | None = None
    """When the load began; None before."""
    now_s: float = 0.0
    """Seconds since then."""
    is_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    heading: str
    number: tuple[str, str]
    foot: str
    width: int
    style: str


def draw_picture(history: LiveHistory, moment: Moment, *, width: int, encoding: str) -> list[Text]:
    """Numbers, strips and why, no line wider than the terminal."""
    from rich.text import Text

    lines = [_title(moment, width), *(Text(note, style="dim") for note in moment.notes)]
    now = history.now
    if (promise := now.slo_sentence()) is not None:
        lines.append(Text(promise, style=ALARM if now.is_broken else "bold"))
    lines += [Text(step, style="bold" if step is moment.steps[-1] else "") for step in moment.steps]
    if history.last is not None:
        lines.append(Text())
        lines += _large(_panels(now, width), encoding)
    if history.last is not None and moment.zero_utc_s is not None:
        lines.append(Text())
        lines += _strips(history, moment, width, encoding)
    lines += _executors(history, width)
    return [_cut(line, width) for line in [*lines, *_sentences(history, width)]]


def spell_clock(seconds: float) -> str:
    """`1:05`, as a clock shows it."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def fit(head: str, items: Sequence[str], width: int) -> str:
    """As many items as have room, whole, and how many were left out; nothing if not even one has."""
    for shown in range(len(items), 0, -1):
        rest = f", {len(items) - shown} more" if shown < len(items) else ""
        line = f"{head}{', '.join(items[:shown])}{rest}"
        if len(line) <= width:
            return line
    return ""


def _title(moment: Moment, width: int) -> Text:
    from rich.text import Text

    times, left_s = "", moment.duration_s - moment.now_s
    if moment.zero_utc_s is not None and moment.is_over:
        times = f"ended after {spell_clock(moment.now_s)}"
    elif moment.zero_utc_s is not None:
        times = f"{spell_clock(moment.now_s)} gone, " + (f"{spell_clock(left_s)} left" if left_s > 0 else "load over")
    title = Text(moment.title, style="bold")
    title.truncate(max(0, width - len(times) - 2), overflow="ellipsis", pad=True)
    return title.append(f"  {times}", style="bold") if times else title


def _panels(now: Numbers, width: int) -> list[_Panel]:
    # The delay has the longest name. A column of 13 holds three digits and a unit.
    room = min(width, 100)
    least = 13 if room < 78 else (room - 30) // 3
    delay = now.delay_name()
    if room - 3 * least < len(delay) + 1 and now.window_s is not None:
        delay = f"delay p95, last {now.window_s:g} s"
    wanted = "" if now.wanted is None else f"{now.wanted} wanted"
    if now.leaving:
        wanted += f", -{now.leaving}" if least < 18 else f", {now.leaving} leaving"
    rate = UNKNOWN if now.rate_rps is None else shorten(now.rate_rps)
    backlog = UNKNOWN if now.backlog is None else shorten(now.backlog)
    late = UNKNOWN if now.delay_p95_s is None else shorten_time(now.delay_p95_s)
    ready = "-" if now.ready is None else str(now.ready)
    bound = "" if now.slo is None else f"SLO {now.slo.delay_s:g} s"
    alarm = ALARM if now.is_late else "bold green"
    return [
        _Panel(heading="executors", number=(ready, ""), foot=wanted, width=least, style="bold bright_blue"),
        _Panel(heading="rate", number=rate, foot="records/s", width=least, style="bold cyan"),
        _Panel(heading="backlog", number=backlog, foot="records", width=least, style="bold yellow"),
        _Panel(heading=delay, number=late, foot=bound, width=room - 3 * least, style=alarm),
    ]


def _large(panels: Sequence[_Panel], encoding: str) -> Iterator[Text]:
    from rich.text import Text

    def across(cells: Sequence[tuple[str, str]]) -> Text:
        line = Text()
        for (text, style), panel in zip(cells, panels, strict=True):
            cell = Text(text, style=style)
            cell.truncate(panel.width - 1, overflow="ellipsis")
            line.append_text(cell).append(" " * (panel.width - len(cell)))
        return line

    yield across([(panel.heading, "dim") for panel in panels])
    if is_drawable(CHARACTERS, encoding):
        drawn = [draw_digits(panel.number[0]) for panel in panels]
        for row in range(HEIGHT):
            # The unit stands beside the foot of the last digit.
            units = [f" {panel.number[1]}" if row == HEIGHT - 1 else "" for panel in panels]
            yield across(
                [(digits[row] + unit, panel.style) for digits, unit, panel in zip(drawn, units, panels, strict=True)]
            )
    else:
        yield across([("".join(panel.number), panel.style) for panel in panels])
    yield across([(panel.foot, "dim") for panel in panels])


def _strips(history: LiveHistory, moment: Moment, width: int, encoding: str) -> list[Text]:
    assert moment.zero_utc_s is not None
    groups = [Block(heading="", strips=history.strips(moment.zero_utc_s))]
    if moment.is_over:
        return draw_lines(groups, max(1.0, moment.now_s), width=width, encoding=encoding)
    # What is left when the load is over takes its time too.
    duration_s = max(moment.duration_s, moment.now_s)
    return draw_lines(groups, duration_s, width=width, encoding=encoding, now_s=moment.now_s)


def _executors(history: LiveHistory, width: int) -> list[Text]:
    """Processes as `ps` shows them, where they run on this machine."""
    from rich.text import Text

    names = [
        f"{worker.pid}{' (leaving)' if worker.state == 'leaving' else ''}"
        for worker in history.workers
        if worker.pid is not None
    ]
    line = fit("executor processes: ", names, width)
    return [Text(line, style="dim")] if line else []


def _sentences(history: LiveHistory, width: int) -> list[Text]:
    from textwrap import wrap

    from rich.text import Text

    tick = history.last
    if tick is None:
        return []
    told = [] if tick.decision is None else [f"why: {tick.decision.sentence()}"]
    lines: list[Text] = []
    told += [f"limited: {limit}" for limit in tick.limits()]
    for sentence in [*told, *(f"trouble: {trouble}" for trouble in tick.troubles)]:
        lines += map(Text, wrap(sentence, width, max_lines=MOST_LINES, placeholder=" ..."))
    return lines


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    line.no_wrap = True
    return line

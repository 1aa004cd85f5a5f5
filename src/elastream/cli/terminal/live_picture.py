"""The picture of a running application, as lines that fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from rich.text import Text

from elastream.cli.terminal.digits import CHARACTERS, HEIGHT, draw_digits, shorten, shorten_time
from elastream.cli.terminal.drawing import draw_lines
from elastream.cli.terminal.output import is_drawable
from elastream.cli.terminal.strips import Block, TextStrip
from elastream.core.observation import Observation
from elastream.core.slo import Slo
from elastream.evaluation.measures import find_slowest, living_queries
from elastream.evaluation.series import RunSeries

MOST_LINES = 3
"""Of a sentence; the whole of it is in the journal."""
UNKNOWN = ("-", "")
ALARM = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What the picture shows beside the ticks."""

    title: str
    notes: Sequence[str] = ()
    slo: Slo | None = None
    """What was promised, until queries say so themselves."""
    steps: Sequence[str] = ()
    """What goes on, one line each, the present one last."""
    duration_s: float
    """0: nobody knows when it ends."""
    zero_utc_s: float | None = None
    """When the load began; None before."""
    now_s: float = 0.0
    """Seconds since then."""
    is_over: bool = False
    state: str = ""
    """What the loop is doing, where nothing else says it."""
    more: Sequence[str] = ()
    """Under everything else, a line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    heading: str
    number: tuple[str, str]
    foot: str
    width: int
    style: str


def draw_picture(series: RunSeries, moment: Moment, *, width: int, encoding: str) -> list[Text]:
    """Numbers, strips and why, no line wider than the terminal."""
    lines = [_title(moment, width), *(Text(note, style="dim") for note in moment.notes)]
    if (sentence := slo_sentence(series, moment.slo)) is not None:
        promise = series.promise
        is_broken = promise is not None and promise[1].keeps(promise[0]) is False
        lines.append(Text(sentence, style=ALARM if is_broken else "bold"))
    lines += [Text(step, style="bold" if step is moment.steps[-1] else "") for step in moment.steps]
    if series.last_tick is not None:
        lines.append(Text())
        lines += _large(_panels(series, moment.slo, width), encoding)
    if series.last_tick is not None and moment.zero_utc_s is not None:
        lines.append(Text())
        lines += _strips(series, moment, width, encoding)
    lines += _executors(series, width)
    more = [Text(part, style="dim") for line in moment.more for part in wrap(line, width, subsequent_indent="  ")]
    return [_cut(line, width) for line in [*lines, *_sentences(series, width), *more]]


def slo_sentence(series: RunSeries, promised: Slo | None) -> str | None:
    """`within SLO 98.7 % of records (99 % promised within 30 s)`; None where nothing is promised."""
    if series.promise is not None and (share := series.promise[1].share) is not None:
        slo = series.promise[0]
        # Rounded down: 98.997 % of 99 % is not kept and must not read as if it were.
        shown = f"{int(share * 1000) / 10:g} %"
        return f"within SLO {shown} of records ({slo.share * 100:g} % promised within {slo.delay_s:g} s)"
    slo_now = _strictest(series, promised)
    return f"SLO: {slo_now.sentence()}; none judged yet" if slo_now is not None else None


def delay_name(series: RunSeries) -> str:
    """`delay p95 of the last 60 s`."""
    window_s = _window_s(series)
    return "delay p95" if window_s is None else f"delay p95 of the last {window_s:g} s"


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
    times, left_s = "", moment.duration_s - moment.now_s
    if moment.duration_s <= 0:
        times = moment.state
    elif moment.zero_utc_s is not None and moment.is_over:
        times = f"ended after {spell_clock(moment.now_s)}"
    elif moment.zero_utc_s is not None:
        times = f"{spell_clock(moment.now_s)} gone, " + (f"{spell_clock(left_s)} left" if left_s > 0 else "load over")
    title = Text(moment.title, style="bold")
    title.truncate(max(0, width - len(times) - 2), overflow="ellipsis", pad=True)
    return title.append(f"  {times}", style="bold") if times else title


def _panels(series: RunSeries, promised: Slo | None, width: int) -> list[_Panel]:
    # The delay has the longest name. A column of 13 holds three digits and a unit.
    room = min(width, 100)
    least = 13 if room < 78 else (room - 30) // 3
    delay, window_s = delay_name(series), _window_s(series)
    if room - 3 * least < len(delay) + 1 and window_s is not None:
        delay = f"delay p95, last {window_s:g} s"
    size, leaving = series.latest("wanted"), series.latest("leaving")
    wanted = "" if size is None else f"{size:.0f} wanted"
    if leaving:
        wanted += f", -{leaving:.0f}" if least < 18 else f", {leaving:.0f} leaving"
    arrived, waiting, p95_s = series.latest("arrived"), series.latest("backlog"), series.latest("delay")
    rate = UNKNOWN if arrived is None else shorten(arrived)
    backlog = UNKNOWN if waiting is None else shorten(waiting)
    late = UNKNOWN if p95_s is None else shorten_time(p95_s)
    there = series.latest("ready")
    ready = "-" if there is None else f"{there:.0f}"
    slo = _strictest(series, promised)
    bound = "" if slo is None else f"SLO {slo.delay_s:g} s"
    alarm = ALARM if slo is not None and p95_s is not None and p95_s > slo.delay_s else "bold green"
    return [
        _Panel(heading="executors", number=(ready, ""), foot=wanted, width=least, style="bold bright_blue"),
        _Panel(heading="rate", number=rate, foot="records/s", width=least, style="bold cyan"),
        _Panel(heading="backlog", number=backlog, foot="records", width=least, style="bold yellow"),
        _Panel(heading=delay, number=late, foot=bound, width=room - 3 * least, style=alarm),
    ]


def _large(panels: Sequence[_Panel], encoding: str) -> Iterator[Text]:
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


def _now(series: RunSeries) -> Observation | None:
    return series.last_tick.observation if series.last_tick is not None else None


def _window_s(series: RunSeries) -> float | None:
    """What the delay that is shown was measured over."""
    now = _now(series)
    slowest = find_slowest(living_queries(now)) if now is not None else None
    return slowest.window_s if slowest is not None else None


def _strictest(series: RunSeries, promised: Slo | None) -> Slo | None:
    now = _now(series)
    slos = [query.slo for query in now.queries if query.slo is not None] if now is not None else []
    return min(slos, key=lambda slo: slo.delay_s, default=promised)


def _strips(series: RunSeries, moment: Moment, width: int, encoding: str) -> list[Text]:
    assert moment.zero_utc_s is not None
    groups = [Block(heading="", strips=_curves(series, moment.zero_utc_s, moment.slo))]
    if moment.is_over:
        return draw_lines(groups, max(1.0, moment.now_s), width=width, encoding=encoding)
    # What is left when the load is over takes its time too.
    duration_s = max(moment.duration_s, moment.now_s, 1.0)
    return draw_lines(groups, duration_s, width=width, encoding=encoding, now_s=moment.now_s)


def _curves(series: RunSeries, zero_utc_s: float, promised: Slo | None) -> list[TextStrip]:
    """Everything since a time."""
    at_s = [at - zero_utc_s for at in series.at]
    slo = _strictest(series, promised)
    limit = slo.delay_s if slo is not None else None
    ready, wanted = series.column("ready"), series.column("wanted")
    # One scale for both, so that a gap between them is seen.
    most = max((value for value in (*ready, *wanted) if value is not None), default=None)
    delay = series.column("delay")
    return [
        TextStrip(label="rate", at_s=at_s, values=series.column("arrived"), unit="/s", style="cyan"),
        TextStrip(label="backlog", at_s=at_s, values=series.column("backlog"), by="max", style="yellow"),
        TextStrip(label="delay p95", at_s=at_s, values=delay, unit="s", by="max", style="green", limit=limit),
        TextStrip(label="wanted", at_s=at_s, values=wanted, by="max", style="blue", top=most),
        TextStrip(label="ready", at_s=at_s, values=ready, by="max", style="bright_blue", top=most),
    ]


def _executors(series: RunSeries, width: int) -> list[Text]:
    """Processes as `ps` shows them, where they run on this machine."""
    now = _now(series)
    names = [
        f"{worker.pid}{' (leaving)' if worker.state == 'leaving' else ''}"
        for pool in (now.pools if now is not None else ())
        for worker in pool.workers
        if worker.pid is not None
    ]
    line = fit("executor processes: ", names, width)
    return [Text(line, style="dim")] if line else []


def _sentences(series: RunSeries, width: int) -> list[Text]:
    tick = series.last_tick
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

"""The picture of a running application, on terminals of several widths."""

import re

import pytest

from elastream.cli.terminal.digits import draw_digits, shorten, shorten_time
from elastream.cli.terminal.live_picture import Moment, draw_picture, fit, spell_clock
from elastream.cli.terminal.live_view import LiveView
from elastream.evaluation.series import RunSeries
from tests.terminal import Seen, run_on_terminal
from tests.unit.journal_samples import UTC_S
from tests.unit.live_samples import SLO, run

WIDTHS = [60, 80, 120]
TITLE = "lag-proportional on 2..8 executors"

FEED = """
from elastream.cli.terminal import live_view
from tests.unit.journal_samples import UTC_S
from tests.unit.live_samples import SLO, run

now = [UTC_S - 13.0]
title = "lag-proportional on 2..8 executors"
notes = ["capacity emulated: 1,000 rows/s per slot, time x1"]
with live_view.LiveView(175.0, title=title, tick_s=2.0, slo=SLO, notes=notes, clock=lambda: now[0]) as view:
    view.begin("starting a cluster with room for 8 executors")
    now[0] += 4.0
    view.begin("starting a Spark session")
    now[0] += 9.0
    view.refresh()
    view.note("spark://127.0.0.1:4040 is up: ", [f"worker-{n} pid {1_000_000 + n}" for n in range(9)])
    view.start_load()
    BEFORE
    for tick in run(OPTIONS):
        view.write(tick)
        now[0] = tick.utc_s
    view.refresh()
"""


def feed(columns: int, options: str = "", *, before: str = "") -> Seen:
    program = FEED.replace("OPTIONS", options).replace("BEFORE", before)
    return run_on_terminal("-c", program, columns=columns)


def whole(seen: Seen) -> None:
    """What is asked of every picture."""
    assert seen.code == 0, seen.text
    assert "Traceback" not in seen.text
    assert seen.screen.wrapped == []


def drawn(columns: int = 80, *, now_s: float = 60.0, encoding: str = "utf-8", **options: float) -> list[str]:
    series = RunSeries(tick_s=2.0)
    for tick in run(**options):  # type: ignore[arg-type]
        series.update(tick)
    moment = Moment(title=TITLE, slo=SLO, duration_s=175.0, zero_utc_s=UTC_S, now_s=now_s)
    return [line.plain for line in draw_picture(series, moment, width=columns, encoding=encoding)]


def strip(lines: list[str], label: str) -> str:
    return next(line for line in lines if line.startswith(f"  {label}"))


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_run_is_shown_on_a_terminal_from_start_to_end(columns: int) -> None:
    seen = feed(columns)
    whole(seen)
    waiting = next(frame for frame in seen.screen.frames if "9 s" in frame)
    running = next(frame for frame in reversed(seen.screen.frames) if "gone" in frame)
    assert "SLO: 99 % of records within 15 s" in waiting
    assert "   4 s  starting a cluster with room for 8 executors\n" in waiting
    assert "   9 s  starting a Spark session ..." in waiting
    assert "0:58 gone, 1:57 left" in running
    assert "starting" not in running.partition(TITLE)[2]
    for shown in (running, seen.text):
        assert "within SLO 100 % of records (99 % promised within 15 s)" in shown
        assert re.search(r"executors +rate +backlog +delay p95(,| of the) last 60 s", shown)
        for row in zip(draw_digits("6"), draw_digits("2.4"), draw_digits("7.3"), draw_digits("4.0"), strict=True):
            assert re.search("[ ks]+".join(re.escape(digits.strip()) for digits in row), shown)
        assert re.search(r"6 wanted|7 wanted", shown)
    assert "ended after 0:58" in seen.text
    assert seen.screen.red() == ""


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_broken_promise_and_nothing_else_is_red(columns: int) -> None:
    seen = feed(columns, "delay_s=22.0, late=0.3")
    whole(seen)
    promise = "within SLO 70 % of records (99 % promised within 15 s)"
    assert promise in seen.screen.red()
    # The sentence, the large number, and its strip.
    red = seen.screen.red().replace(promise, "", 1)
    assert "".join(draw_digits("22")) in red.replace(" s", "")
    assert set(red) <= set("█▀ s")
    assert red.endswith("█" * 20)


def test_an_error_in_drawing_is_told_once_and_the_run_goes_on_in_plain_lines() -> None:
    # Whoever prints while the picture is shown has it drawn anew.
    seen = feed(80, before="live_view.draw_picture = lambda *_, **__: 1 / 0; view.note('', ['x']); view.refresh()")
    assert seen.code == 0
    # What is told is broken between words, and the terminal breaks plain lines where they end.
    words, told = " ".join(seen.text.split()), seen.text.replace("\n", "")
    assert words.count("the picture cannot be drawn (ZeroDivisionError: division by zero); plain lines follow") == 1
    assert "executors 6 of 7  rate 2.41k/s  backlog 7.32k  delay p95 of the last 60 s 4.0s" in told
    assert "Traceback" not in told


def test_what_has_not_come_yet_is_empty_behind_a_mark() -> None:
    for now_s in (0.0, 60.0, 174.0):
        lines = drawn(now_s=now_s)
        for label in ("rate", "backlog", "delay p95", "wanted", "ready"):
            past, _, future = strip(lines, label)[13:].partition("│")
            room = len(strip(lines, label)[13:].rpartition("  ")[0])
            assert len(past) == min(room - 1, int(now_s / 175.0 * room))
            assert "█" not in future
        mark = next(line for line in lines if "▲" in line)
        assert mark.index("▲") == strip(lines, "rate").index("│")
        assert "now" in mark


def test_when_the_load_is_over_the_axis_goes_on() -> None:
    lines = drawn(now_s=200.0)
    assert "3:20 gone, load over" in lines[0]
    assert strip(lines, "rate").count("█") > 40


@pytest.mark.parametrize("columns", [40, *WIDTHS, 200])
@pytest.mark.parametrize("executors", [2, 7, 120])
def test_no_line_is_wider_than_the_terminal_and_process_ids_are_whole(columns: int, executors: int) -> None:
    lines = drawn(columns, executors=executors)
    assert max(map(len, lines)) <= columns
    told = [line for line in lines if line.startswith("executor processes")]
    for number in re.findall(r"\d{4,}", "".join(told)):
        assert 1_239_871 <= int(number) < 1_239_871 + executors
    assert len(told) == 1
    assert len(lines) < 24


def test_a_terminal_without_blocks_gets_digits_and_letters() -> None:
    lines = drawn(encoding="ascii")
    assert "".join(lines).isascii()
    assert any(re.match(r"6 +2\.4k +7\.3k +4\.0s", line) for line in lines)


def test_what_is_unknown_is_shown_as_unknown() -> None:
    series = RunSeries(tick_s=2.0)
    series.update(next(run()))
    assert series.latest("arrived") is None
    lines = draw_picture(series, Moment(title=TITLE, duration_s=9.0), width=80, encoding="ascii")
    assert any(re.match(r"6 +- +7\.3k", line.plain) for line in lines)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (7.4, "7"), (999.4, "999"), (999.7, "1.0k"), (2412, "2.4k"), (99_600, "100k")]
)
def test_large_numbers_have_three_characters_at_most(value: float, text: str) -> None:
    assert "".join(shorten(value)) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0s"), (9.96, "10s"), (320, "320s"), (1200, "20m")])
def test_large_times_have_three_characters_at_most(seconds: float, text: str) -> None:
    assert "".join(shorten_time(seconds)) == text


def test_items_that_do_not_fit_are_counted_or_dropped() -> None:
    items = ["1001", "1002", "1003"]
    assert fit("pids: ", items, 22) == "pids: 1001, 1002, 1003"
    assert fit("pids: ", items, 21) == "pids: 1001, 2 more"
    assert fit("pids: ", items, 12) == ""


def test_time_is_told_as_on_a_clock() -> None:
    assert [spell_clock(seconds) for seconds in (-1.0, 5.9, 65.0, 3725.0)] == ["0:00", "0:05", "1:05", "1:02:05"]


def test_in_a_pipe_the_promise_and_every_step_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveView(60.0, title=TITLE, tick_s=2.0, slo=SLO, clock=lambda: UTC_S) as view:
        view.begin("starting a Spark session")
        view.start_load()
        for tick in run(late=0.3):
            view.write(tick)
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        TITLE,
        "SLO: 99 % of records within 15 s",
        "starting a Spark session ...",
        "waiting for the first batch ...",
    ]
    assert "delay p95 of the last 60 s 4.0s  within SLO 70 % of records (99 % promised within 15 s)" in out
    assert len(out.splitlines()) == 6

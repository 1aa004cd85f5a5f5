"""Strips, tables and progress, without a simulation."""

from collections.abc import Iterator

import pytest

from elastream.cli.terminal.progress import Progress
from elastream.cli.terminal.strips import ASCII, BLOCKS, TextStrip, axis, blocks, compact, spelt_time


def strip(*values: float | None, every_s: float = 1.0) -> TextStrip:
    return TextStrip(label="x", at_s=[i * every_s for i in range(len(values))], values=values, by="max")


@pytest.mark.parametrize("width", [1, 7, 20, 300])
def test_a_strip_is_as_wide_as_asked_however_many_values_it_has(width: int) -> None:
    for count in (1, 5, 1000):
        drawn = blocks(strip(*range(count)).columns(width, float(count)), count)
        assert len(drawn) == width


def test_blocks_run_from_nothing_to_the_top() -> None:
    assert blocks([0, 1, 2, 3, 4, 5, 6, 7, 8], 8) == BLOCKS + BLOCKS[-1]
    assert blocks([0.0, 4.0, 8.0], 8, ASCII) == ASCII[0] + ASCII[4] + ASCII[7]


def test_unknown_is_blank_and_zero_is_not() -> None:
    assert blocks([None, 0.0, 0.0], 0.0) == " " + BLOCKS[0] * 2


def test_a_peak_is_not_lost_between_columns() -> None:
    values = [1.0] * 100
    values[41] = 50.0
    assert max(value or 0.0 for value in strip(*values).columns(10, 100.0)) == 50.0


def test_a_value_holds_until_the_next_one() -> None:
    assert strip(1, 2, every_s=50.0).columns(4, 100.0) == [1, 1, 2, 2]


def test_the_axis_is_as_wide_as_the_strips_and_begins_at_zero() -> None:
    for width in (20, 80, 160):
        for duration_s in (30.0, 600.0, 8400.0, 40 * 86400.0):
            line = axis(width, duration_s)
            assert len(line) == width
            assert line.startswith("0 ")
    assert axis(48, 3600.0).split() == ["0", "10m", "20m", "30m", "40m", "50m", "60m"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (7, "7"), (12.34, "12.3"), (999.9, "1k"), (123456, "123k"), (1.5e6, "1.5M"), (2e9, "2G")],
)
def test_three_digits_are_enough(value: float, text: str) -> None:
    assert compact(value) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.82, "0.8s"), (135, "135s"), (2190, "36.5m"), (41000, "11.4h")])
def test_long_times_are_told_in_larger_units(seconds: float, text: str) -> None:
    assert spelt_time(seconds) == text


def ticking(*times: float) -> Iterator[float]:
    yield from times


def test_progress_is_silent_for_two_seconds_and_then_speaks_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    times = ticking(0.0, 1.0, 2.5, 3.0, 8.0)
    with Progress(2, 100.0, quiet=False, clock=lambda: next(times)) as progress:
        progress.begin("fixed")
        for at_s in (10.0, 20.0, 30.0, 50.0):
            progress.at(at_s)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["fixed: 10% of all, 22s left", "fixed: 25% of all, 24s left"]


def test_progress_can_be_told_to_be_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    times = ticking(0.0, 9.0)
    with Progress(1, 100.0, quiet=True, clock=lambda: next(times)) as progress:
        progress.at(50.0)
    assert capsys.readouterr() == ("", "")

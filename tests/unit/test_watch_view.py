"""What the terminal shows of a run that goes on elsewhere: what the page shows, in lines that fit."""

from dataclasses import replace
from pathlib import Path

import pytest

from elastream.cli.terminal.live_picture import draw_picture
from elastream.cli.terminal.watch_view import WatchView
from elastream.core.control import Control, Intervention
from elastream.core.decision import Decision
from elastream.core.tick import Tick
from elastream.loop.control_desk import put_under
from tests.unit.journal_samples import UTC_S, header, planner, tick
from tests.unit.page_samples import calm, grown, kept, look


def shown(ticks: list[Tick], width: int) -> list[str]:
    view = WatchView(Path("runs/app"))
    view.begin_run(header(planner()))
    for one in ticks:
        view.write(one)
    lines = draw_picture(view.series, view._moment(), width=width, encoding="utf-8")
    return [line.plain for line in lines]


def run() -> list[Tick]:
    evidence = {"clicks/expected_rps": 150.0, "clicks/expected_low_rps": 120.0, "clicks/expected_high_rps": 190.0}
    asked = Intervention(asked="dry-run", who="alice at 127.0.0.1", utc_s=UTC_S)
    now = put_under(look(20.0, wanted=5, ready=5), Control(mode="dry-run"))
    last = tick(4, now, Decision.keep(now, "right", evidence))
    return [*calm([1]), grown(2), kept(3, look(15.0, wanted=5, ready=5)), replace(last, interventions=(asked,))]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_state_load_to_come_sizes_and_changes_are_told_and_fit(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(run(), width)
    whole = " ".join(line.strip() for line in lines)

    assert max(map(len, lines)) <= width
    assert lines[0].endswith("dry run")
    for told in (
        "asked: dry run",
        "expected: 150/s, mostly 120..190/s",
        "executors: wanted 5, requested 5, ready 5, leaving 0; bounds 1..20",
        "clicks: running, backlog 50, p95 4.0s",
        "12:00:10 2 -> 5, ready after 5 s",
        "12:00:00 alice at 127.0.0.1 asks: dry run",
    ):
        assert told in whole.replace("  ", " ")

"""What commands show on a terminal: whole words and digits, at any usual width."""

import re
from itertools import product
from pathlib import Path

import pytest

from tests.terminal import Seen, run_on_terminal

WIDTHS = [60, 80, 120]
SIMULATE = (
    "-m", "elastream", "simulate", "--policy", "threshold", "--policy", "lag-proportional(drain=60s)",
    "--slo", "30s", "--duration", "60m",
)  # fmt: skip

PRODUCE = """
from elastream.cli.terminal.produce_view import ProduceView
from elastream.development.kafka.producer_verdict import Standing

with ProduceView(paced=True) as view:
    for second in range(12):
        done = 123_456 * second
        view.show(Standing(at_s=float(second), written=done, acknowledged=done, due=done + 9_876_543, late_s=12.3))
        view.tell("the broker did not acknowledge for 3.0 s; what waits is written as soon as it answers again")
        view._status._live.refresh()
"""

RUN = """
from elastream.launch.telling import Telling, say
from tests.unit.live_samples import run

telling = Telling(say)
telling.begin("following clicks with lag-proportional on 2..8 executors; SLO: 99 % of records within 15 s")
for tick in run(looks=3):
    telling.write(tick)
say(telling.summary())
"""

PROGRESS = """
from elastream.cli.terminal.progress import Progress

times = iter(float(second) for second in range(9))
with Progress(2, 100.0, quiet=False, clock=lambda: next(times)) as progress:
    progress.begin("lag-proportional(interval=4s, window=8s, drain=20s, target=0.8)")
    for at_s in (10.0, 50.0, 90.0):
        progress.at(at_s)
        if progress._bar:
            progress._bar.refresh()
"""


def show(*arguments: str, columns: int, folder: Path | None = None) -> Seen:
    seen = run_on_terminal(*arguments, columns=columns, folder=folder)
    assert seen.code == 0, seen.text
    assert "Traceback" not in seen.text
    assert seen.screen.wrapped == []
    return seen


@pytest.mark.parametrize("columns", WIDTHS)
def test_simulate_keeps_its_headings_and_digits_whole(columns: int, tmp_path: Path) -> None:
    seen = show(*SIMULATE, columns=columns, folder=tmp_path)
    assert "SLO: 99 % of records within 30 s" in seen.text
    lines = seen.text.splitlines()
    heading = next(line for line in lines if line.startswith("policy"))
    for word in ("mean", "hours paid", "p95", "in SLO"):
        assert word in heading
    # With colours nothing keeps room for a star.
    assert ("left" in heading) is (columns >= 80)
    # A name may be shortened, a number never is.
    for name in ("threshold", "lag-proportional"):
        row = next(line for line in lines if line.startswith(name) and "%" in line)
        assert re.search(r"\d\.\d +.*\d\.\d+ +.*\d\.\ds +.*\d\.\d%", row)
        assert "…" not in row.split(" ", 1)[1]
    for label, policy in product(("wanted", "ready", "backlog", "delay p95"), range(2)):
        strips = [line for line in lines if line.startswith(f"  {label} ")]
        assert len(strips) == 2
        assert re.search(r"\d[smkM]?\.\.\d[\d.]*[smkM]?$", strips[policy])
    # The spike breaks the promise for a while; the rest of the strip does not.
    assert 0 < len(seen.screen.red()) < columns
    assert set(seen.screen.red()) <= set("▁▂▃▄▅▆▇█")


@pytest.mark.parametrize("columns", WIDTHS)
def test_produce_shows_one_line_that_fits(columns: int) -> None:
    seen = show("-c", PRODUCE, columns=columns)
    shown = [line for frame in seen.screen.frames for line in frame.splitlines() if " 1.36M" in line or "1,358" in line]
    assert shown
    for line in shown:
        assert re.search(r"(1\.36M|1,358,016) ack\S+ +123(k|,456)(/s)? of 123(k|,456)/s", line)
        assert re.search(r"behind .*(9\.88M|9,876,543).*, 12\.3 s$", line)


@pytest.mark.parametrize("columns", WIDTHS)
def test_run_breaks_its_lines_between_words(columns: int) -> None:
    seen = show("-c", RUN, columns=columns)
    assert "elastream: following clicks" in seen.text
    told = " ".join(seen.text.split())
    assert "SLO: 99 % of records within 15 s" in told
    assert "executors 7 kept: clicks: 2,412/s arrive and a backlog of 7,320" in told
    assert "0 changes, 6 executors, 3 looks" in told
    assert seen.screen.red() == ""


@pytest.mark.parametrize("columns", WIDTHS)
def test_an_error_breaks_between_words(columns: int, tmp_path: Path) -> None:
    wrong = ("-m", "elastream", "simulate", "--policy", "treshold", "--set", "tick_s=5", "--workload", "nothing(1k)")
    seen = run_on_terminal(*wrong, columns=columns, folder=tmp_path)
    assert seen.code == 2
    assert seen.screen.wrapped == []
    told = " ".join(seen.text.split())
    assert told.startswith("elastream: ")
    assert "did you mean 'threshold'?" in told or "known: " in told


@pytest.mark.parametrize("columns", WIDTHS)
def test_progress_stays_on_its_line(columns: int) -> None:
    seen = show("-c", PROGRESS, columns=columns)
    drawn = [line for frame in seen.screen.frames for line in frame.splitlines() if "45%" in line]
    assert drawn
    assert all(line.startswith("lag-") for line in drawn)


WATCH = """
from pathlib import Path
from elastream.cli.terminal.watch_view import WatchView
from tests.unit.journal_samples import header, planner
from tests.unit.live_samples import run

with WatchView(Path("runs/app")) as view:
    view.note("the page, until Ctrl-C: ", ["http://127.0.0.1:8620/"])
    view.begin_run(header(planner()))
    for tick in run(looks=40):
        view.write(tick)
    view.refresh()
"""


@pytest.mark.parametrize("columns", WIDTHS)
def test_watch_shows_the_picture_of_a_run_that_goes_on_elsewhere(columns: int) -> None:
    seen = show("-c", WATCH, columns=columns)
    assert "http://127.0.0.1:8620/" in seen.text
    assert "under by-arrival" in seen.text
    for word in ("executors", "backlog", "delay p95", "within SLO"):
        assert word in seen.text
    # Nobody knows when it ends.
    assert "left" not in seen.text
    assert "load over" not in seen.text

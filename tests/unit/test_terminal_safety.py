"""Names of queries and records in errors reach a terminal as text: they move, colour, link and copy nothing."""

from pathlib import Path

import pytest

from elastream.journal.writer import Recorder
from tests.terminal import Seen, run_on_terminal
from tests.unit.journal_samples import header, planner
from tests.unit.leaky_samples import hostile_ticks

VIEW = """
from elastream.cli.terminal.live_view import LiveView
from tests.unit.leaky_samples import HOSTILE, MARKUP, hostile_ticks

with LiveView(60.0, title=MARKUP[0], tick_s=5.0, notes=HOSTILE[:2], clock=lambda: 0.0) as view:
    for tick in hostile_ticks():
        view.write(tick)
        view.refresh()
"""

RUN = """
from elastream.core.log import log
from elastream.launch.telling import Telling, say, take_over_warnings
from tests.unit.leaky_samples import hostile_ticks

take_over_warnings()
telling = Telling(say)
for tick in hostile_ticks():
    telling.write(tick)
    log.warning("%s", tick.troubles[0])
"""

PRINT = """
from rich.table import Table

from elastream.cli.terminal.output import console, print_line, tell, write_line
from elastream.cli.terminal.progress import Progress
from tests.unit.leaky_samples import HOSTILE, MARKUP

texts = (*HOSTILE, *MARKUP)
times = iter(float(second) for second in range(99))
with Progress(2, 100.0, quiet=False, clock=lambda: next(times)) as progress:
    for text in texts:
        progress.begin(text)
        progress.at(50.0)
        if progress._bar:
            progress._bar.refresh()
table = Table("a", "b", title=MARKUP[0])
for text in texts:
    tell(text)
    write_line(text)
    print_line(console(), text)
    table.add_row(text, text)
console().print(table)
"""


def assert_harmless(seen: Seen) -> None:
    """Escape sequences of rich's own are left; the screen of a test knows no others but the two named here."""
    assert seen.code == 0, seen.text
    assert "\x1b]" not in seen.written
    assert "\x07" not in seen.written
    assert "late" not in seen.screen.red()
    # What was drawn over was seen as well.
    assert "[red]late[/red]" in "\n".join([*seen.screen.frames, seen.text])


@pytest.mark.parametrize("program", [VIEW, RUN, PRINT], ids=["a live view", "a run", "lines, tables and bars"])
def test_what_is_shown_of_others_is_text(program: str) -> None:
    assert_harmless(run_on_terminal("-c", program, columns=120))


def test_why_tells_of_a_journal_in_text(tmp_path: Path) -> None:
    one = planner()
    with Recorder(tmp_path, planner=one, header=header(one)) as recorder:
        for tick in hostile_ticks():
            recorder.write(tick)
    (file,) = tmp_path.glob("*.jsonl")
    lines = file.read_text().splitlines()
    # As somebody else may have written it.
    hostile = lines[-1].replace('"reason":"', r'"reason":"\u001b[2J\u001b]52;c;aGk=\u0007')
    file.write_text("\n".join([*lines, hostile]) + "\n")

    seen = run_on_terminal("-m", "elastream", "why", str(tmp_path), columns=200)

    assert "\x1b[2J" not in seen.written
    assert_harmless(seen)

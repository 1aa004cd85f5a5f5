"""The picture of a running application, on terminals of several widths."""

import pytest

from tests.terminal import Seen, run_on_terminal

WIDTHS = [60, 80, 120]

FEED = """
import time
from elastream.cli.liveview import LiveView
from tests.unit.page_samples import calm

with LiveView(100.0, title="threshold on 1 to 20 executors") as view:
    for tick in calm(range(6)):
        view.write(tick)
        time.sleep(0.12)
"""


def feed(program: str, columns: int) -> Seen:
    return run_on_terminal("-c", program, columns=columns)


@pytest.mark.parametrize("columns", WIDTHS)
def test_ticks_are_drawn_on_a_terminal_of_any_width(columns: int) -> None:
    seen = feed(FEED, columns)
    assert seen.code == 0
    assert "Traceback" not in seen.text
    assert "threshold on 1 to 20 executors" in seen.text
    assert "5 of 100 slots busy" in seen.text
    assert seen.screen.wrapped == []

"""What if, asked for on a page by a real browser, and shown beside what happened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.experiments.run_folder import find_journal
from elastream.journal.follower import JournalFollower
from elastream.journal.format import Header
from elastream.render.page.feed import PageFeed
from elastream.service.server import PageServer
from tests.browser.driving import Browser, browser

pytestmark = pytest.mark.needs("browser")


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Browser]:
    with browser(tmp_path / "chromium") as window:
        yield window


def test_what_might_have_been_is_asked_for_and_shown_beside_what_happened(window: Browser, tmp_path: Path) -> None:
    run = tmp_path / "run"
    load = ["--workload", "cosine(5k..40k, period=4m)", "--duration", "4m", "--tick", "20s", "--slo", "40s"]
    options = ["--policy", "fixed(workers=6)", "--executors", "1..8", "--start", "6", "--out", str(run)]
    assert main(["simulate", "--model", "enrich", *load, *options]) == 0
    window.resize(1200, 1400)
    with PageServer(PageFeed(), journal=find_journal(run)) as server:
        entries = [*JournalFollower(find_journal(run)).read()]
        for entry in entries:
            if isinstance(entry, Header):
                server.begin_run(entry)
            else:
                server.write(entry)
        window.open(server.address)
        window.await_true("return document.querySelector('#if-high').value === '8'")
        assert window.run("return document.querySelector('#if-policy option').textContent") == "the same (fixed)"
        window.run(
            "document.querySelector('#if-policy').value = 'fixed'; document.querySelector('#if-high').value = 4;"
            "document.querySelector('#if-ask').click()"
        )
        window.await_true("return document.querySelectorAll('#if-answer canvas').length === 3", within_s=60.0)
        rows = window.run("return [...document.querySelectorAll('#if-answer tbody th')].map(one => one.innerText)")
        assert rows[0] == "What happened"
        assert rows[2].startswith("fixed(workers=4)")
        assert "how far off" in window.run("return document.querySelector('#if-answer').textContent")
        assert window.complaints() == []

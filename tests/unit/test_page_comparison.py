"""The page of several runs, as text."""

import re
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.journal.reader import read
from elastream.render.page.comparison import compare
from elastream.render.page.page import page
from tests.unit.journal_samples import record
from tests.unit.page_samples import calm, grown, kept, look, query, recording
from tests.unit.test_page import HOSTILE, Elements

LOADS = {"small": [100.0] * 8, "large": [100.0, 100.0, *[900.0] * 14]}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two runs."""
    for name, load in LOADS.items():
        record(tmp_path / name, load)
    return tmp_path


def test_the_command_compares_what_a_folder_holds(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", str(runs)]) == 0
    assert capsys.readouterr().out == f"{runs / 'page.html'}\n"
    written = (runs / "page.html").read_text(encoding="utf-8")
    assert written == compare({name: read(runs / name) for name in sorted(LOADS)})
    assert main(["page", str(runs), "--json", "--title", "Two sizes", "--note", "emulated"]) == 0
    written = (runs / "page.html").read_text(encoding="utf-8")
    assert "<h1>Two sizes</h1>" in written
    assert "<li>emulated</li>" in written


def test_a_single_run_has_the_page_that_it_always_had(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", str(runs / "large")]) == 0
    assert (runs / "large" / "page.html").read_text(encoding="utf-8") == page(read(runs / "large"))


def test_the_table_has_the_numbers_of_every_run() -> None:
    found = compare({"calm": recording(calm(range(13))), "busy": recording([*calm(range(5)), grown(5)])})
    rows = re.findall(r"<tr><td>(.*?)</tr>", found)
    cells = [re.sub(r"<[^>]+>", "|", row).replace("||", "|").split("|") for row in rows]
    assert [row[0].split(" ")[0] for row in cells] == ["calm", "busy"]
    assert [row[1] for row in cells] == ["1 min", "25 s"]
    assert [row[5] for row in cells] == ["0", "1"]


def test_strips_of_all_runs_share_their_axes() -> None:
    low = recording([kept(n, look(5.0 * n, query(5.0 * n, backlog=100.0))) for n in range(5)])
    high = recording([kept(n, look(5.0 * n, query(5.0 * n, backlog=90_000.0))) for n in range(20)], start_s=5000.0)
    parsed = Elements(compare({"low": low, "high": high}))
    ids = [found["id"] for _, found in parsed.found if "id" in found]
    assert len(ids) == len(set(ids))
    assert len(parsed.of("figure", "strip")) == 8
    scales = [
        [label for tag, label in Elements(section).texts if tag == "text"]
        for section in re.findall(r'<figure class="strip backlog">.*?</figure>', compare({"low": low, "high": high}))
    ]
    assert scales[0] == scales[1]
    assert "100k" in scales[0]


def test_a_run_that_cannot_be_read_is_left_out_and_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(runs / "broken", [100.0])
    for file in (runs / "broken").glob("journal-*"):
        file.write_text("no journal\n")
    assert main(["page", str(runs)]) == 0
    assert "left out: " in capsys.readouterr().err
    written = (runs / "page.html").read_text(encoding="utf-8")
    assert "left out: " in written
    assert "2 runs" in written


def test_nothing_gets_into_it_unescaped() -> None:
    Elements(compare({HOSTILE: recording(calm(range(3)))}, title=HOSTILE, notes=[HOSTILE]))
    assert "<img" not in compare({HOSTILE: recording(calm(range(3)))}, title=HOSTILE, notes=[HOSTILE])


def test_a_run_without_a_tick_stands_in_the_table_alone() -> None:
    found = compare({"empty": recording([]), "calm": recording(calm(range(3)))})
    assert "nothing recorded" in found
    assert len(Elements(found).of("figure", "strip")) == 4

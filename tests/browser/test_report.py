"""The report on a folder of runs, opened from its file by a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from elastream.experiments.report.contents import read_contents
from elastream.experiments.report.report import make_report
from tests.browser.driving import Browser, browser
from tests.browser.test_page import CONTRASTS, ENTER, TAB
from tests.unit.experiments.report_samples import sample

pytestmark = pytest.mark.needs("browser")

POLICIES = (
    "return [...document.querySelectorAll('table[data-name=policies] tbody tr')].map(r => r.cells[1].textContent)"
)

# Of letters against the dots that they stand on.
ON_DOTS = f"""{CONTRASTS.partition("const behind")[0]}
return [...document.querySelectorAll('.dot')].map(dot => {{
  const fill = name => light(parsed(getComputedStyle(dot.querySelector(name)).fill));
  const [a, b] = [fill('.letter'), fill('.body')].sort((x, y) => y - x);
  return (a + .05) / (b + .05);
}})"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = sample(tmp_path_factory.mktemp("runs"))
    (folder / "report.html").write_text(make_report(read_contents(folder)), encoding="utf-8")
    return folder / "report.html"


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as window:
        yield window


@pytest.fixture
def opened(window: Browser, written: Path) -> Browser:
    window.resize(1600, 1200)
    window.prefer("light")
    window.open(written)
    return window


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1600])
def test_it_is_read_at_any_width_in_light_and_dark(opened: Browser, written: Path, width: int, scheme: str) -> None:
    opened.resize(width, 900)
    opened.prefer(scheme)
    opened.open(written)

    assert opened.run("return document.documentElement.scrollWidth") <= width
    contrasts = opened.run(CONTRASTS)
    # Letters stand on their dots, and not on the paper.
    del contrasts["text.letter"]
    assert {name: ratio for name, ratio in contrasts.items() if ratio < 4.5} == {}
    assert min(opened.run(ON_DOTS)) >= 4.5
    assert opened.run("return performance.getEntriesByType('resource').length") == 0
    assert opened.complaints() == []


def test_every_policy_has_a_dot_inside_the_picture(opened: Browser) -> None:
    outside = opened.run(
        "const room = document.querySelector('.scatter').getBoundingClientRect();"
        "return [...document.querySelectorAll('.dot .letter')].map(dot => dot.getBoundingClientRect()).map(box =>"
        "box.x > room.x - 12 && box.right < room.right + 12 && box.y > room.y - 12 && box.bottom < room.bottom + 12)"
    )

    assert outside == [True] * 5


def test_a_table_sorts_by_a_column_by_keyboard_and_back(opened: Browser) -> None:
    cheapest_first = opened.run(POLICIES)
    button = "document.querySelectorAll('table[data-name=policies] th button')[3]"
    opened.run(f"{button}.focus()")
    opened.press(ENTER)
    assert opened.run(POLICIES) == cheapest_first
    assert opened.run(f"return {button}.parentNode.getAttribute('aria-sort')") == "ascending"

    opened.press(ENTER)

    assert opened.run(POLICIES) == cheapest_first[::-1]


def test_a_table_is_had_as_csv_with_its_exact_values(opened: Browser) -> None:
    opened.run(
        "URL.createObjectURL = blob => { window.kept = blob; return '#'; };"
        "document.querySelector('table[data-name=policies]').parentNode.nextElementSibling.click()"
    )

    text = opened.run("return window.kept.text()")

    first, *rows = text.strip().split("\r\n")
    assert first.startswith("#,policy,runs,hours paid")
    assert [row.split(",")[1] for row in rows] == opened.run(POLICIES)
    assert 6.05 in [pytest.approx(float(row.split(",")[3])) for row in rows]


def test_a_dot_is_reached_by_tab_and_leads_to_its_row(opened: Browser) -> None:
    opened.press(TAB)
    assert "worker-hours" in opened.run("return document.activeElement.getAttribute('aria-label')")

    opened.press(ENTER)

    assert opened.run("return document.querySelector('tr:target') !== null")


def test_the_why_of_a_moment_is_read_under_the_pointer_and_by_keyboard(opened: Browser) -> None:
    why = "return document.querySelector('.run[open] .why').textContent"
    sentence = "40s  3 → 4: more arrives <b>than</b> four can do"
    x, y = opened.run(
        "const plot = document.querySelector('.run[open] .plot'); plot.scrollIntoView({block: 'center'});"
        "const box = plot.getBoundingClientRect(); return [box.x + box.width * 0.9, box.y + 20]"
    )
    opened.point(x, y)
    assert opened.run(why) == sentence

    opened.run("document.querySelector('.run[open] .why').textContent = ''; document.querySelector('.mark').focus()")

    assert opened.run(why) == sentence


def test_the_same_load_is_drawn_small_for_every_policy(opened: Browser) -> None:
    heights = opened.run(
        "return [...document.querySelectorAll('.multiple .plot')].map(plot => plot.getBoundingClientRect().height)"
    )

    assert len(heights) == 5
    assert min(heights) > 60

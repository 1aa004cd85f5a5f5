"""The page of a recorded run, opened from its file by a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from elastream.core.decision import Decision
from elastream.render.page.page import write_page
from tests.browser.driving import Browser, browser
from tests.unit.journal_samples import tick
from tests.unit.page_samples import calm, grown, kept, look, query, recording

pytestmark = pytest.mark.needs("browser")

TAB, ENTER, LEFT, RIGHT = "\ue004", "\ue007", "\ue012", "\ue014"
SHOWN = "return [...document.querySelectorAll('[data-value]')].map(slot => slot.textContent)"
# Of every text against the first background behind it that is not transparent.
CONTRASTS = """
const part = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const parsed = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
const behind = node => {
  for (; node; node = node.parentElement) {
    const colour = parsed(getComputedStyle(node).backgroundColor);
    if (colour.length === 3) return colour;
  }
  return [255, 255, 255];
};
const found = {};
for (const node of document.querySelectorAll('main *')) {
  if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())) continue;
  const style = getComputedStyle(node), ink = parsed(node.closest('svg') ? style.fill : style.color);
  const [a, b] = [light(ink), light(behind(node))].sort((x, y) => y - x);
  if (!['title', 'desc', 'script'].includes(node.localName))
    found[`${node.localName}.${node.getAttribute('class')}`] = (a + .05) / (b + .05);
}
return found"""


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as window:
        yield window


@pytest.fixture
def opened(window: Browser, tmp_path: Path) -> Browser:
    """A run that grows once, at a third of its time, and cannot be seen at its end."""
    grew = [*calm(range(1, 20)), grown(20, reason="more arrives than two executors can do")]
    after = [kept(n, look(5.0 * n, wanted=5, ready=5)) for n in range(21, 60)]
    blind = [tick(n, None, None, "no look: the driver does not answer") for n in range(60, 64)]
    write_page(recording([*grew, *after, *blind]), tmp_path / "page.html", notes=["capacity emulated"])
    window.resize(1200, 1400)
    window.prefer("light")
    # A pointer left over the page by the test before would move its cursor.
    window.point(1, 1)
    window.open(tmp_path / "page.html")
    return window


def middle(window: Browser, selector: str, share: float = 0.5) -> tuple[float, float]:
    x, y = window.run(
        f"const box = document.querySelector({selector!r}).getBoundingClientRect();"
        f"return [box.x + box.width * {share}, box.y + box.height / 2]"
    )
    return x, y


def test_it_opens_without_a_complaint_and_asks_for_nothing(opened: Browser) -> None:
    assert opened.run("return document.querySelector('h1').textContent") == "app-1 under by-arrival"
    assert opened.run("return performance.getEntriesByType('resource').length") == 0
    assert opened.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_light_and_in_dark(opened: Browser, scheme: str) -> None:
    opened.prefer(scheme)

    contrasts = opened.run(CONTRASTS)

    assert len(contrasts) > 15
    assert {name: ratio for name, ratio in contrasts.items() if ratio < 4.5} == {}


def test_light_and_dark_are_two_pages_and_print_is_always_light(opened: Browser) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = opened.run(paper)
    opened.prefer("dark")
    assert opened.run(paper) != light
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    opened.tell("Emulation.setEmulatedMedia", media="print", features=dark)
    assert opened.run(paper) == "rgb(255, 255, 255)"
    opened.tell("Emulation.setEmulatedMedia", media="")


@pytest.mark.parametrize("width", [320, 390, 800, 2400])
def test_it_fits_every_width(opened: Browser, width: int) -> None:
    opened.resize(width, 900)

    assert opened.run("return document.documentElement.scrollWidth") <= width


def test_all_strips_are_drawn_over_the_same_axis(opened: Browser) -> None:
    edges = opened.run(
        "return [...document.querySelectorAll('.plot, .lane, .times')].map(plot => {"
        "const box = plot.getBoundingClientRect(); return [box.left, box.right, box.height > 10]})"
    )

    assert len(edges) == 6
    assert all(edge == edges[0] for edge in edges)


def test_the_pointer_reads_all_strips_at_one_moment(opened: Browser) -> None:
    assert set(opened.run(SHOWN)) == {""}

    opened.point(*middle(opened, ".backlog .plot", share=0.508))

    assert opened.run(SHOWN) == ["100/s", "100/s", "50", "4 s", "0", "5", "5"]
    assert opened.run("return document.querySelector('.when').textContent") == "12:02:40"

    opened.point(*middle(opened, ".rate .plot", share=0.99))
    assert opened.run(SHOWN)[:5] == ["unknown"] * 5
    assert opened.run("return document.querySelector('.card').textContent") == "no look: the driver does not answer"


def test_the_keyboard_moves_the_cursor(opened: Browser) -> None:
    opened.run("document.querySelector('.stack').focus()")
    opened.press(LEFT)
    opened.press(LEFT)
    opened.press(RIGHT)

    assert opened.run("return document.querySelector('.when').textContent") == "12:05:10"
    assert "12:05:10, committed" in opened.run("return document.querySelector('.stack').getAttribute('aria-valuetext')")


def test_a_decision_is_reached_by_tab_and_tells_its_sentence(opened: Browser) -> None:
    opened.run("document.querySelector('.stack').focus()")
    opened.press(TAB)

    sentence = "12:01:40  executors 2 -> 5: more arrives than two executors can do. Ready after 5 s."
    assert opened.run("return document.activeElement.getAttribute('aria-label')") == sentence
    assert opened.run("return document.querySelector('.card').textContent") == sentence
    assert opened.run("return document.querySelector('.card').hidden") is False

    opened.press(ENTER)
    assert opened.run("return document.querySelector(':target .what').textContent") == "2 → 5"


def test_a_decision_tells_its_sentence_under_the_pointer_and_leads_to_its_row(opened: Browser) -> None:
    opened.point(*middle(opened, ".mark"))
    assert "2 -> 5" in opened.run("return document.querySelector('.card').textContent")

    opened.click()
    assert opened.run("return document.querySelector(':target .what').textContent") == "2 → 5"


def test_what_kept_the_size_is_shown_on_demand(opened: Browser) -> None:
    shown = "return getComputedStyle(document.querySelector('tr.keep')).display"
    assert opened.run(shown) == "none"

    opened.point(*middle(opened, "#kept"))
    opened.click()

    assert opened.run(shown) != "none"


def test_it_can_be_read_without_scripts(opened: Browser, tmp_path: Path) -> None:
    opened.tell("Emulation.setScriptExecutionDisabled", value=True)
    try:
        opened.open(tmp_path / "page.html")
        assert opened.run("return document.querySelector('.cursor')") is None
        assert "2 -> 5" in opened.run("return document.querySelector('.mark title').textContent")
        assert opened.run("return document.querySelector('.executors .plot').getBoundingClientRect().height") > 50
    finally:
        opened.tell("Emulation.setScriptExecutionDisabled", value=False)


def test_a_hostile_name_does_nothing(window: Browser, tmp_path: Path) -> None:
    hostile = (
        "</script></title></svg><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    )
    now = [look(5.0 * n, query(5.0 * n, name=hostile), query(5.0 * n, name="b" + hostile)) for n in range(1, 4)]
    grow = Decision(allocation={"executors": 4}, reason=hostile)
    ticks = [kept(1, now[0], hostile), tick(2, now[1], grow, hostile), tick(3, now[2], grow, hostile)]
    write_page(recording(ticks), tmp_path / "page.html", title=f"run {hostile}", notes=[hostile])

    window.resize(1200, 1400)
    window.open(tmp_path / "page.html")
    window.point(*middle(window, ".mark"))

    assert window.run("return document.title") == f"run {hostile}"
    assert hostile in window.run("return document.querySelector('.card').textContent")
    assert window.run("return document.querySelectorAll('img').length") == 0
    assert window.complaints() == []

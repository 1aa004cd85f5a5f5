"""The page of a run, opened by a real browser: from its file, and while the run goes on."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from elastream.core.control import Control
from elastream.core.decision import Decision, Json
from elastream.core.tick import Tick
from elastream.loop.control_desk import ControlDesk
from elastream.render.page.feed import PageFeed
from elastream.render.page.page import write_page
from elastream.service.place import PagePlace
from elastream.service.server import PageServer
from tests.browser.driving import Browser, browser
from tests.unit.journal_samples import UTC_S, header, planner, tick
from tests.unit.page_samples import calm, grown, kept, look, query, recording

pytestmark = pytest.mark.needs("browser")

TAB, ENTER, LEFT, RIGHT = "\ue004", "\ue007", "\ue012", "\ue014"
AXE = Path(__file__).parent / "axe" / "axe.min.js"
SHOWN = "return [...document.querySelectorAll('.legend b')].map(slot => slot.textContent)"
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


def ticks() -> list[Tick]:
    """A run that grows once, at a third of its time, and cannot be seen at its end."""
    grew = [*calm(range(1, 20)), grown(20, reason="more arrives than two executors can do")]
    after = [kept(n, look(5.0 * n, wanted=5, ready=5)) for n in range(21, 60)]
    return [*grew, *after, *(tick(n, None, None, "no look: the driver does not answer") for n in range(60, 64))]


def settle(window: Browser) -> None:
    window.resize(1200, 1400)
    window.prefer("light")
    # A pointer left over the page by the test before would move its cursor.
    window.point(1, 1)


@pytest.fixture
def opened(window: Browser, tmp_path: Path) -> Browser:
    write_page(recording(ticks()), tmp_path / "page.html", notes=["capacity emulated"])
    settle(window)
    window.open(tmp_path / "page.html")
    return window


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer(PageFeed()) as server:
        server.begin_run(header(planner()))
        for one in ticks()[:30]:
            server.write(one)
        yield server


@pytest.fixture
def watched(window: Browser, server: PageServer) -> Browser:
    """The same run while it goes on: half of its ticks were told."""
    settle(window)
    window.open(server.address)
    window.await_true("return page.store.now !== null")
    return window


def middle(window: Browser, selector: str, share: float = 0.5) -> tuple[float, float]:
    x, y = window.run(
        f"const box = document.querySelector({selector!r}).getBoundingClientRect();"
        f"return [box.x + box.width * {share}, box.y + box.height / 2]"
    )
    return x, y


def text(window: Browser, selector: str) -> str:
    found: str = window.run(f"return document.querySelector({selector!r}).textContent")
    return found


def find_violations(window: Browser) -> list[str]:
    """What axe finds that keeps people from reading or using the page."""
    window.run(f"{AXE.read_text(encoding='utf-8')}; window.axe = axe")
    found = window.await_value("const done = arguments[arguments.length - 1]; axe.run().then(done)")
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {[node['html'][:120] for node in one['nodes']][:3]}" for one in serious]


def test_a_file_opens_without_a_complaint_and_asks_for_nothing(opened: Browser) -> None:
    assert text(opened, "h1") == "app-1 under by-arrival"
    assert text(opened, "#notes") == "capacity emulated"
    assert opened.run("return performance.getEntriesByType('resource').length") == 0
    assert opened.complaints() == []


def test_what_is_served_opens_without_a_complaint_and_asks_nobody_else(watched: Browser) -> None:
    asked = watched.run("return performance.getEntriesByType('resource').map(one => new URL(one.name).host)")

    assert set(asked) == {watched.run("return location.host")}
    assert watched.complaints() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_light_and_in_dark(opened: Browser, scheme: str) -> None:
    opened.prefer(scheme)

    contrasts = opened.run(CONTRASTS)

    assert len(contrasts) > 15
    assert {name: ratio for name, ratio in contrasts.items() if ratio < 4.5} == {}


def test_nobody_is_kept_out(watched: Browser) -> None:
    assert find_violations(watched) == []
    watched.prefer("dark")
    assert find_violations(watched) == []


@pytest.mark.parametrize("width", [320, 390, 800, 1600])
def test_it_fits_every_width(opened: Browser, width: int) -> None:
    opened.resize(width, 900)

    assert opened.run("return document.documentElement.scrollWidth") <= width


def test_all_strips_are_drawn_over_the_same_axis(opened: Browser) -> None:
    edges = opened.run(
        "return [...document.querySelectorAll('.u-over')].map(plot => {"
        "const box = plot.getBoundingClientRect(); return [box.left, box.right, box.height > 50]})"
    )

    assert len(edges) == 4
    assert all(edge == edges[0] for edge in edges)


def test_the_pointer_reads_all_strips_at_one_moment(opened: Browser) -> None:
    opened.point(*middle(opened, "#plot-backlog .u-over", share=0.508))

    assert opened.run(SHOWN) == ["100/s", "100/s", "?", "?", "?", "50", "?", "?", "4 s", "0", "5", "5", "5"]
    assert text(opened, "#cursor-time") == "2026-01-01 12:02:40"
    assert len({round(left) for left in opened.run("return page.strips.cursor")}) == 1

    opened.point(*middle(opened, "#plot-rate .u-over", share=0.99))
    assert text(opened, "#wrong") == "no look: the driver does not answer"


def test_what_is_expected_is_drawn_over_the_time_that_it_is_for(window: Browser, tmp_path: Path) -> None:
    one = recording([foreseen(n, 100.0 + n) for n in range(1, 61)])
    (part,) = one.parts
    ahead = replace(part, header=replace(part.header, policy_settings={"ahead_s": 60.0}))
    write_page(replace(one, parts=(ahead,)), tmp_path / "page.html")
    settle(window)
    window.open(tmp_path / "page.html")

    assert window.run("return page.strips.range[1] - page.store.last") == 60
    assert read_ahead(window, "now") == pytest.approx([295, 355, 128, 192], abs=2)
    assert read_ahead(window, "then") is None
    window.point(*middle(window, "#plot-rate .u-over", share=100 / 355))
    assert read_ahead(window, "then") == pytest.approx([100, 160, 97, 145], abs=2)
    window.point(1, 1)
    assert read_ahead(window, "then") is None
    assert window.complaints() == []


def read_ahead(window: Browser, kind: str) -> list[int] | None:
    """What is drawn ahead: from and until when, in seconds since the first moment, and between what rates."""
    found: list[int] | None = window.run(
        f"const box = document.querySelector('.ahead.{kind}'); if (!box || box.hidden) return null;"
        "const u = page.strips.rate, plot = u.over.getBoundingClientRect(), found = box.getBoundingClientRect();"
        "const x = at => Math.round(u.posToVal(at - plot.left, 'x') - page.store.first);"
        "const y = at => Math.round(u.posToVal(at - plot.top, 'y'));"
        "return [x(found.left), x(found.right), y(found.bottom), y(found.top)]"
    )
    return found


def foreseen(number: int, rps: float) -> Tick:
    """A tick on which a policy expects so much."""
    told: dict[str, Json] = {
        "clicks/expected_rps": rps, "clicks/expected_low_rps": 0.8 * rps, "clicks/expected_high_rps": 1.2 * rps
    }  # fmt: skip
    now = look(5.0 * number)
    return tick(number, now, Decision.keep(now, "as expected", told))


def test_the_keyboard_moves_the_cursor_and_the_window(opened: Browser) -> None:
    opened.run("document.querySelector('#stack').focus()")
    for key in (LEFT, LEFT, RIGHT):
        opened.press(key)
    assert text(opened, "#cursor-time") == "2026-01-01 12:05:15"

    whole = opened.run("return page.strips.range")
    opened.press("+")
    closer = opened.run("return page.strips.range")
    assert whole[0] < closer[0] < closer[1] < whole[1]


def test_a_drag_zooms_and_a_button_shows_all_again(opened: Browser) -> None:
    whole = opened.run("return page.strips.range")
    (left, y), (right, _) = (middle(opened, "#plot-rate .u-over", share=share) for share in (0.25, 0.5))

    opened.drag(left, y, right, y)

    closer = opened.run("return page.strips.range")
    assert closer[1] - closer[0] == pytest.approx((whole[1] - whole[0]) / 4, rel=0.05)
    opened.run("document.querySelector('[data-span=all]').click()")
    assert opened.run("return page.strips.range") == whole


def test_a_decision_tells_its_sentence_to_the_pointer_and_to_the_keyboard(opened: Browser) -> None:
    sentence = "12:01:40  2 → 5: more arrives than two executors can do"
    opened.point(*middle(opened, ".mark"))
    assert text(opened, "#card") == sentence

    opened.point(1, 1)
    opened.run("document.querySelector('.mark').focus()")
    assert text(opened, "#card") == sentence
    assert opened.run("return document.querySelector('#card').hidden") is False
    assert opened.run("return document.activeElement.getAttribute('aria-label')") == sentence


def test_what_kept_the_size_is_shown_on_demand(opened: Browser) -> None:
    shown = "return getComputedStyle(document.querySelector('tr.keep')).display"
    assert opened.run(shown) == "none"

    opened.run("document.querySelector('#kept').click()")

    assert opened.run(shown) != "none"


def test_the_present_numbers_are_large_enough_to_be_read_across_a_room(watched: Browser) -> None:
    sizes = watched.run(
        "return [...document.querySelectorAll('#now .number')].map(n => parseFloat(getComputedStyle(n).fontSize))"
    )

    assert len(sizes) == 5
    assert min(sizes) >= 36


def test_strips_move_while_the_run_goes_on(watched: Browser, server: PageServer) -> None:
    assert text(watched, "#now-ready") == "5"
    before = watched.run("return page.store.last")

    for one in ticks()[30:]:
        server.write(one)

    watched.await_true("return document.querySelector('#state').textContent === 'cannot see'")
    assert watched.run("return page.store.last") > before
    assert watched.run("return page.strips.range[1]") == watched.run("return page.store.last")


def test_a_page_that_is_loaded_anew_lacks_nothing(watched: Browser, server: PageServer) -> None:
    for one in ticks()[30:40]:
        server.write(one)
    watched.open(server.address)
    watched.await_true("return page.store.columns[0].length === 40")

    assert watched.run("return page.store.first") == UTC_S + 5.0


def test_at_the_end_the_page_stays_and_says_so(watched: Browser, server: PageServer) -> None:
    server.close()

    watched.await_true("return document.querySelector('#state').textContent === 'ended'")
    assert text(watched, "#now-ready") == "5"


@pytest.mark.parametrize("how", ["file", "served"])
def test_a_hostile_name_does_nothing(window: Browser, tmp_path: Path, how: str) -> None:
    hostile = (
        "</script></title></svg><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    )
    now = [look(5.0 * n, query(5.0 * n, name=hostile), query(5.0 * n, name="b" + hostile)) for n in range(1, 4)]
    grow = Decision(allocation={"executors": 4}, reason=hostile)
    told = [kept(1, now[0], hostile), tick(2, now[1], grow, hostile), tick(3, now[2], grow, hostile)]
    settle(window)

    def check() -> None:
        assert window.run("return document.title") == f"run {hostile}"
        window.point(*middle(window, ".mark"))
        assert hostile in text(window, "#card")
        assert hostile in text(window, "#queries")
        assert window.run("return document.querySelectorAll('img').length") == 0
        assert window.complaints() == []

    if how == "file":
        write_page(recording(told), tmp_path / "page.html", title=f"run {hostile}", notes=[hostile])
        window.open(tmp_path / "page.html")
        check()
        return
    with PageServer(PageFeed(title=f"run {hostile}", notes=[hostile])) as server:
        server.begin_run(header(planner()))
        for one in told:
            server.write(one)
        window.open(server.address)
        window.await_true("return page.store.now !== null && document.querySelector('.mark') !== null")
        check()


@pytest.fixture
def desk() -> ControlDesk:
    return ControlDesk()


@pytest.fixture
def controlled(window: Browser, tmp_path: Path, desk: ControlDesk) -> Iterator[Browser]:
    """A page that somebody with the token may control."""
    with PageServer(PageFeed(), place=PagePlace(token=tmp_path / "token"), desk=desk) as server:
        server.begin_run(header(planner()))
        for one in ticks()[:30]:
            server.write(one)
        settle(window)
        window.open(server.address)
        window.await_true("return page.store.now !== null && !document.querySelector('#sign-in').hidden")
        yield window


def type_in(window: Browser, text: str) -> None:
    for key in text:
        window.press(key)


def test_with_the_token_and_the_keyboard_alone_a_run_is_paused(
    controlled: Browser, tmp_path: Path, desk: ControlDesk
) -> None:
    controlled.run("document.querySelector('#token').focus()")
    type_in(controlled, (tmp_path / "token").read_text().strip())
    controlled.press(ENTER)
    controlled.await_true("return document.activeElement.id === 'do-pause'")
    controlled.press(ENTER)
    controlled.await_true("return document.querySelector('#control-said').textContent.includes('asks: pause')")

    assert desk.wanted == Control(mode="paused")
    assert controlled.run("return document.cookie") == ""
    assert controlled.run("return document.querySelector('#token').value") == ""
    assert find_violations(controlled) == []
    assert controlled.complaints() == []


def test_without_the_token_nothing_can_be_asked(controlled: Browser, desk: ControlDesk) -> None:
    controlled.run("document.querySelector('#token').focus()")
    type_in(controlled, "guessed" + ENTER)
    controlled.await_true("return document.querySelector('#control-said').textContent === 'this is not the token'")
    status = controlled.await_value(
        "const done = arguments[arguments.length - 1];"
        "fetch('control', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{\"do\":\"pause\"}'})"
        ".then(answer => done(answer.status))"
    )

    assert status == 401
    assert controlled.run("return document.querySelector('#actions').hidden")
    assert desk.wanted == Control()
    assert any("401" in complaint for complaint in controlled.complaints())

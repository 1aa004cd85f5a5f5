"""What a page is told of a run, tick by tick."""

import json
from dataclasses import replace

import pytest

from elastream.core.decision import Adjustment, Decision
from elastream.core.tick import Tick
from elastream.render.page.feed import FeedMessage, FeedPlace, PageFeed, parse_place
from elastream.render.page.moment import find_state
from tests.unit.journal_samples import UTC_S, header, planner, tick
from tests.unit.page_samples import calm, grown, kept, look, query


def begun(*, run_s: float = 0.0, keep: int = 1000) -> PageFeed:
    feed = PageFeed(keep=keep)
    feed.begin(header(planner(), utc_s=UTC_S + run_s))
    return feed


def moments(messages: list[FeedMessage]) -> list[float]:
    return [row[0] - UTC_S for one in messages if one.kind == "ticks" for row in json.loads(one.data)]


def test_who_comes_is_told_what_runs_before_anything_else() -> None:
    feed = begun()
    for one in calm(range(1, 4)):
        feed.update(one)

    messages = list(feed.since(None))

    assert [one.kind for one in messages] == ["run", "ticks", "lines", "spans", "summary", "now"]
    assert moments(messages) == [5, 10, 15]


def test_who_comes_back_is_told_what_came_since_and_nothing_twice() -> None:
    feed = begun()
    places = [one.place for tick in calm(range(1, 7)) for one in feed.update(tick) if one.place is not None]

    assert moments(list(feed.since(places[2]))) == [20, 25, 30]
    assert moments(list(feed.since(places[-1]))) == []


def test_who_was_there_before_a_restart_misses_nothing_of_the_run_after_it() -> None:
    before, after = begun(), begun()
    seen = [one.place for tick in calm(range(1, 4)) for one in before.update(tick)][-1] or FeedPlace("", 0)
    seen = [one.place for tick in calm(range(4, 5)) for one in before.update(tick) if one.place][-1]
    # The new driver reads the journal of the run before it, and then its own run begins.
    for one in calm(range(1, 5)):
        after.update(one)
    after.begin(header(planner(), utc_s=UTC_S + 60.0))
    for one in calm(range(20, 22)):
        after.update(replace(one, number=one.number - 19))

    # The moment at which nobody looked any more stands between the two.
    assert moments(list(after.since(seen))) == [25, 100, 105]


@pytest.mark.parametrize("text", ["", "x", "/", "a/", "/5", "a/-1", "a/1.5", "a/" + "9" * 30, "a/²", "\x00/1/"])
def test_a_place_that_is_none_of_ours_is_none(text: str) -> None:
    assert parse_place(text) is None


def test_a_place_survives_being_written() -> None:
    place = FeedPlace("2026-01-01T12:00:00.000+00:00", 17)
    assert parse_place(str(place)) == place


def test_what_is_kept_is_bounded_however_long_a_run_lasts() -> None:
    feed = begun(keep=50)
    for number in range(1, 1400):
        feed.update(kept(number, look(5.0 * number, query(5.0 * number, name=f"q{number}"))))

    assert len(moments(list(feed.since(None)))) == 50
    assert len(feed.series.at) <= 50 + 1000
    assert len(feed.series.names) <= 50 + 1000


def test_a_line_that_goes_on_is_told_again_under_the_same_name() -> None:
    feed = begun()
    told = [
        json.loads(one.data)
        for tick in [grown(1), *calm(range(2, 5))]
        for one in feed.update(tick)
        if one.kind == "lines"
    ]

    names = [line["id"] for lines in told for line in lines if line["what"] == "keep"]
    assert len(set(names)) == 1 < len(names)
    assert told[0][0]["what"] == "start"


def test_numbers_of_evidence_that_are_none_do_not_end_the_stream() -> None:
    now = look(5.0)
    decision = replace(Decision.keep(now, "x"), evidence={"cost": float("nan"), "of": [1.0, float("inf")]})

    (told,) = (one for one in begun().update(tick(1, now, decision)) if one.kind == "now")

    assert json.loads(told.data)["evidence"] == {"cost": None}


def _paused(mode: str) -> Tick:
    now = look(5.0)
    note = Adjustment(guard="pause", pool="executors", before=5, after=2, reason=f"{mode}: would have changed 2 -> 5")
    return tick(1, now, replace(Decision(allocation={"executors": 2}, reason="x"), adjustments=(note,)))


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (calm([1])[0], "watching"),
        (grown(1), "scaling"),
        (kept(1, look(5.0, wanted=5)), "scaling"),
        (kept(1, look(5.0), "apply failed: no room"), "degraded"),
        (tick(1, None, None, "no look"), "blind"),
        (_paused("paused"), "paused"),
        (_paused("dry-run"), "dry run"),
    ],
)
def test_the_loop_has_a_state(seen: Tick, state: str) -> None:
    assert find_state(seen) == state

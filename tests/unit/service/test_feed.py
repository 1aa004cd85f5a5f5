"""What a page is told of a run, tick by tick."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from elastream.core.control import Control, Intervention
from elastream.core.decision import Adjustment, Decision, Json
from elastream.core.observation import FinishedBatch, Trigger
from elastream.core.tick import Tick
from elastream.loop.control_desk import put_under
from elastream.render.page import feed as page_feed
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


def _unanswered() -> Tick:
    """A log that does not answer, so that nobody can decide."""
    now = look(5.0)
    source = replace(now.queries[0].sources[0], arrived=None, problem="Kafka gives no answer")
    now = replace(now, queries=(replace(now.queries[0], sources=(source,)),))
    return tick(1, now, Decision.hold(now, "backlog of clicks is not known"))


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
        (_unanswered(), "degraded"),
        (_paused("paused"), "paused"),
        (_paused("dry-run"), "dry run"),
    ],
)
def test_the_loop_has_a_state(seen: Tick, state: str) -> None:
    assert find_state(seen) == state


def _grown_by(evidence: Mapping[str, Json], *, at: int = 1, to: int = 5, wanted: int = 2) -> Tick:
    now = look(5.0 * at, wanted=wanted, ready=wanted)
    return tick(at, now, Decision(allocation={"executors": to}, reason="more", evidence=evidence, note={"hope": 1}))


def test_a_run_is_summed_up_once_what_waits_was_taken_in() -> None:
    feed = begun()
    kinds = [[one.kind for one in feed.update(tick, is_behind=tick.number < 40)] for tick in calm(range(1, 41))]

    assert [number for number, told in enumerate(kinds, 1) if "summary" in told] == [40]
    behind = begun()
    for one in calm(range(1, 41)):
        behind.update(one, is_behind=True)
    (summary,) = [one for one in behind.since(None) if one.kind == "summary"]
    assert json.loads(summary.data)["tiles"]


def test_what_is_expected_to_arrive_is_told_with_its_band() -> None:
    told = {"clicks/expected_rps": 150.0, "clicks/expected_low_rps": 120.0, "clicks/expected_high_rps": 190.0}
    (row,) = json.loads(begun().update(_grown_by(told))[0].data)
    assert row[-1] == [150, 120, 190]

    (most_only,) = json.loads(begun().update(_grown_by({"forecast_max_rps/executors": 180.0}))[0].data)
    assert most_only[-1] == [None, None, 180]

    (nothing,) = json.loads(begun().update(_grown_by({"clicks/expected_rps": True}))[0].data)
    assert len(nothing) == 11


def test_a_change_tells_what_was_expected_of_it_and_what_came_of_it() -> None:
    feed = begun()
    stale: dict[str, Json] = {"clicks/effect_workers": 5, "clicks/effect_expected_s": 9.0, "clicks/effect_took_s": 8.0}
    news: dict[str, Json] = {"clicks/effect_workers": 5, "clicks/effect_expected_s": 3.0, "clicks/effect_took_s": 4.5}
    feed.update(_grown_by(stale))
    for number, evidence in ((2, stale), (3, news), (4, news)):
        now = look(5.0 * number, wanted=5, ready=5)
        feed.update(tick(number, now, Decision.keep(now, "right", evidence)))

    lines = [line for one in feed.since(None) if one.kind == "lines" for line in json.loads(one.data)]
    (change,) = [line for line in lines if line["what"] == "change"]
    assert change["effects"] == [["clicks", "s a batch", 3.0, 4.5]]
    assert change["ready_after_s"] == 5.0


def test_what_somebody_asked_is_a_line_of_its_own_and_stands_in_the_present() -> None:
    feed = begun()
    (one,) = calm([1])
    asked = Intervention(asked="dry-run", who="<b>alice</b> at 127.0.0.1", utc_s=UTC_S)
    assert one.observation is not None
    feed.update(replace(one, interventions=(asked,), observation=put_under(one.observation, Control(mode="dry-run"))))

    told = {kind: json.loads(data) for kind, data, _ in feed.since(None)}
    assert [line["reason"] for line in told["lines"] if line["what"] == "asked"] == [
        "<b>alice</b> at 127.0.0.1 asks: dry run"
    ]
    assert (told["now"]["state"], told["now"]["control"]["mode"]) == ("dry run", "dry-run")


def test_what_executors_could_do_is_told_beside_what_they_have_done() -> None:
    feed = begun()
    rows = [1000.0, 4000.0, 2000.0, 3000.0, 500.0, 3500.0]
    for number, came in enumerate(rows, start=1):
        now = look(5.0 * number)
        batch = FinishedBatch(
            id=number, started_s=5.0 * number - 4, ended_s=5.0 * number, rows=came, busy_s=1 + came / 1000, driver_s=0.5
        )
        trigger = Trigger(interval_s=5.0)
        now = replace(now, queries=(replace(now.queries[0], finished=batch, trigger=trigger),))
        feed.update(kept(number, now))

    (told,) = [json.loads(one.data)["queries"] for one in feed.since(None) if one.kind == "now"]
    fit = dict(map(tuple, told[0]["fit"]))
    # Two slots an executor, 4.5 s of them between two triggers; a batch costs one second and each record a thousandth.
    assert fit[1] == pytest.approx((4.5 * 2 - 1) * 1000 / 5, rel=0.01)
    assert fit[2] == pytest.approx((4.5 * 4 - 1) * 1000 / 5, rel=0.01)
    # Beyond what batches of that kind have told there is no line.
    assert 20 not in fit


def test_a_long_past_is_told_in_pieces_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_feed, "_PER_MESSAGE", 4)
    feed = begun()
    for one in calm(range(1, 11)):
        feed.update(one)

    place, found = None, []
    for number, message in enumerate(feed.catch_up(None)):
        found += moments([message])
        place = message.place or place
        # What comes while somebody reads is told too.
        feed.update(calm([11 + number])[0])
    found += moments(list(feed.since(place)))

    assert found == [5.0 * n for n in range(1, 15)]

"""Between the loop and those who look on."""

from elastream.render.page.feed import PageFeed
from elastream.service.hub import FOLD_AFTER_S, MOST_UNREAD, MOST_WAITING, Hub
from tests.unit.journal_samples import header, planner
from tests.unit.page_samples import calm


def begun() -> Hub:
    hub = Hub(PageFeed())
    hub.begin_run(header(planner()))
    hub.pump()
    return hub


def test_ticks_that_nobody_takes_are_left_out_and_counted() -> None:
    hub = begun()

    for one in calm(range(1, MOST_WAITING + 10)):
        hub.write(one)

    assert hub.dropped == 9


def test_a_tick_is_folded_once_the_loop_no_longer_needs_the_interpreter_and_what_may_wait_hurries_it() -> None:
    hub, woken = begun(), list[float]()
    hub.wake_by(woken.append)

    hub.write(calm([1])[0])
    hub.hurry()
    hub.close()

    assert woken == [FOLD_AFTER_S, 0.0, 0.0]
    assert FOLD_AFTER_S > 0


def test_a_viewer_is_told_what_there_was_and_then_what_comes() -> None:
    hub = begun()
    hub.write(calm([1])[0])
    hub.pump()

    with hub.follow(None) as (there, viewer):
        hub.write(calm([2])[0])
        hub.pump()
        came = viewer.waiting.get_nowait()

    assert [one.kind for one in there][:2] == ["run", "ticks"]
    assert came is not None
    assert came.kind == "ticks"
    assert not hub.viewers


def test_a_viewer_who_does_not_read_is_let_go_and_the_others_stay() -> None:
    hub = begun()

    with hub.follow(None) as (_, slow), hub.follow(None) as (_, fast):
        for one in calm(range(1, MOST_UNREAD)):
            hub.write(one)
            hub.pump()
            while not fast.waiting.empty():
                fast.waiting.get_nowait()

        assert hub.viewers == {fast}
        assert slow.is_slow
        assert slow.waiting.get_nowait() is None
        assert slow.waiting.empty()


def test_at_the_end_everybody_is_told_so_and_who_comes_later_too() -> None:
    hub = begun()

    with hub.follow(None) as (_, viewer):
        hub.close()
        hub.pump()
        assert viewer.waiting.get_nowait() is None
        assert not viewer.is_slow
    with hub.follow(None) as (_, later):
        assert later.waiting.get_nowait() is None


def test_a_tick_that_cannot_be_shown_is_told_once_and_ends_nothing() -> None:
    hub = Hub(PageFeed())
    with hub.follow(None) as (_, viewer):
        # No run was begun, so that no tick can be told.
        for one in calm([1, 2]):
            hub.write(one)
        hub.pump()
        hub.begin_run(header(planner()))
        hub.write(calm([3])[0])
        hub.pump()

        assert viewer.waiting.get_nowait() is not None

import gc
import logging
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import ApplyFailed, CannotRun, ObservationFailed
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Reading
from elastream.core.protocols import Forgetful, Journal
from elastream.core.signals import Signal
from elastream.core.tick import Tick
from elastream.loop.clock import VirtualClock
from elastream.loop.controller import Controller, checked
from elastream.loop.planner import Planner
from elastream.testing import FakeJournal, FakePlatform, ManualClock, observation, query, size


@dataclass
class Wants(Forgetful):
    """A policy that wants so many, or fails."""

    workers: int = 7
    fails: bool = False
    interval_s: float = 5.0
    needs: tuple[Need, ...] = (Need(Signal.ARRIVED),)

    def decide(self, now: Observation, known: Knowledge, memory: None) -> Decision:
        if self.fails:
            raise ZeroDivisionError("no arrivals")
        return Decision(allocation={pool.name: self.workers for pool in now.pools}, reason="wants them")


class Loop:
    """A controller with everything around it, ticking every 5 s."""

    def __init__(self, *journals: Journal) -> None:
        self.clock = ManualClock(utc_s=1_000_000.0)
        self.world = FakePlatform(self.clock)
        self.policy = Wants()
        self.planner = Planner(self.policy, {}, self.world.provides)
        self.controller = Controller(
            platform=self.world, planner=self.planner, clock=self.clock, tick_s=5.0, journals=journals
        )

    def tick(self) -> Tick:
        self.clock.advance(5.0)
        return self.controller.tick()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}
    return [record.getMessage() for record in caplog.records]


def test_the_loop_ends_when_the_platform_says_that_the_application_has() -> None:
    diary = FakeJournal()
    loop = Loop(diary)
    loop.world.ends_s = 12.0
    loop.controller.run()
    assert [tick.at_s for tick in diary.ticks] == [0.0, 5.0, 10.0]
    assert loop.controller.last == diary.ticks[-1]


def test_a_platform_that_cannot_say_whether_it_has_ended_goes_on() -> None:
    diary = FakeJournal()
    loop = Loop(diary)
    loop.world.mute = ConnectionError("no answer")
    loop.controller.run(until_s=10.0)
    assert len(diary.ticks) == 3


def test_a_tick_looks_decides_applies_and_tells() -> None:
    diary = FakeJournal()
    loop = Loop(diary)
    tick = loop.tick()
    assert loop.world.applied == [tick.decision]
    assert diary.ticks == [tick]
    assert tick.decision is not None
    assert size(tick.decision) == 7
    assert (tick.number, tick.at_s, tick.utc_s, tick.troubles) == (1, 5.0, 1_000_005.0, ())
    assert tick.observation == observation(5.0, ready=3)


def test_the_whole_target_is_applied_on_every_tick_also_when_nothing_changes() -> None:
    loop = Loop()
    for _ in range(5):
        loop.tick()
    assert [dict(decision.allocation) for decision in loop.world.applied] == [{"executors": 7}] * 5


def test_an_action_that_was_lost_is_stated_again() -> None:
    loop = Loop()
    loop.tick()
    loop.world.wanted = 3
    loop.tick()
    assert loop.world.wanted == 7


def test_the_loop_ticks_by_the_clock_until_a_time_and_no_longer() -> None:
    diary = FakeJournal()
    loop = Loop(diary)
    loop.controller.run(until_s=20.0)
    assert [tick.at_s for tick in diary.ticks] == [0.0, 5.0, 10.0, 15.0, 20.0]
    assert loop.clock.now_s() == 20.0


def test_ticks_that_were_missed_are_not_made_up_for() -> None:
    diary = FakeJournal()
    loop = Loop(diary)

    def slow() -> Observation:
        if loop.clock.now_s() == 5.0:
            loop.clock.sleep_until(33.0)
        return observation(loop.clock.now_s())

    loop.world.look = slow
    loop.controller.run(until_s=50.0)
    # Late by 28 s, it ticks once for all that was missed, and goes on after a whole interval.
    assert [tick.at_s for tick in diary.ticks] == [0.0, 33.0, 38.0, 43.0, 48.0]


def test_ticks_that_overrun_leave_half_of_the_time_to_others_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    diary = FakeJournal()
    loop = Loop(diary)
    began: list[float] = []

    def slow() -> Observation:
        began.append(loop.clock.now_s())
        if loop.clock.now_s() < 150.0:
            loop.clock.sleep_until(loop.clock.now_s() + 12.0)
        return observation(loop.clock.now_s())

    loop.world.look = slow
    loop.controller.run(until_s=200.0)
    # Rests of 5, 10, 12, 12 ... seconds after ticks of 12; of 5 less what a tick took when all is well again.
    assert began[:5] == [0.0, 17.0, 39.0, 63.0, 87.0]
    assert began[-3:] == [189.0, 194.0, 199.0]
    assert told(caplog) == [
        "a tick took 12.0 s, longer than the 5 s between two: looks less often",
        "all is well again",
    ]
    assert diary.ticks[-1].troubles == ()


def test_ticks_that_are_late_again_begin_with_a_short_rest_as_the_first_ones_did() -> None:
    loop = Loop()
    began: list[float] = []

    def slow() -> Observation:
        began.append(loop.clock.now_s())
        if not 60.0 <= began[-1] < 100.0:
            loop.clock.sleep_until(began[-1] + 12.0)
        return observation(loop.clock.now_s())

    loop.world.look = slow
    loop.controller.run(until_s=130.0)
    assert began == [0.0, 17.0, 39.0, *(63.0 + 5.0 * number for number in range(9)), 120.0]


def test_a_machine_that_was_asleep_is_looked_at_once_for_all_that_was_missed() -> None:
    class Sleeper(ManualClock):
        def sleep_until(self, at_s: float) -> None:
            super().sleep_until(600.0 if at_s == 10.0 else at_s)

    diary = FakeJournal()
    loop = Loop(diary)
    loop.controller.clock = loop.world.clock = Sleeper()
    loop.controller.run(until_s=610.0)
    assert [tick.at_s for tick in diary.ticks] == [0.0, 5.0, 600.0, 605.0, 610.0]


def test_a_tick_that_hangs_for_minutes_is_followed_by_a_look_within_one() -> None:
    diary = FakeJournal()
    loop = Loop(diary)

    def slow() -> Observation:
        loop.clock.sleep_until(loop.clock.now_s() + 600.0)
        return observation(loop.clock.now_s())

    loop.world.look = slow
    loop.controller.run(until_s=10_000.0)
    ends = [tick.at_s for tick in diary.ticks]
    assert max(later - earlier for earlier, later in pairwise(ends)) == 660.0


def test_a_loop_that_is_stopped_ends_after_the_present_tick() -> None:
    class Stops(FakeJournal):
        def write(self, tick: Tick) -> None:
            super().write(tick)
            if tick.number == 3:
                loop.controller.stop()

    diary = Stops()
    loop = Loop(diary)
    loop.controller.run()
    assert len(diary.ticks) == 3
    assert loop.clock.now_s() == 10.0


def test_a_loop_that_is_stopped_while_it_sleeps_does_not_tick_again() -> None:
    diary = FakeJournal()
    loop = Loop(diary)

    class Sleeper(VirtualClock):
        def sleep_until(self, at_s: float) -> None:
            super().sleep_until(at_s)
            if at_s >= 10.0:
                loop.controller.stop()

    loop.controller.clock = loop.world.clock = Sleeper()
    loop.controller.run()
    assert [tick.at_s for tick in diary.ticks] == [0.0, 5.0]


def test_a_platform_that_cannot_be_looked_at_holds_is_told_once_and_recovers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = Loop()
    loop.tick()
    loop.world.blind = ObservationFailed("connection refused")
    for _ in range(3):
        tick = loop.tick()
        assert tick.observation is None
        assert tick.troubles == ("no look at fake: connection refused",)
        assert tick.decision is not None
        assert tick.decision.kind == "hold"
        assert size(tick.decision) == 7
    loop.world.blind = None
    assert loop.tick().troubles == ()
    loop.tick()
    assert told(caplog) == ["no look at fake: connection refused", "all is well again"]


def test_before_the_first_look_nothing_is_decided_or_applied() -> None:
    loop = Loop()
    loop.world.blind = RuntimeError("not yet")
    tick = loop.tick()
    assert tick.decision is None
    assert loop.world.applied == []
    loop.world.blind = None
    assert loop.tick().decision is not None


def test_what_was_decided_before_a_restart_is_not_stated_again_before_the_first_look() -> None:
    before, after = Loop(), Loop()
    before.tick()
    after.planner.restore(before.planner.snapshot())
    after.world.blind = ObservationFailed("not yet")
    assert after.tick().decision is None
    assert after.world.applied == []


def test_an_action_that_was_lost_is_stated_again_even_while_nothing_is_seen() -> None:
    loop = Loop()
    loop.world.deaf = ApplyFailed("busy")
    loop.tick()
    loop.world.deaf, loop.world.blind = None, ObservationFailed("busy")
    loop.tick()
    assert loop.world.wanted == 7


def test_the_same_look_again_makes_the_loop_hold_and_say_so(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    same = observation(5.0, ready=3)
    loop.world.look = lambda: same
    loop.tick()
    for _ in range(3):
        tick = loop.tick()
        assert tick.observation is None
        assert tick.decision is not None
        assert tick.decision.kind == "hold"
    assert told(caplog) == ["no look at fake: time stands still: this look is of 5.0 s, the last of 5.0 s"]
    loop.world.look = None
    assert loop.tick().troubles == ()


def test_a_clock_that_stands_still_is_noticed() -> None:
    loop = Loop()
    loop.controller.tick()
    tick = loop.controller.tick()
    assert "time stands still" in tick.troubles[0]


def test_a_look_that_is_too_old_is_refused_and_told_once_though_it_gets_older(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = Loop()
    looks = iter(range(100))
    loop.world.look = lambda: observation(next(looks) / 100)
    for _ in range(7):
        loop.tick()
    assert told(caplog) == ["no look at fake: the look is 20.0 s old; at most 15 s are allowed"]


def test_a_look_from_another_clock_is_refused() -> None:
    loop = Loop()
    loop.world.look = lambda: observation(loop.clock.now_s() + 3600)
    assert loop.tick().troubles == ("no look at fake: the look is 3600.0 s ahead: the platform has another clock",)
    loop.world.look = None
    assert loop.tick().troubles == ()


def test_the_age_that_is_allowed_can_be_set() -> None:
    loop = Loop()
    strict = Controller(platform=loop.world, planner=loop.planner, clock=loop.clock, tick_s=5.0, max_age_s=1.0)
    loop.clock.sleep_until(10.0)
    loop.world.look = lambda: observation(8.0)
    assert "at most 1 s are allowed" in strict.tick().troubles[0]


def test_a_policy_sees_only_what_is_credible() -> None:
    loop = Loop()
    loop.clock.sleep_until(100.0)
    loop.world.look = lambda: observation(loop.clock.now_s(), queries=(query(50.0, arrived=5, committed=0),))
    tick = loop.tick()
    assert tick.observation is not None
    assert tick.observation.queries[0].sources[0].arrived is None
    loop.world.look = lambda: observation(loop.clock.now_s(), queries=(query(105.0, arrived=0, committed=0),))
    tick = loop.tick()
    assert tick.observation is not None
    assert tick.observation.queries[0].sources[0].arrived == Reading(0, 105.0)


def test_a_look_that_cannot_be_is_no_look() -> None:
    loop = Loop()
    loop.world.look = lambda: observation(loop.clock.now_s(), ready=-1, wanted=3)
    assert "impossible sizes" in loop.tick().troubles[0]


def test_a_change_that_is_refused_is_told_once_and_tried_again_on_every_tick(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = Loop()
    loop.world.deaf = ApplyFailed("no quota")
    for _ in range(3):
        tick = loop.tick()
        assert tick.decision is not None
        assert size(tick.decision) == 7
        assert tick.troubles == ("apply failed, tried again on the next tick: no quota",)
    loop.world.deaf = None
    loop.tick()
    assert loop.world.wanted == 7
    assert told(caplog) == ["apply failed, tried again on the next tick: no quota", "all is well again"]


def test_a_policy_that_fails_is_told_and_what_is_wanted_stays(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    loop.policy.fails = True
    for _ in range(3):
        loop.tick()
    assert [size(decision) for decision in loop.world.applied] == [3, 3, 3]
    loop.policy.fails = False
    loop.tick()
    assert loop.world.wanted == 7
    assert told(caplog) == ["planning failed: ZeroDivisionError: no arrivals", "all is well again"]


def test_another_trouble_is_told_though_the_first_one_lasts(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    loop.policy.fails = True
    loop.tick()
    loop.world.deaf = ApplyFailed("no quota")
    loop.tick()
    loop.world.deaf = None
    loop.tick()
    assert told(caplog) == [
        "planning failed: ZeroDivisionError: no arrivals",
        "apply failed, tried again on the next tick: no quota",
    ]


def test_a_journal_that_fails_stops_neither_the_loop_nor_other_journals(caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = FakeJournal(fails=True), FakeJournal()
    loop = Loop(broken, sound)
    for _ in range(3):
        loop.tick()
    assert loop.world.wanted == 7
    assert len(sound.ticks) == 3
    assert told(caplog) == ["journal FakeJournal: no space left for tick 1"]
    broken.fails = False
    loop.tick()
    assert told(caplog)[1:] == ["all is well again"]


def test_a_journal_that_cannot_be_closed_does_not_keep_others_open(caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = FakeJournal(fails=True), FakeJournal()
    Loop(broken, sound).controller.close()
    assert sound.closed
    assert told(caplog) == ["journal FakeJournal: no space left"]


def test_a_signal_that_the_policy_needs_and_that_lacks_is_a_trouble_told_once_and_the_size_is_held(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = Loop()
    lacks = {Signal.ARRIVED: "1 of 3 logs is silent"}
    loop.world.look = lambda: replace(observation(loop.clock.now_s(), ready=3), lacks=lacks)
    first = loop.tick()
    lacks = {Signal.ARRIVED: "2 of 3 logs is silent"}
    assert first.decision is not None
    assert (first.decision.kind, size(first.decision)) == ("hold", 3)
    assert first.troubles == ("the policy needs arrived, which cannot be told now: 1 of 3 logs is silent",)
    assert loop.tick().troubles
    lacks = {}
    again = loop.tick()
    assert again.decision is not None
    assert (again.decision.kind, size(again.decision), again.troubles) == ("set", 7, ())
    assert told(caplog) == [*first.troubles, "all is well again"]


def test_what_went_wrong_with_looking_is_told_once_though_there_is_a_look(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    lost = 0
    loop.world.look = lambda: replace(observation(loop.clock.now_s(), ready=3), troubles=(f"{lost} events were lost",))
    for lost in (3, 5):
        tick = loop.tick()
        assert tick.troubles == (f"{lost} events were lost",)
        assert tick.decision is not None
        assert size(tick.decision) == 7
    loop.world.look = None
    loop.tick()
    assert told(caplog) == ["3 events were lost", "all is well again"]


def test_what_stands_in_for_a_signal_that_lacks_is_told_once_and_is_no_trouble(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = Loop()
    loop.policy.needs = (Need(Signal.QUEUE, stand_ins=(Signal.ARRIVED,)),)
    loop.planner = loop.controller.planner = Planner(loop.policy, {}, {Signal.QUEUE, Signal.ARRIVED})
    lacks = {Signal.QUEUE: "1 gauge is broken"}
    loop.world.look = lambda: replace(observation(loop.clock.now_s(), ready=3), lacks=lacks)
    assert [loop.tick().troubles for _ in range(3)] == [()] * 3
    lacks = {}
    loop.tick()
    assert told(caplog) == [
        "arrived stands in for queue: 1 gauge is broken",
        "the policy decides by its own signals again",
    ]


def test_one_line_says_in_which_form_a_policy_runs_or_it_is_refused() -> None:
    loop = Loop()
    assert checked(loop.planner, loop.world, "wants") == "wants on fake: has all signals"
    loop.policy.needs = (Need(Signal.QUEUE),)
    with pytest.raises(CannotRun, match="policy wants cannot run on fake: it needs queue"):
        checked(loop.planner, loop.world, "wants")


def test_no_garbage_is_collected_in_the_middle_of_a_tick_and_who_collects_none_is_left_alone() -> None:
    seen: list[bool] = []

    class Asking:
        def write(self, tick: Tick) -> None:
            seen.append(gc.isenabled())

        def close(self) -> None:
            pass

    loop = Loop(Asking())
    loop.controller.run(until_s=0.0)
    assert gc.isenabled()
    gc.disable()
    try:
        loop.controller.run(until_s=5.0)
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert set(seen) == {False}

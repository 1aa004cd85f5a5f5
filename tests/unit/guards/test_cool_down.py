import json

from elastream.core.decision import Decision
from elastream.core.guards.cool_down import CoolDown, LastChange
from elastream.testing import asking, knowing, observation, size


class Run:
    """Ticks every 10 s. What is decided is wanted on the next look, unless applying it fails."""

    def __init__(self, guard: CoolDown, wanted: int) -> None:
        self.guard = guard
        self.memory: LastChange = guard.start()
        self.last: Decision | None = None
        self.wanted = wanted
        self.at_s = 0.0

    def propose(self, workers: int, *, applied: bool = True) -> int:
        now = observation(self.at_s, ready=1, wanted=self.wanted)
        self.memory = self.guard.learn(self.memory, now, self.last)
        self.last = self.guard.adjust(asking(workers), now, knowing(now), self.memory)
        if applied:
            self.wanted = size(self.last)
        self.at_s += 10.0
        return size(self.last)


def test_after_a_change_the_next_one_waits() -> None:
    run = Run(CoolDown(after_s=30.0), wanted=5)
    assert [run.propose(n) for n in (5, 8, 9, 3, 9, 9)] == [5, 8, 8, 8, 9, 9]


def test_there_is_nothing_to_cool_down_from_at_the_start() -> None:
    assert Run(CoolDown(after_s=300.0), wanted=5).propose(9) == 9


def test_the_reason_says_how_long_it_lasts_still() -> None:
    run = Run(CoolDown(after_s=30.0), wanted=5)
    for n in (8, 9):
        run.propose(n)
    assert run.last is not None
    assert run.last.adjustments[0].reason == "20 s left of 30 s after a change"


def test_what_stays_meanwhile_is_what_is_wanted_not_what_is_ready() -> None:
    run = Run(CoolDown(after_s=30.0), wanted=5)
    run.propose(8)
    assert run.propose(1) == 8


def test_a_change_that_could_not_be_applied_is_tried_again_at_once() -> None:
    run = Run(CoolDown(after_s=300.0), wanted=5)
    assert run.propose(8, applied=False) == 8
    assert run.propose(8, applied=False) == 8
    assert run.propose(8) == 8
    assert run.propose(9) == 8


def test_a_hold_stays_a_hold() -> None:
    now = observation(5.0)
    memory: LastChange = {"seen_s": 5.0, "allocation": now.wanted(), "changed_s": 0.0}
    hold = Decision.hold(now, "unknown")
    assert CoolDown().adjust(hold, now, knowing(), memory) is hold


def test_only_the_blocking_one_silences_the_policy_and_only_while_it_lasts() -> None:
    memory: LastChange = {"seen_s": 20.0, "allocation": {}, "changed_s": 10.0}
    during, after = observation(20.0), observation(40.0)
    assert CoolDown(after_s=30.0).silences(during, memory) is None
    blocking = CoolDown(after_s=30.0, mode="blocking")
    assert blocking.silences(during, memory) == "cool-down: 20 s left"
    assert blocking.silences(after, memory) is None
    assert blocking.silences(during, blocking.start()) is None


def test_it_goes_on_from_text() -> None:
    one, other = Run(CoolDown(after_s=25.0), wanted=5), Run(CoolDown(after_s=25.0), wanted=5)
    for n in (5, 8, 9, 3, 9, 2, 2, 7):
        assert one.propose(n) == other.propose(n)
        restored = json.loads(json.dumps(other.memory))
        assert restored == other.memory
        other.memory = restored

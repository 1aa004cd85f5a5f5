import json

from elastream.core.decision import Decision
from elastream.core.guards.stabilise import Proposals, Stabilise
from elastream.core.observation import Observation
from elastream.testing import asking, knowing, observation, size


class Run:
    """Ticks every 10 s; what is decided is what is wanted on the next look."""

    def __init__(self, guard: Stabilise, wanted: int) -> None:
        self.guard = guard
        self.memory: Proposals = guard.start()
        self.last: Decision | None = None
        self.wanted = wanted
        self.at_s = 0.0

    def propose(self, workers: int | None) -> int:
        now = observation(self.at_s, ready=1, wanted=self.wanted)
        self.memory = self.guard.learn(self.memory, now, self.last)
        proposal = _hold(now) if workers is None else asking(workers, made_s=self.at_s)
        self.last = self.guard.adjust(proposal, now, knowing(now), self.memory)
        self.wanted = size(self.last)
        self.at_s += 10.0
        return self.wanted


def _hold(now: Observation) -> Decision:
    return Decision.hold(now, "unknown")


def test_a_shrink_waits_until_the_largest_recent_proposal_is_old() -> None:
    run = Run(Stabilise(down_s=30.0), wanted=10)
    assert [run.propose(n) for n in (10, 4, 4, 4, 4, 4)] == [10, 10, 10, 10, 4, 4]


def test_a_shrink_goes_to_the_largest_of_the_recent_proposals() -> None:
    run = Run(Stabilise(down_s=30.0), wanted=10)
    assert [run.propose(n) for n in (10, 4, 7, 4, 4, 4, 4)] == [10, 10, 10, 10, 7, 7, 4]


def test_by_default_growing_is_not_damped() -> None:
    run = Run(Stabilise(down_s=30.0), wanted=3)
    assert [run.propose(n) for n in (3, 9, 12)] == [3, 9, 12]


def test_a_growth_waits_until_the_smallest_recent_proposal_is_old() -> None:
    run = Run(Stabilise(up_s=20.0, down_s=0.0), wanted=3)
    assert [run.propose(n) for n in (3, 9, 7, 9, 9)] == [3, 3, 3, 7, 7]


def test_a_spike_passes_unnoticed() -> None:
    run = Run(Stabilise(up_s=20.0, down_s=20.0), wanted=5)
    assert [run.propose(n) for n in (5, 50, 5, 5)] == [5, 5, 5, 5]


def test_a_hold_proposes_nothing() -> None:
    run = Run(Stabilise(down_s=20.0), wanted=10)
    assert [run.propose(n) for n in (10, None, None, None, 4)] == [10, 10, 10, 10, 4]


def test_what_other_guards_made_of_a_proposal_does_not_count_as_one() -> None:
    guard = Stabilise(down_s=60.0)
    memory = guard.learn(guard.start(), observation(0.0, wanted=5), None)
    shared = asking(50, made_s=0.0).adjusted("over-provision", {"executors": 60}, "times 1.2")
    limited = shared.adjusted("bounds", {"executors": 8}, "at most 8")
    memory = guard.learn(memory, observation(10.0, wanted=8), limited)
    # But for the share on top: that is what the next proposal will come with too.
    assert [sizes for _, sizes in memory["recent"]] == [{"executors": 60}]


def test_a_policy_that_was_not_asked_proposes_nothing() -> None:
    guard, now = Stabilise(down_s=60.0), observation(0.0, wanted=5)
    memory = guard.learn(guard.start(), now, None)
    assert guard.learn(memory, observation(10.0), Decision.keep(now, "cool-down"))["recent"] == []


def test_the_reason_names_both_windows() -> None:
    run = Run(Stabilise(up_s=0.0, down_s=30.0), wanted=10)
    run.propose(10)
    run.propose(4)
    assert run.last is not None
    assert run.last.adjustments[0].reason == "the calmest proposal of the last 0 s up, 30 s down"


def test_the_size_stays_at_what_is_wanted_though_fewer_are_ready() -> None:
    run = Run(Stabilise(down_s=30.0), wanted=10)
    run.propose(10)
    assert run.propose(4) == 10


def test_its_memory_is_bounded_and_goes_on_from_text() -> None:
    one, other = Run(Stabilise(down_s=60.0), wanted=10), Run(Stabilise(down_s=60.0), wanted=10)
    sizes = [10, 4, 7, 3, 9, 2] * 20
    for n in sizes:
        assert one.propose(n) == other.propose(n)
        restored = json.loads(json.dumps(other.memory))
        assert restored == other.memory
        other.memory = restored
    assert len(one.memory["recent"]) <= 8

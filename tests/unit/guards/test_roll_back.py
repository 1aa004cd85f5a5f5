import json

from elastream.core.decision import Decision
from elastream.core.guards.roll_back import RollBack, RollBackWatch
from elastream.core.observation import Observation
from elastream.testing import asking, delay, knowing, observation, pool, query, size

GUARD = RollBack(settle_s=60.0, remember_s=600.0)


class Run:
    """An application under load: how it does at each size is what a test sets."""

    def __init__(self, wanted: int) -> None:
        self.memory: RollBackWatch = GUARD.start()
        self.last: Decision | None = None
        self.wanted = self.ready = wanted
        self.at_s = self.arrived = self.committed = 0.0
        self.arrival, self.commit = 100.0, 100.0
        self.delay_s: float | None = 5.0
        self.applies = True

    def look(self) -> Observation:
        return observation(
            self.at_s,
            ready=self.ready,
            wanted=self.wanted,
            arrived=self.arrived,
            committed=self.committed,
            delay_s=self.delay_s,
        )

    def propose(self, workers: int | None) -> int:
        """One tick of 10 s."""
        now = self.look()
        self.memory = GUARD.learn(self.memory, now, self.last)
        assert json.loads(json.dumps(self.memory)) == self.memory
        proposal = Decision.hold(now, "unknown") if workers is None else asking(workers)
        self.last = GUARD.adjust(proposal, now, knowing(now), self.memory)
        if self.applies:
            self.wanted = self.ready = size(self.last)
        self.at_s += 10.0
        self.arrived += 10 * self.arrival
        self.committed += 10 * self.commit
        return size(self.last)

    def propose_for(self, seconds: int, workers: int | None) -> list[int]:
        return [self.propose(workers) for _ in range(seconds // 10)]


def shrunk(*, commit: float, delay_s: float | None, arrival: float = 100.0) -> Run:
    """Ran well with 8, then shrank to 5, and since then it is like this."""
    run = Run(wanted=8)
    run.propose_for(120, 8)
    run.propose(5)
    run.arrival, run.commit, run.delay_s = arrival, commit, delay_s
    return run


def grown(*, commit: float = 100.0, delay_s: float | None = 5.0, arrival: float = 100.0) -> Run:
    """Ran well with 5, then grew to 8, and since then it is like this."""
    run = Run(wanted=5)
    run.propose_for(120, 5)
    run.propose(8)
    run.arrival, run.commit, run.delay_s = arrival, commit, delay_s
    return run


def test_a_shrink_that_made_things_worse_is_taken_back_once_things_have_settled() -> None:
    run = shrunk(commit=60.0, delay_s=30.0)
    sizes = run.propose_for(120, 5)
    assert sizes[:6] == [5] * 6
    assert 8 in sizes


def test_the_reason_has_the_numbers() -> None:
    run = shrunk(commit=60.0, delay_s=30.0)
    while run.propose(5) == 5:
        pass
    assert run.last is not None
    assert run.last.adjustments[0].reason == "at equal load the backlog grows by 40/s and the delay went to 30.0 s"


def test_a_shrink_that_did_no_harm_stays() -> None:
    assert set(shrunk(commit=100.0, delay_s=6.0).propose_for(300, 5)) == {5}


def test_a_shrink_is_not_judged_at_another_load() -> None:
    assert set(shrunk(commit=60.0, delay_s=30.0, arrival=150.0).propose_for(300, 5)) == {5}


def test_a_growth_that_did_not_help_is_taken_back() -> None:
    run = grown()
    assert 5 in run.propose_for(120, 8)


def test_a_growth_that_helped_stays() -> None:
    assert set(grown(delay_s=3.0).propose_for(300, 8)) == {8}


def test_nothing_shrinks_while_the_lag_grows() -> None:
    assert set(grown(commit=90.0, delay_s=50.0).propose_for(300, 8)) == {8}


def test_no_pool_shrinks_while_the_lag_grows_even_if_another_must_grow_back() -> None:
    def look(at_s: float, a: int, b: int) -> Observation:
        lagging = query(at_s, arrived=100 * at_s, committed=60 * at_s, delay_s=1.0 if at_s < 100 else 30.0)
        return observation(at_s, pools=(pool("a", ready=a), pool("b", ready=b)), queries=(lagging,))

    memory = GUARD.start()
    for at_s in range(0, 100, 10):
        memory = GUARD.learn(memory, look(at_s, 5, 5), None)
    for at_s in range(100, 180, 10):
        memory = GUARD.learn(memory, look(at_s, 1, 7), None)
    now = look(170.0, 1, 7)
    assert GUARD.adjust(asking({"a": 1, "b": 7}), now, knowing(), memory).allocation == {"a": 5, "b": 7}


def test_an_unknown_delay_is_no_reason_to_take_anything_back() -> None:
    run = Run(wanted=5)
    run.delay_s = None
    run.propose_for(120, 5)
    assert set(run.propose_for(300, 8)) == {8}
    assert set(shrunk(commit=60.0, delay_s=None).propose_for(300, 5)) == {5}


def test_nothing_is_judged_while_workers_are_still_starting() -> None:
    run = grown()
    run.applies = False
    run.ready = 6
    assert set(run.propose_for(300, 8)) == {8}


def test_a_change_that_could_not_be_applied_is_not_judged() -> None:
    run = Run(wanted=5)
    run.propose_for(120, 5)
    run.applies = False
    assert set(run.propose_for(300, 8)) == {8}


def test_a_size_taken_back_is_not_tried_again_at_that_load_for_a_while() -> None:
    run = grown()
    run.propose_for(120, 8)
    taken_back_s = run.memory["bad"][0]["until_s"] - 600.0
    while run.at_s < taken_back_s + 590.0:
        assert run.propose(8) == 5
    assert run.last is not None
    assert run.last.adjustments[0].reason == "this size was taken back before, at this load"
    assert 8 in run.propose_for(30, 8)


def test_a_size_taken_back_is_allowed_when_the_load_is_another() -> None:
    run = grown()
    run.propose_for(120, 8)
    assert run.propose(8) == 5
    run.arrival = 200.0
    assert 8 in run.propose_for(60, 8)


def test_another_size_is_allowed_at_once() -> None:
    run = grown()
    run.propose_for(120, 8)
    assert run.propose(9) == 9


def test_a_hold_is_left_alone() -> None:
    run = shrunk(commit=60.0, delay_s=30.0)
    assert set(run.propose_for(300, None)) == {5}


def test_unknown_totals_are_not_compared() -> None:
    memory = GUARD.learn(GUARD.start(), observation(0.0, arrived=5), None)
    assert memory["looks"] == []
    assert memory["allocation"] == {"executors": 5}


def test_pools_that_came_since_then_are_not_compared() -> None:
    run = shrunk(commit=60.0, delay_s=30.0)
    run.propose_for(60, 5)
    now = observation(
        run.at_s,
        pools=(pool(ready=5), pool("new", ready=2)),
        queries=(query(run.at_s, arrived=run.arrived, committed=run.committed, delay_s=30.0),),
    )
    decision = asking({"executors": 5, "new": 2})
    assert GUARD.adjust(decision, now, knowing(), run.memory) is decision


def test_it_is_bounded_and_goes_on_from_text() -> None:
    one, other = Run(wanted=5), Run(wanted=5)
    for n in range(500):
        for run in (one, other):
            run.arrival, run.delay_s = 100.0 + n % 3, 5.0 + n % 11
            run.commit = 60.0 if n % 50 > 25 else 140.0
        other.memory = json.loads(json.dumps(other.memory))
        workers = 3 + n // 7 % 9
        assert one.propose(workers) == other.propose(workers)
    assert len(one.memory["looks"]) <= 7
    assert len(one.memory["bad"]) <= 16


def test_a_delay_of_zero_is_known() -> None:
    now = observation(0.0, arrived=1, committed=1, delay_s=0.0)
    assert now.queries[0].delay == delay(0.0, 0.0)
    assert GUARD.learn(GUARD.start(), now, None)["looks"][0]["delay_s"] == 0.0

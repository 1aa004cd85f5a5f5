from dataclasses import replace

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.guards.hysteresis import Hysteresis
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Trigger
from elastream.testing import asking, observation, query, size

POOL = "executors"


class Pretended:
    """A pool that has at once what was decided, under a guard that has to calm a policy down."""

    def __init__(self, wanted: int = 3, trigger_s: float = 0.0) -> None:
        self.guard = Hysteresis()
        self.memory = self.guard.start()
        self.known = Knowledge()
        self.wanted, self.at_s, self.trigger_s = wanted, 0.0, trigger_s
        self.last: Decision | None = None
        self.changes = 0

    def propose(self, workers: int, after_s: float = 5.0, *, holds: bool = False) -> int:
        self.at_s += after_s
        busy = replace(query(self.at_s), trigger=Trigger(interval_s=self.trigger_s or None))
        now = observation(self.at_s, ready=self.wanted, queries=(busy,))
        self.memory = self.guard.learn(self.memory, now, self.last)
        self.known.fold(now)
        proposed = asking(workers, made_s=self.at_s)
        if holds:
            proposed = replace(Decision.hold(now, "unknown"), made_s=self.at_s)
        self.last = self.guard.adjust(proposed, now, self.known, self.memory)
        self.known.note(now, self.last)
        self.changes += size(self.last) != self.wanted
        self.wanted = size(self.last)
        return self.wanted


def test_a_demand_on_the_edge_between_two_sizes_does_not_flap() -> None:
    pool = Pretended(wanted=3)
    sizes = [pool.propose(workers) for _ in range(40) for workers in (2, 3, 2, 3, 3)]
    assert pool.changes == 0
    assert set(sizes) == {3}


def test_growth_is_never_delayed() -> None:
    pool = Pretended(wanted=2)
    assert [pool.propose(workers) for workers in (3, 5, 9)] == [3, 5, 9]


def test_a_demand_that_has_fallen_for_good_is_followed() -> None:
    pool = Pretended(wanted=9)
    sizes = [pool.propose(4) for _ in range(20)]
    assert sizes[0] == 9
    assert sizes[-1] == 4
    assert pool.changes == 1


def test_a_shrink_goes_no_further_than_what_was_needed_while_it_waited() -> None:
    pool = Pretended(wanted=9)
    for _ in range(20):
        pool.propose(6)
    sizes = [pool.propose(2) for _ in range(3)]
    assert sizes == [6, 6, 6]


def test_it_waits_longer_where_batches_are_long_because_a_change_shows_only_then() -> None:
    def waits(trigger_s: float) -> int:
        pool = Pretended(wanted=9, trigger_s=trigger_s)
        return next(n for n in range(1000) if pool.propose(2) == 2)

    assert waits(60.0) > 2 * waits(0.0)


def test_a_pool_that_grew_again_soon_after_a_shrink_waits_longer_from_then_on() -> None:
    pool = Pretended(wanted=4)
    first = next(n for n in range(1000) if pool.propose(2) == 2)
    assert pool.propose(4) == 4
    assert next(n for n in range(1000) if pool.propose(2) == 2) > first


def test_a_shrink_that_has_lasted_makes_up_for_one_that_was_in_vain() -> None:
    def waits(pool: Pretended) -> int:
        return next(n for n in range(1000) if pool.propose(2) == 2)

    pool = Pretended(wanted=4)
    first = waits(pool)
    pool.propose(4)
    regretted = waits(pool)
    for _ in range(250):
        pool.propose(2)
    pool.propose(4)
    assert waits(pool) <= first < regretted


def test_a_size_that_was_held_for_want_of_knowledge_was_not_needed() -> None:
    pool = Pretended(wanted=9)
    for _ in range(20):
        pool.propose(4, holds=True)
    assert pool.wanted == 9
    assert pool.propose(4) == 4


def test_the_reason_says_what_was_needed_and_for_how_long_that_counts() -> None:
    pool = Pretended(wanted=3)
    pool.propose(3)
    pool.propose(2)
    assert pool.last is not None
    assert "hysteresis: up to 3 were needed within 30 s, which a change has to be worth" in pool.last.sentence()


def test_without_patience_there_is_nothing_to_wait_for() -> None:
    with pytest.raises(BadInput, match="patience is 0; it must be more than 0"):
        Hysteresis(patience=0.0)

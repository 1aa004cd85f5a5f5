from dataclasses import replace

import pytest

from elastream.core.decision import Decision
from elastream.core.guards.state_floor import StateFloor
from elastream.core.observation import Observation
from elastream.testing import asking, knowing, observation, pool, query, size

GIB = 2.0**30


def look(at_s: float = 0.0, *, state: float | None, wanted: int = 8) -> Observation:
    return observation(
        at_s,
        pools=(pool(ready=3, wanted=wanted, memory=2 * GIB),),
        queries=(query(at_s, stateful=True, state=state),),
    )


@pytest.mark.parametrize(("asked", "given"), [(1, 5), (4, 5), (5, 5), (9, 9)])
def test_the_state_must_fit_into_half_of_the_memory(asked: int, given: int) -> None:
    now = look(state=4.5 * GIB)
    assert size(StateFloor().adjust(asking(asked), now, knowing(now), None)) == given


def test_the_reason_says_what_is_needed_and_what_would_help() -> None:
    now = look(state=4.5 * GIB)
    assert StateFloor().adjust(asking(1), now, knowing(now), None).adjustments[0].reason == (
        "4608 MiB of state need 5 workers of 2048 MiB at 50%; give workers more memory to go lower"
    )


def test_during_a_long_batch_the_last_known_size_counts() -> None:
    known = knowing(look(0.0, state=4.5 * GIB), *(look(at_s, state=None) for at_s in (1000.0, 5000.0, 9000.0)))
    assert size(StateFloor().adjust(asking(1), look(9000.0, state=None), known, None)) == 5


def test_nothing_is_given_up_before_the_state_was_measured_once() -> None:
    now = look(state=None)
    decision = StateFloor().adjust(asking(1), now, knowing(now), None)
    assert size(decision) == 8
    assert decision.adjustments[0].reason == "the size of the state is not known yet"
    assert size(StateFloor().adjust(asking(9), now, knowing(now), None)) == 9


def test_no_state_is_known_to_need_nothing() -> None:
    now = look(state=0.0)
    assert size(StateFloor().adjust(asking(1), now, knowing(now), None)) == 1


def test_the_states_of_all_queries_must_fit_together() -> None:
    small = look(state=1.5 * GIB).queries[0]
    big = replace(look(state=3.0 * GIB).queries[0], id="other")
    for both in ((small, big), (big, small)):
        now = replace(look(state=0.0), queries=both)
        assert size(StateFloor().adjust(asking(1), now, knowing(now), None)) == 5


def test_queries_without_state_and_those_that_ended_need_nothing() -> None:
    stateless = observation(pools=(pool(memory=GIB),), queries=(query(),))
    assert size(StateFloor().adjust(asking(0), stateless, knowing(stateless), None)) == 0
    ended = replace(look(state=None), queries=(replace(query(stateful=True), phase="terminated"),))
    assert size(StateFloor().adjust(asking(1), ended, knowing(ended), None)) == 1


def test_workers_of_unknown_memory_and_holds_are_left_alone() -> None:
    now = observation(queries=(query(stateful=True, state=9 * GIB),))
    assert size(StateFloor().adjust(asking(1), now, knowing(now), None)) == 1
    full = look(state=90 * GIB)
    hold = Decision.hold(full, "unknown")
    assert StateFloor().adjust(hold, full, knowing(full), None) is hold

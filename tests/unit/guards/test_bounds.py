import pytest

from elastream.core.decision import Decision
from elastream.core.guards.bounds import Bounds
from elastream.testing import asking, knowing, observation, pool, size

NOW = observation(ready=3, wanted=5, least=2, most=10)


def bounded(decision: Decision) -> Decision:
    return Bounds().adjust(decision, NOW, knowing(), None)


@pytest.mark.parametrize(("asked", "given"), [(0, 2), (1, 2), (2, 2), (7, 7), (10, 10), (11, 10), (10**9, 10)])
def test_a_pool_stays_within_its_bounds(asked: int, given: int) -> None:
    assert size(bounded(asking(asked))) == given


def test_the_reason_names_the_bounds() -> None:
    assert bounded(asking(99)).adjustments[0].reason == "executors has between 2 and 10 workers"


def test_what_is_within_is_left_alone() -> None:
    decision = asking(7)
    assert bounded(decision) is decision


def test_even_a_hold_is_brought_within() -> None:
    outside = observation(wanted=20, most=10)
    held = Bounds().adjust(Decision.hold(outside, "unknown"), outside, knowing(), None)
    assert size(held) == 10
    assert held.kind == "hold"


def test_each_pool_has_its_own_bounds() -> None:
    now = observation(pools=(pool("a", least=3, most=4), pool("b", least=1, most=2)))
    decision = Bounds().adjust(asking({"a": 1, "b": 9}), now, knowing(), None)
    assert decision.allocation == {"a": 3, "b": 2}
    assert [note.pool for note in decision.adjustments] == ["a", "b"]

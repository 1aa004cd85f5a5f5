import pytest

from elastream.core.decision import Decision
from elastream.core.guards.ignore_minor import IgnoreMinor
from elastream.testing import asking, knowing, observation, pool, size

STARTING = observation(ready=3, wanted=8)


@pytest.mark.parametrize(("asked", "given"), [(3, 3), (5, 5), (6, 8), (7, 8), (8, 8), (9, 8), (10, 10)])
def test_small_steps_from_what_is_wanted_are_ignored_whatever_is_ready(asked: int, given: int) -> None:
    decision = IgnoreMinor(up=1, down=2).adjust(asking(asked), STARTING, knowing(), None)
    assert size(decision) == given


def test_the_reason_says_what_is_minor() -> None:
    decision = IgnoreMinor(up=1, down=2).adjust(asking(7), STARTING, knowing(), None)
    assert decision.adjustments[0].reason == "changes of up to +1/-2 are ignored"


def test_by_default_growing_by_one_is_not_minor() -> None:
    assert size(IgnoreMinor().adjust(asking(9), STARTING, knowing(), None)) == 9
    assert size(IgnoreMinor().adjust(asking(7), STARTING, knowing(), None)) == 8


def test_the_last_step_to_the_minimum_is_not_minor() -> None:
    assert size(IgnoreMinor().adjust(asking(1), observation(wanted=2), knowing(), None)) == 1


def test_holds_and_keeps_are_left_alone() -> None:
    for decision in (Decision.hold(STARTING, "unknown"), Decision.keep(STARTING, "enough")):
        assert IgnoreMinor().adjust(decision, STARTING, knowing(), None) is decision


def test_a_minor_change_of_one_pool_does_not_keep_another_from_changing() -> None:
    now = observation(pools=(pool("a", ready=5), pool("b", ready=5)))
    decision = IgnoreMinor().adjust(asking({"a": 4, "b": 1}), now, knowing(), None)
    assert decision.allocation == {"a": 5, "b": 1}

from elastream.core.decision import Adjustment, Decision
from elastream.testing import asking, observation, pool

GROWING = observation(ready=3, wanted=8, requested=6, leaving=1)


def test_a_hold_stays_at_what_is_wanted_while_workers_are_starting() -> None:
    decision = Decision.hold(GROWING, "the arrival rate is unknown", {"missing": ["arrived"]})
    assert decision.allocation == {"executors": 8}
    assert decision.kind == "hold"
    assert decision.evidence == {"missing": ["arrived"]}


def test_a_keep_stays_at_what_is_wanted_while_workers_are_starting() -> None:
    decision = Decision.keep(GROWING, "enough")
    assert decision.allocation == {"executors": 8}
    assert decision.kind == "keep"


def test_what_stays_is_stated_again_at_what_is_wanted_by_then() -> None:
    for stays in (Decision.hold(GROWING, "unknown"), Decision.keep(GROWING, "enough")):
        assert stays.restated(observation(ready=3, wanted=4)).allocation == {"executors": 4}


def test_what_was_set_is_stated_again_unchanged() -> None:
    decision = asking(7)
    assert decision.restated(observation(ready=3, wanted=4)) is decision


def test_an_adjustment_says_who_changed_what_and_why() -> None:
    decision = asking({"a": 5, "b": 2}).adjusted("bounds", {"a": 3, "b": 2}, "at most 3")
    assert decision.allocation == {"a": 3, "b": 2}
    assert decision.adjustments == (Adjustment(guard="bounds", pool="a", before=5, after=3, reason="at most 3"),)
    assert decision.sentence() == "the policy said so; bounds: at most 3"


def test_an_adjustment_that_changes_nothing_leaves_no_note() -> None:
    decision = asking(5)
    assert decision.adjusted("bounds", {"executors": 5}, "at most 5") is decision


def test_what_the_policy_asked_for_is_known_after_any_number_of_guards() -> None:
    decision = asking({"a": 5, "b": 2}).adjusted("one", {"a": 9, "b": 2}, "x").adjusted("two", {"a": 4, "b": 3}, "y")
    assert decision.proposed() == {"a": 5, "b": 2}
    assert asking(5).proposed() == {"executors": 5}


def test_changes_are_counted_from_what_is_wanted() -> None:
    now = observation(pools=(pool("a", ready=3, wanted=8), pool("b", ready=2, wanted=2)))
    assert asking({"a": 3, "b": 2}).changes(now) == {"a": (8, 3)}
    assert asking({"a": 8, "b": 2}).changes(now) == {}


def test_preferred_workers_survive_the_guards() -> None:
    assert asking(5, leave_first=("3",)).adjusted("g", {"executors": 4}, "r").leave_first == ("3",)

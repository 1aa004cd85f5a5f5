from elastream.core.decision import Decision
from elastream.core.guards.pause import Pause
from elastream.testing import asking, knowing, observation, pool

NOW = observation(pools=(pool("a", ready=3, wanted=8), pool("b", ready=2, wanted=2)))


def test_everything_stays_as_it_is_wanted() -> None:
    decision = Pause().adjust(asking({"a": 3, "b": 5}), NOW, knowing(), None)
    assert decision.allocation == {"a": 8, "b": 2}


def test_the_reason_says_what_would_have_been_done() -> None:
    decision = Pause(mode="dry-run").adjust(asking({"a": 3, "b": 5}), NOW, knowing(), None)
    assert decision.sentence().count("dry-run: would have changed a 8 -> 3, b 2 -> 5") == 1
    decision = Pause().adjust(asking({"a": 3, "b": 2}), NOW, knowing(), None)
    assert decision.sentence() == "the policy said so; pause: paused: would have changed a 8 -> 3"


def test_what_changes_nothing_is_left_alone() -> None:
    for decision in (asking({"a": 8, "b": 2}), Decision.hold(NOW, "unknown")):
        assert Pause().adjust(decision, NOW, knowing(), None) is decision

import json

import pytest

from elastream.core.decision import Decision
from elastream.core.guards.step_limit import StepLimit
from elastream.testing import asking, knowing, observation, pool, size

NOTHING = StepLimit().start()
STARTING = observation(ready=3, wanted=20, requested=15)


@pytest.mark.parametrize(("asked", "given"), [(50, 25), (25, 25), (21, 21), (20, 20), (17, 17), (10, 16), (0, 16)])
def test_a_step_is_counted_from_what_is_wanted_not_from_what_is_ready(asked: int, given: int) -> None:
    decision = StepLimit(up=5, down=4).adjust(asking(asked), STARTING, knowing(), NOTHING)
    assert size(decision) == given


def test_the_reason_names_the_limits() -> None:
    decision = StepLimit(up=5).adjust(asking(50), STARTING, knowing(), NOTHING)
    assert decision.adjustments[0].reason == "one step is at most +5, -any"


def test_no_limit_lets_everything_pass() -> None:
    for asked in (0, 10**6):
        decision = asking(asked)
        assert StepLimit(up=None, down=None).adjust(decision, STARTING, knowing(), NOTHING) is decision


def test_a_hold_is_no_step() -> None:
    hold = Decision.hold(STARTING, "unknown")
    assert StepLimit(up=0, down=0).adjust(hold, STARTING, knowing(), NOTHING) is hold


def test_every_pool_has_its_own_step() -> None:
    now = observation(pools=(pool("a", ready=1), pool("b", ready=9)))
    decision = StepLimit(up=2, down=2).adjust(asking({"a": 9, "b": 1}), now, knowing(), NOTHING)
    assert decision.allocation == {"a": 3, "b": 7}


def test_a_decision_that_is_restated_steps_only_once_and_the_next_one_steps_again() -> None:
    guard, last, wanted, sizes = StepLimit(up=15), None, 3, []
    memory = guard.start()
    for at_s in (0.0, 15.0, 30.0, 45.0, 60.0):
        now = observation(at_s, ready=1, wanted=wanted)
        memory = json.loads(json.dumps(guard.learn(memory, now, last)))
        last = guard.adjust(asking(50, made_s=0.0 if at_s < 45 else 45.0), now, knowing(now), memory)
        wanted = size(last)
        sizes.append(wanted)
    assert sizes == [18, 18, 18, 33, 33]

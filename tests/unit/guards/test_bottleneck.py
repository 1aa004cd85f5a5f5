from dataclasses import replace

from elastream.core.decision import Decision
from elastream.core.guards.bottleneck import BottleneckGuard
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Query, Reading, RunningBatch
from elastream.testing import asking, observation, query, size


def blocked(name: str = "q") -> Query:
    """A batch of it has run for 100 s, and no task."""
    return replace(query(name=name, partitions=24), running=RunningBatch(id=3, started_s=0.0, stages=()))


def guarded(decision: Decision, *queries: Query, wanted: int = 3) -> Decision:
    now = observation(100.0, ready=wanted, queries=queries)
    return BottleneckGuard().adjust(decision, now, known(now), None)


def known(now: Observation) -> Knowledge:
    seen = Knowledge()
    seen.fold(now)
    return seen


def test_growth_for_a_blocked_sink_is_taken_back_with_the_reason() -> None:
    decision = guarded(asking(8), blocked())
    assert size(decision) == 3
    assert "no task runs or waits" in decision.adjustments[0].reason


def test_a_shrink_a_keep_and_a_hold_pass() -> None:
    for decision in (asking(2), asking(3)):
        assert guarded(decision, blocked()) is decision
    hold = replace(asking(9), kind="hold")
    assert guarded(hold, blocked()) is hold


def test_what_another_query_needs_is_still_bought() -> None:
    both = (blocked("a"), query(name="b", partitions=24))
    assert size(guarded(replace(asking(12), slots={"a": 5.0, "b": 7.0}), *both)) == 7
    assert size(guarded(replace(asking(6), slots={"a": 4.0, "b": 2.0}), *both)) == 3
    # Without knowing whose need it is, it may be the other's.
    unknown = asking(12)
    assert guarded(unknown, *both) is unknown


def test_work_of_no_query_has_its_slots() -> None:
    now = replace(observation(100.0, ready=3, queries=(blocked(),)), other_busy_slots=Reading(5.0, 100.0))
    assert size(BottleneckGuard().adjust(asking(9), now, known(now), None)) == 5

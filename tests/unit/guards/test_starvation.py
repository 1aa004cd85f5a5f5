import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.guards.starvation import Starvation, StarvationSteps
from elastream.core.knowledge import Knowledge
from elastream.core.observation import (
    FinishedBatch,
    Observation,
    Query,
    Reading,
    ReadLimit,
    RunningBatch,
    RunningStage,
    Trigger,
    Worker,
)
from elastream.core.signals import Signal
from elastream.testing import asking, observation, query, size


def starved(*, waiting: int = 8, arrived: float = 100.0, committed: float = 0.0, at_s: float = 0.0) -> Query:
    stage = RunningStage(name="read", tasks=waiting, done=0, running=0)
    running = RunningBatch(id=0, started_s=0.0, stages=(stage,))
    return replace(query(at_s, arrived=arrived, committed=committed, partitions=24), running=running)


def look(
    at_s: float, *queries: Query, ready: int = 1, busy: float = 1.0, others: float = 1.0, **more: Any
) -> Observation:
    """A look at slots that have been busy for this share of the time."""
    now = observation(at_s, ready=ready, queries=queries or (starved(at_s=at_s),), **more)
    pool = replace(now.pools[0], busy_slot_s=Reading(at_s * ready * busy, at_s))
    return replace(now, pools=(pool,), other_busy_slots=Reading(others, at_s))


def known(looks: Sequence[Observation]) -> Knowledge:
    seen = Knowledge()
    for now in looks:
        seen.fold(now)
    return seen


def guarded(looks: Sequence[Observation], *, steps: int = 0, decision: Decision | None = None) -> Decision:
    memory: StarvationSteps = {"steps": steps, "last_s": None, "wanted": {}}
    hold = Decision.hold(looks[-1], "no batch was measured")
    return Starvation().adjust(decision or hold, looks[-1], known(looks), memory)


@pytest.mark.parametrize(("steps", "workers"), [(0, 2), (1, 2), (2, 3), (3, 5), (4, 9), (9, 40)])
def test_a_hold_beside_full_slots_and_tasks_that_wait_becomes_a_step(steps: int, workers: int) -> None:
    decision = guarded([look(at, most=40) for at in (0.0, 5.0, 10.0)], steps=steps)
    assert (decision.kind, size(decision)) == ("set", workers)
    assert decision.adjustments[0].reason == (
        "100% of 1 slots have been busy for 10 s (1 by work of no query) and 8 tasks of q wait for one, and 100 "
        "records wait: as long as it gets too few slots it cannot be measured"
    )


@pytest.mark.parametrize(
    "looks",
    [
        [look(at, busy=0.5) for at in (0.0, 5.0, 10.0)],
        [look(at) for at in (5.0, 10.0)],
        [look(at, starved(waiting=0)) for at in (0.0, 5.0, 10.0)],
        [look(at, starved(committed=at * 9, at_s=at)) for at in (0.0, 5.0, 10.0)],
        [look(at, wanted=2) for at in (0.0, 5.0, 10.0)],
        [look(at, most=1) for at in (0.0, 5.0, 10.0)],
        [look(at, replace(starved(), phase="terminated")) for at in (0.0, 5.0, 10.0)],
    ],
    ids=[
        "idle slots",
        "too soon",
        "nothing waits",
        "it drains",
        "a step is on its way",
        "at the bound",
        "it has ended",
    ],
)
def test_where_holding_does_no_harm_it_stays_a_hold(looks: list[Observation]) -> None:
    decision = guarded(looks)
    assert (decision.kind, decision.adjustments) == ("hold", ())


def test_where_tasks_cannot_be_seen_a_growing_backlog_beside_full_slots_says_the_same() -> None:
    def blind(at_s: float, busy: float) -> Observation:
        return look(at_s, query(at_s, arrived=100 + at_s, committed=0.0), busy=busy)

    assert size(guarded([blind(at, 1.0) for at in (0.0, 5.0, 10.0)])) == 2
    assert size(guarded([blind(at, 0.9) for at in (0.0, 5.0, 10.0)])) == 1


@pytest.mark.parametrize(("running", "workers"), [(1, 2), (0, 1), (None, 1)])
def test_where_events_were_lost_the_tasks_that_run_now_say_whether_slots_are_full(
    running: int | None, workers: int
) -> None:
    """Events are lost when there are most of them, and then a hold does most harm."""

    def lossy(at_s: float) -> Observation:
        now = look(at_s, most=40)
        worker = Worker(id="1", state="ready", since_s=0.0, running_tasks=running)
        pool = replace(now.pools[0], busy_slot_s=None, workers=(worker,))
        return replace(now, pools=(pool,), lacks={Signal.BUSY_SLOTS: "events were lost"})

    decision = guarded([lossy(at_s) for at_s in (0.0, 5.0, 10.0)])
    assert size(decision) == workers
    assert not decision.adjustments or "100% of 1 slots are busy now" in decision.adjustments[0].reason


def test_a_query_whose_read_limit_binds_is_no_reason_to_grow() -> None:
    """Its tasks wait for slots, and its batches are in time: a higher limit would help."""

    def limited(at_s: float, *, by: float | None) -> Observation:
        number = int(at_s) // 10
        batch = FinishedBatch(id=number, started_s=at_s - 8.0, ended_s=at_s - 1.0, limited=True, busy_s=7.0)
        one = starved(at_s=at_s)
        sources = tuple(replace(source, read_limit=None if by is None else ReadLimit(by)) for source in one.sources)
        one = replace(one, trigger=Trigger(interval_s=10.0), finished=batch, sources=sources)
        return look(at_s, replace(one, running=replace(one.running, started_s=at_s) if one.running else None), most=40)

    for by, workers in ((None, 2), (100.0, 1)):
        assert size(guarded([limited(10.0 * number, by=by) for number in range(1, 6)])) == workers


def test_slots_that_other_work_holds_count_on_top_of_what_a_policy_sets() -> None:
    looks = [look(at, ready=3, others=1.0, busy=0.5) for at in (0.0, 5.0, 10.0)]
    kept = guarded(looks, decision=asking(1))
    assert size(kept) == 2
    assert kept.adjustments[0].reason == "work of no query holds 1 slots, and they count on top"
    assert size(guarded([look(at) for at in (0.0, 5.0, 10.0)], decision=asking(1))) == 2
    assert size(guarded([look(at, ready=3, others=0.0) for at in (0.0, 5.0, 10.0)], decision=asking(1))) == 1


def test_steps_are_counted_when_they_were_carried_out_and_forgotten_after_a_while() -> None:
    guard = Starvation()
    first, second = look(10.0), look(15.0, ready=2)
    memory = guard.learn(guard.start(), first, None)
    stepped = guard.adjust(Decision.hold(first, "?"), first, known([look(0.0), look(5.0), first]), memory)
    assert size(stepped) == 2
    assert guard.learn(memory, look(15.0), stepped)["steps"] == 0
    memory = guard.learn(memory, second, stepped)
    assert memory["steps"] == 1
    assert json.loads(json.dumps(memory)) == memory
    assert guard.learn(memory, look(200.0, ready=2), None)["steps"] == 0


def test_a_step_waits_until_the_last_one_has_arrived_and_settled() -> None:
    looks = [look(at) for at in (0.0, 5.0, 10.0)]
    seen = known(looks)
    hold = Decision.hold(looks[-1], "?")
    memory: StarvationSteps = {"steps": 1, "last_s": 10.0, "wanted": {}}
    seen.note(looks[-1], asking(2))
    for at_s, expected in ((15.0, 2), (20.0, 2), (25.0, 3)):
        now = look(at_s, ready=2)
        seen.fold(now)
        assert size(Starvation().adjust(replace(hold, allocation=now.wanted()), now, seen, memory)) == expected


def test_a_settling_time_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="settle_s"):
        Starvation(settle_s=0.0)

"""What one look says, and how often a job was changed."""

from dataclasses import replace

import pytest

from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.core.paid import count_paid
from elastream.evaluation.actions import ActionCount
from elastream.evaluation.measures import (
    count_wanted,
    find_slowest,
    living_queries,
    sum_backlogs,
)
from tests.unit.journal_samples import tick
from tests.unit.page_samples import look, query


def sized(*, requested: int, ready: int, leaving: int = 0, room: int | None = None, pools: int = 1) -> Observation:
    now = look(5.0, ready=ready, leaving=leaving, wanted=requested)
    pool = replace(now.pools[0], requested=requested)
    return replace(now, pools=tuple(replace(pool, name=str(n)) for n in range(pools)), cluster_workers=room)


@pytest.mark.parametrize(
    ("now", "paid"),
    [
        (sized(requested=4, ready=4), 4),
        # Three are starting: nobody lends them until they are ready.
        (sized(requested=7, ready=4), 7),
        # Two are on their way out, and two take their place.
        (sized(requested=4, ready=2, leaving=2), 6),
        # One is more than was asked for, and has not been told to go yet.
        (sized(requested=3, ready=4, leaving=1), 5),
        # There is room for five, so that of the three that are missing one starts.
        (sized(requested=7, ready=4, room=5), 5),
        # More are there already than what there is said to be room for.
        (sized(requested=7, ready=4, leaving=2, room=5), 6),
        (sized(requested=3, ready=1, leaving=1, pools=2), 8),
    ],
)
def test_workers_are_paid_for_from_their_request_until_they_have_left(now: Observation, paid: int) -> None:
    assert count_paid(now) == paid


def test_what_is_wanted_is_what_was_decided_also_while_nothing_is_seen() -> None:
    now = look(5.0, wanted=3)
    decided = Decision(allocation={"executors": 5}, reason="more arrives")
    assert [count_wanted(tick(1, *seen)) for seen in ((now, decided), (None, decided), (now, None), (None, None))] == [
        5,
        5,
        3,
        None,
    ]


def test_a_backlog_that_is_unknown_for_one_query_is_unknown_for_all() -> None:
    known, other = query(5.0, name="a", backlog=30.0), query(5.0, name="b", backlog=12.0)
    unknown = replace(other, sources=tuple(replace(source, arrived=None) for source in other.sources))
    assert sum_backlogs([known, other]) == 42.0
    assert sum_backlogs([known, unknown]) is None
    assert sum_backlogs([]) is None


def test_a_query_that_has_ended_delays_nobody() -> None:
    slow, quick = query(5.0, name="slow", p95_s=90.0), query(5.0, name="quick", p95_s=2.0)
    slowest = find_slowest([slow, quick])
    assert slowest is not None
    assert slowest.p95_s == 90.0
    queries = living_queries(look(5.0, replace(slow, phase="terminated"), quick))
    slowest = find_slowest(queries)
    assert slowest is not None
    assert slowest.p95_s == 2.0
    assert find_slowest([query(5.0, p95_s=None)]) is None


def test_one_tick_that_changes_several_pools_is_one_action() -> None:
    count = ActionCount()
    now = sized(requested=3, ready=3, pools=3)
    count.update(tick(1, now, Decision(allocation={"0": 4, "1": 5, "2": 2}, reason="more arrives")))
    count.update(tick(2, now, Decision(allocation={"0": 2, "1": 4, "2": 3}, reason="moved")))
    assert (count.actions, count.grown, count.shrunk) == (2, 1, 0)


def test_a_change_that_was_not_carried_out_is_one_action_however_often_it_is_stated() -> None:
    count, now = ActionCount(), look(5.0, wanted=2)
    grow = Decision(allocation={"executors": 5}, reason="more arrives")
    for number, seen in enumerate((now, now, None, now), 1):
        count.update(tick(number, seen, grow))
    assert count.actions == 1
    count.update(tick(5, look(25.0, wanted=5), Decision.keep(look(25.0, wanted=5), "enough")))
    count.update(tick(6, look(30.0, wanted=5), Decision(allocation={"executors": 2}, reason="less arrives")))
    count.update(tick(7, look(35.0, wanted=2), grow))
    assert (count.actions, count.grown, count.shrunk) == (3, 2, 1)

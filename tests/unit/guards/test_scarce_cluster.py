import pytest
from hypothesis import given
from hypothesis import strategies as st

from elastream.core.decision import Decision
from elastream.core.guards.scarce_cluster import ScarceCluster, shared
from elastream.testing import asking, knowing, observation, pool, size

ASKED = {"a": 10, "b": 30, "c": 20}
POOLS = tuple(pool(name, ready=1, wanted=2) for name in ASKED)


def test_what_there_is_is_shared_in_proportion() -> None:
    decision = ScarceCluster().adjust(asking(ASKED), observation(pools=POOLS, room=30), knowing(), None)
    assert decision.allocation == {"a": 5, "b": 15, "c": 10}
    assert decision.adjustments[0].reason == "60 workers asked, 30 exist: shared"


def test_or_the_change_is_cancelled_back_to_what_is_wanted() -> None:
    guard = ScarceCluster(mode="cancel")
    decision = guard.adjust(asking(ASKED), observation(pools=POOLS, room=30), knowing(), None)
    assert decision.allocation == {"a": 2, "b": 2, "c": 2}
    assert decision.adjustments[0].reason == "60 workers asked, 30 exist: the change is cancelled"


@pytest.mark.parametrize("room", [None, 60, 61])
def test_with_enough_or_unknown_room_nothing_changes(room: int | None) -> None:
    decision = asking(ASKED)
    assert ScarceCluster().adjust(decision, observation(pools=POOLS, room=room), knowing(), None) is decision


def test_no_room_is_known_to_be_none() -> None:
    assert size(ScarceCluster().adjust(asking(3), observation(room=0), knowing(), None)) == 0


def test_a_hold_is_left_alone() -> None:
    now = observation(wanted=9, room=3)
    hold = Decision.hold(now, "unknown")
    assert ScarceCluster().adjust(hold, now, knowing(), None) is hold


def test_the_small_one_gets_a_worker_at_the_cost_of_the_large_one() -> None:
    assert shared({"large": 99, "small": 1}, 10) == {"large": 9, "small": 1}
    assert shared({"large": 99, "nothing": 0}, 10) == {"large": 10, "nothing": 0}


asks = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 10**12), min_size=1)


@given(asks, st.integers(-2, 500))
def test_shares_add_up_to_what_there_is_and_nobody_gets_more_than_asked(asked: dict[str, int], room: int) -> None:
    share = shared(asked, room)
    assert share.keys() == asked.keys()
    assert sum(share.values()) == min(max(0, room), sum(asked.values()))
    assert all(0 <= share[name] <= asked[name] for name in asked)


@given(asks, st.integers(0, 500))
def test_whoever_asks_gets_one_while_there_is_enough_for_all(asked: dict[str, int], room: int) -> None:
    hungry = [name for name, n in asked.items() if n]
    share = shared(asked, room)
    if room >= len(hungry):
        assert all(share[name] >= 1 for name in hungry)


@given(asks, st.integers(0, 500))
def test_whoever_asks_for_more_gets_no_less(asked: dict[str, int], room: int) -> None:
    share = shared(asked, room)
    for one in asked:
        for other in asked:
            if asked[one] > asked[other]:
                assert share[one] >= share[other] - (room < len(asked))

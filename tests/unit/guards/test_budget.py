import json
from dataclasses import replace

import pytest

from elastream.core.decision import Decision
from elastream.core.guards.budget import Budget, Spending
from elastream.core.observation import Observation
from elastream.testing import asking, knowing, observation, pool, size

HOUR_S = 3600.0
DAILY = Budget(worker_hours=48, period_h=24, burst_h=1)


def spent_after(guard: Budget, *looks: Observation) -> Spending:
    memory = guard.start()
    for look in looks:
        memory = guard.learn(memory, look, None)
    return memory


def test_workers_cost_from_their_request_until_they_have_left_as_the_numbers_of_a_run_say() -> None:
    sized = replace(pool(ready=3, wanted=50), requested=5, leaving=1)
    looks = [observation(at_s, pools=(sized,)) for at_s in (0.0, 10.0, 30.0)]
    assert spent_after(DAILY, *looks)["spent_worker_s"] == 6 * 30.0
    # A cluster that is full has none to start, and nobody pays for them.
    full = [replace(look, cluster_workers=4) for look in looks]
    assert spent_after(DAILY, *full)["spent_worker_s"] == 4 * 30.0


def test_time_zero_is_a_time() -> None:
    assert spent_after(DAILY, observation(0.0, ready=2), observation(10.0, ready=2))["spent_worker_s"] == 20.0


def test_a_burst_is_possible_as_long_as_the_minimum_is_safe() -> None:
    now = observation(0.0)
    memory = spent_after(DAILY, now)
    # 48 hours less one worker for the other 23 leave 25 workers for one hour.
    decision = DAILY.adjust(asking(40), now, knowing(), memory)
    assert size(decision) == 25
    assert decision.adjustments[0].reason == "48.0 of 48 worker-hours left for 24.0 h: at most 25 workers"
    affordable = asking(25)
    assert DAILY.adjust(affordable, now, knowing(), memory) is affordable


def test_when_everything_is_spent_the_minimum_stays() -> None:
    now = observation(12 * HOUR_S, least=2)
    memory: Spending = {"period_s": 0.0, "seen_s": now.at_s, "spent_worker_s": 100 * HOUR_S}
    assert size(DAILY.adjust(asking(9), now, knowing(), memory)) == 2


def test_a_new_period_begins_with_nothing_spent() -> None:
    memory: Spending = {"period_s": 0.0, "seen_s": 23 * HOUR_S, "spent_worker_s": 48 * HOUR_S}
    memory = DAILY.learn(memory, observation(24 * HOUR_S), None)
    assert memory == {"period_s": 24 * HOUR_S, "seen_s": 24 * HOUR_S, "spent_worker_s": 0.0}


def test_a_whole_day_at_the_limit_never_costs_more_than_the_budget() -> None:
    memory, wanted = DAILY.start(), 1
    for minute in range(24 * 60):
        now = observation(minute * 60.0, ready=wanted)
        memory = DAILY.learn(memory, now, None)
        wanted = size(DAILY.adjust(asking(100), now, knowing(), memory))
        assert wanted >= 1
    assert memory["spent_worker_s"] <= 48 * HOUR_S
    assert memory["spent_worker_s"] > 40 * HOUR_S


def test_pools_are_cut_in_proportion_to_what_they_ask_above_their_minimum() -> None:
    now = observation(pools=(pool("a", least=1), pool("b", least=2)))
    guard = Budget(worker_hours=13, period_h=1, burst_h=1)
    decision = guard.adjust(asking({"a": 11, "b": 12}), now, knowing(), spent_after(guard, now))
    assert decision.allocation == {"a": 6, "b": 7}


def test_a_pool_that_asks_for_less_than_its_minimum_does_not_make_room_for_another() -> None:
    now = observation(pools=(pool("a", least=5), pool("b", least=1)))
    guard = Budget(worker_hours=10, period_h=1, burst_h=1)
    decision = guard.adjust(asking({"a": 0, "b": 20}), now, knowing(), spent_after(guard, now))
    assert decision.allocation == {"a": 0, "b": 5}


def test_a_hold_is_left_alone() -> None:
    now = observation(wanted=90)
    hold = Decision.hold(now, "unknown")
    assert DAILY.adjust(hold, now, knowing(), spent_after(DAILY, now)) is hold


def test_it_goes_on_from_text() -> None:
    one, other = DAILY.start(), DAILY.start()
    for n in range(200):
        now = observation(n * 700.0, ready=n % 7)
        one, other = DAILY.learn(one, now, None), DAILY.learn(json.loads(json.dumps(other)), now, None)
        assert one == other == json.loads(json.dumps(one))
    assert one["spent_worker_s"] == pytest.approx(other["spent_worker_s"])

"""Windows over what rises and falls with every batch."""

from dataclasses import replace
from itertools import accumulate
from random import Random

import pytest

from elastream.core.batch_windows import find_period_s, whole_s
from elastream.core.knowledge import Knowledge
from elastream.core.observation import FinishedBatch, Observation, Query, Reading, Trigger, Worker
from elastream.core.signals import Signal
from elastream.testing import POOL, knowing, observation, pool, query


def batch(number: int, started_s: float, for_s: float, rows: float | None = 100.0) -> FinishedBatch:
    return FinishedBatch(id=number, started_s=started_s, ended_s=started_s + for_s, rows=rows)


def every(interval_s: float | None, finished: FinishedBatch | None = None) -> Query:
    return replace(query(), trigger=Trigger(interval_s=interval_s), finished=finished)


def test_from_one_batch_to_the_next_it_takes_the_interval_or_as_long_as_one_takes() -> None:
    assert find_period_s(every(60.0), ()) == 60.0
    assert find_period_s(every(60.0), (batch(1, 0.0, 20.0),)) == 60.0
    assert find_period_s(every(60.0), (batch(1, 0.0, 20.0), batch(2, 60.0, 75.0))) == 75.0
    assert find_period_s(every(None), (batch(1, 0.0, 4.0),)) == 4.0


def test_a_batch_that_only_cleans_up_says_nothing_about_how_long_one_takes() -> None:
    assert find_period_s(every(None), (batch(1, 0.0, 40.0), batch(2, 40.0, 0.2, rows=0.0))) == 40.0


def test_an_engine_without_batches_and_a_query_that_has_ended_have_no_such_time() -> None:
    assert find_period_s(every(None), ()) == 0.0
    assert find_period_s(replace(every(60.0), phase="terminated"), ()) == 0.0


@pytest.mark.parametrize(
    ("tick_s", "window_s", "period_s", "whole"),
    [
        (5.0, 15.0, 60.0, 60.0),
        (5.0, 15.0, 10.0, 20.0),
        (5.0, 60.0, 10.0, 60.0),
        (15.0, 15.0, 20.0, 60.0),
        (15.0, 15.0, 10.0, 30.0),
        (5.0, 60.0, 40.0, 80.0),
        (1.0, 60.0, 0.0, 60.0),
    ],
)
def test_the_shortest_window_of_whole_batches_is_taken_that_the_readings_allow(
    tick_s: float, window_s: float, period_s: float, whole: float
) -> None:
    times = [tick_s * number for number in range(200)]
    assert whole_s(times, times[-1], window_s, period_s) == whole


def test_where_no_reading_is_so_old_the_window_is_as_long_as_it_should_be() -> None:
    assert whole_s([90.0, 95.0, 100.0], 100.0, 15.0, 60.0) == 60.0
    assert whole_s([], 100.0, 15.0, 60.0) == 60.0


def look(at_s: float, *, interval_s: float | None, use: float, arrived: float, committed: float) -> Observation:
    """Two workers whose slots have been busy for `use` seconds each so far."""
    name = f"{POOL}/"
    workers = tuple(
        Worker(id=f"{name}{number}", state="ready", since_s=0.0, records=Reading(committed / 2, at_s))
        for number in range(2)
    )
    sized = replace(pool(ready=2), workers=workers, busy_slot_s=Reading(2 * use, at_s))
    asked = replace(query(at_s, arrived=arrived, committed=committed), trigger=Trigger(interval_s=interval_s))
    return observation(at_s, pools=(sized,), queries=(asked,))


def steady(interval_s: float, *, busy_s: float, ticks: list[float]) -> list[Observation]:
    """1,000 records/s, taken in by batches that keep both slots busy for so long and then commit."""

    def at(at_s: float) -> Observation:
        number, into_s = divmod(at_s, interval_s)
        done = number + (into_s >= busy_s)
        return look(
            at_s,
            interval_s=interval_s,
            use=number * busy_s + min(into_s, busy_s),
            arrived=1_000.0 * at_s,
            committed=1_000.0 * interval_s * done,
        )

    return [at(at_s) for at_s in ticks]


@pytest.mark.parametrize("interval_s", [2.0, 10.0, 12.0, 20.0, 33.0, 60.0, 120.0])
@pytest.mark.parametrize("tick_s", [1.0, 5.0, 15.0])
@pytest.mark.parametrize("window_s", [5.0, 15.0, 60.0])
def test_a_steady_load_reads_the_same_at_every_moment_of_a_batch(
    interval_s: float, tick_s: float, window_s: float
) -> None:
    known, random = Knowledge(), Random(7)
    times = list(accumulate([tick_s + random.uniform(-0.02, 0.02) for _ in range(round(900 / tick_s))]))
    for now in steady(interval_s, busy_s=0.4 * interval_s, ticks=times):
        known.fold(now)
        if now.at_s < 4 * max(interval_s, window_s) + 4 * tick_s:
            continue
        assert known.busy_share(now.pools[0], window_s) == pytest.approx(0.4, rel=0.25)
        # Records leave in heaps, so that at a window's ends one more or less may be in it.
        taken = known.committed_rps(now.queries[0], window_s)
        over_s = known.whole_s(Signal.COMMITTED, "q/s", window_s)
        assert taken == pytest.approx(1_000.0, abs=1_000.0 * 1.05 * interval_s / over_s)
        assert known.arrival_rps(now.queries[0], window_s) == pytest.approx(1_000.0)


def test_a_window_shorter_than_a_batch_would_have_read_full_and_idle_slots_in_turn() -> None:
    known = Knowledge()
    shares = []
    for now in steady(60.0, busy_s=24.0, ticks=[5.0 * number for number in range(60)]):
        known.fold(now)
        shares.append(known.busy_share(now.pools[0], 15.0, just_now=True))
    assert max(share for share in shares if share is not None) == 1.0
    assert min(share for share in shares[12:] if share is not None) == 0.0


def test_backlog_grows_by_what_arrived_and_was_taken_in_during_the_same_time() -> None:
    known = knowing(*steady(60.0, busy_s=20.0, ticks=[5.0 * number for number in range(100)]))
    asked = look(495.0, interval_s=60.0, use=0, arrived=0, committed=0).queries[0]
    assert known.backlog_growth_rps(asked, 15.0) == pytest.approx(0.0, abs=1.0)


def test_what_belongs_to_one_query_goes_by_its_own_batches_and_the_pool_by_the_longest() -> None:
    # The name of one may begin with another's.
    slower, fast, slow = (
        replace(query(name=name), trigger=Trigger(interval_s=interval_s))
        for name, interval_s in (("a", 30.0), ("a/b", 10.0), ("slow", 60.0))
    )
    known = knowing(*(observation(5.0 * number, queries=(slower, fast, slow)) for number in range(60)))
    assert known.whole_s(Signal.COMMITTED, "a/b/s", 15.0) == 15.0
    assert known.whole_s(Signal.READY, POOL, 15.0) == 60.0
    assert known.whole_s(Signal.ARRIVED, "slow/s", 15.0) == 15.0


def test_enough_is_remembered_for_a_window_of_whole_batches() -> None:
    known = Knowledge()
    for now in steady(240.0, busy_s=60.0, ticks=[5.0 * number for number in range(400)]):
        known.fold(now)
        share = known.busy_share(now.pools[0], 15.0)
        if now.at_s > 300:
            assert share == pytest.approx(0.25, rel=0.05)

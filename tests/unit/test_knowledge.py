import json
from dataclasses import replace

import pytest

from elastream.core.knowledge import HORIZON_S, LEAST_S, Knowledge
from elastream.core.observation import FinishedBatch, LongestTask, Observation, Reading, Source, Worker
from elastream.core.series import Series
from elastream.core.signals import Signal
from elastream.testing import POOL, asking, knowing, observation, pool, query


def steady(seconds: int, *, every_s: int = 5, arrival: float = 100.0, commit: float = 80.0) -> list[Observation]:
    return [
        observation(float(at_s), arrived=arrival * at_s, committed=commit * at_s)
        for at_s in range(0, seconds + 1, every_s)
    ]


def test_rates_are_taken_over_a_window_that_ends_now() -> None:
    looks = [*steady(60), observation(65.0, arrived=6000 + 1000, committed=4800)]
    known = knowing(*looks)
    asked = looks[-1].queries[0]
    assert known.arrival_rps(asked, 5.0) == 200.0
    assert known.arrival_rps(asked, 10.0) == 150.0
    assert known.committed_rps(asked, 5.0) == 0.0
    assert known.backlog_growth_rps(asked, 5.0) == 200.0


def test_sources_add_up_and_an_unknown_one_makes_the_sum_unknown() -> None:
    def look(at_s: float, other: Reading | None) -> Observation:
        first = query(at_s, arrived=100 * at_s, committed=0)
        return observation(at_s, queries=(replace(first, sources=(*first.sources, Source(name="t", arrived=other))),))

    known = knowing(look(0.0, Reading(0, 0.0)), look(10.0, Reading(50, 10.0)))
    assert known.arrival_rps(look(10.0, None).queries[0], 30.0) == 105.0
    known = knowing(look(0.0, None), look(10.0, None))
    assert known.arrival_rps(look(10.0, None).queries[0], 30.0) is None
    assert known.backlog_growth_rps(look(10.0, None).queries[0], 30.0) is None
    assert known.arrival_rps(replace(query(), sources=()), 30.0) is None


def test_a_restarted_query_has_no_rate_until_its_old_total_is_out_of_the_window() -> None:
    looks = [*steady(30), *(observation(35.0 + n * 5, arrived=n * 500.0, committed=0) for n in range(4))]
    known = knowing(*looks[:8])
    assert known.arrival_rps(looks[-1].queries[0], 30.0) is None
    known = knowing(*looks)
    assert known.arrival_rps(looks[-1].queries[0], 15.0) == 100.0


def test_unknown_is_none_and_zero_is_a_value() -> None:
    known = knowing(observation(0.0), observation(5.0))
    assert known.last(Signal.ARRIVED, "q/s") is None
    assert known.series(Signal.ARRIVED, "q/s") is None
    assert known.mean(Signal.DELAY, "q", 30.0) is None
    assert known.slope(Signal.DELAY, "q", 30.0) is None
    known = knowing(observation(0.0, arrived=0), observation(5.0, arrived=0))
    assert known.last(Signal.ARRIVED, "q/s") == Reading(0, 5.0)
    assert known.rate(Signal.ARRIVED, "q/s", 30.0) == 0.0


def test_the_busy_share_is_of_slots_that_were_ready_not_of_those_wanted() -> None:
    def look(at_s: float, busy: float) -> Observation:
        return observation(at_s, pools=(replace(pool(ready=2, wanted=10, slots=4), busy_slot_s=Reading(busy, at_s)),))

    looks = look(0.0, 0.0), look(10.0, 40.0)
    known = knowing(*looks)
    assert known.busy_share(looks[-1].pools[0], 30.0) == 0.5
    assert knowing(observation(ready=0)).busy_share(pool(ready=0), 30.0) is None


def test_nothing_is_kept_beyond_the_horizon_and_a_tenth() -> None:
    known = Knowledge()
    for look in steady(10_000, every_s=20):
        known.fold(look)
        series = known.series(Signal.ARRIVED, "q/s")
        assert series is not None
        assert next(iter(series)).at_s >= look.at_s - HORIZON_S * 1.1 - 20
    assert known.rate(Signal.ARRIVED, "q/s", HORIZON_S / 2) == pytest.approx(100.0)


def test_workers_that_left_are_forgotten() -> None:
    known = Knowledge()
    for number in range(2000):
        at_s = number * 10.0
        worker = Worker(id=str(number), state="ready", since_s=at_s, cpu=Reading(0.5, at_s))
        known.fold(observation(at_s, pools=(replace(pool(), workers=(worker,)),)))
    assert known.last(Signal.WORKER_CPU, f"{POOL}/0") is None
    assert known.last(Signal.WORKER_CPU, f"{POOL}/1999") is not None
    subjects = [subject for _, _, columns in known.to_json()["columns"] for subject in columns]
    assert len(subjects) <= (LEAST_S + 30) / 10 + 5


def test_the_state_of_an_idle_query_is_not_forgotten_while_the_query_exists() -> None:
    known = knowing(observation(0.0, queries=(query(0.0, stateful=True, state=5e9),)))
    for at_s in range(100, 10_000, 100):
        known.fold(observation(float(at_s), queries=(query(float(at_s), stateful=True),)))
    assert known.last(Signal.STATE_BYTES, "q") == Reading(5e9, 0.0)
    for at_s in range(10_000, 20_000, 100):
        known.fold(observation(float(at_s), queries=()))
    assert known.last(Signal.STATE_BYTES, "q") is None


def changed(known: Knowledge, at_s: float, *, ready: int, wanted: int, to: int, leaving: int = 0) -> None:
    """One tick: look, then decide."""
    now = observation(at_s, ready=ready, wanted=wanted, leaving=leaving)
    known.fold(now)
    known.note(now, asking(to))


def test_growing_takes_from_the_decision_until_all_are_ready() -> None:
    known = Knowledge()
    changed(known, 0.0, ready=2, wanted=2, to=5)
    changed(known, 10.0, ready=2, wanted=5, to=5)
    changed(known, 20.0, ready=4, wanted=5, to=5)
    assert known.grow_s(POOL) is None
    changed(known, 30.0, ready=5, wanted=5, to=5)
    assert known.grow_s(POOL) == 30.0
    assert known.shrink_s(POOL) is None
    assert known.grow_s("another") is None
    assert known.last_action_s() == 0.0


def test_shrinking_takes_until_the_last_one_has_left() -> None:
    known = Knowledge()
    changed(known, 0.0, ready=5, wanted=5, to=2)
    changed(known, 10.0, ready=2, wanted=2, to=2, leaving=3)
    assert known.shrink_s(POOL) is None
    changed(known, 40.0, ready=2, wanted=2, to=2)
    assert known.shrink_s(POOL) == 40.0
    assert known.grow_s(POOL) is None


def test_a_growth_on_top_of_another_is_measured_though_the_size_between_was_never_seen() -> None:
    known = Knowledge()
    changed(known, 0.0, ready=2, wanted=2, to=4)
    changed(known, 10.0, ready=2, wanted=4, to=6)
    changed(known, 30.0, ready=6, wanted=6, to=6)
    assert [action.took_s for action in known.actions] == [30.0, 20.0]


def test_a_growth_that_was_reversed_is_not_taken_for_done_an_hour_later() -> None:
    known = Knowledge()
    changed(known, 0.0, ready=2, wanted=2, to=6)
    changed(known, 10.0, ready=2, wanted=6, to=2)
    changed(known, 20.0, ready=2, wanted=2, to=2)
    changed(known, 3000.0, ready=2, wanted=2, to=6)
    changed(known, 3030.0, ready=6, wanted=6, to=6)
    assert known.grow_s(POOL) == 30.0
    assert max(action.took_s or 0.0 for action in known.actions) == 30.0


def test_a_change_that_did_not_arrive_and_is_stated_again_is_one_change() -> None:
    known = Knowledge()
    for at_s in (0.0, 5.0, 10.0):
        changed(known, at_s, ready=2, wanted=2, to=5)
    changed(known, 40.0, ready=5, wanted=5, to=5)
    assert len(known.actions) == 1
    assert known.grow_s(POOL) == 40.0


def test_changes_are_bounded() -> None:
    known = Knowledge()
    for number in range(1000):
        changed(known, number * 10.0, ready=2 + number % 2, wanted=2 + number % 2, to=3 - number % 2)
    assert len(known.actions) == 64


def test_what_was_known_is_known_after_a_round_trip_through_text() -> None:
    known = knowing(*steady(600), provides=frozenset({Signal.ARRIVED}))
    changed(known, 605.0, ready=2, wanted=2, to=5)
    text = json.dumps(known.to_json())
    again = Knowledge.from_json(json.loads(text), known.provides)
    assert json.dumps(again.to_json()) == text
    assert again.provides == known.provides
    for later in (observation(610.0, ready=2, wanted=5), observation(650.0, arrived=65_000, committed=1, ready=5)):
        known.fold(later)
        again.fold(later)
        assert again.arrival_rps(later.queries[0], 60.0) == known.arrival_rps(later.queries[0], 60.0)
        assert again.grow_s(POOL) == known.grow_s(POOL)
    assert again.to_json() == known.to_json()
    assert again.grow_s(POOL) == 45.0


def test_asking_changes_nothing() -> None:
    known = knowing(*steady(60))
    before = json.dumps(known.to_json())
    now = observation(60.0)
    known.arrival_rps(now.queries[0], 30.0)
    known.busy_share(now.pools[0], 30.0)
    known.slope(Signal.READY, POOL, 30.0)
    assert json.dumps(known.to_json()) == before


@pytest.mark.parametrize("window_s", [3.0, 60.0, 600.0, 3000.0])
def test_what_is_asked_does_not_depend_on_what_was_dropped(window_s: float) -> None:
    """The same answers as from readings of which none was ever dropped, once a window was asked about."""
    known, total, level = Knowledge(), Series(), Series()
    asked = steady(0)[0].queries[0]
    for look in steady(9_000, every_s=7):
        known.fold(look)
        total.add(Reading(100.0 * look.at_s, look.at_s))
        level.add(Reading(5, look.at_s))
        assert known.arrival_rps(asked, window_s) == total.rate(look.at_s, window_s)
        assert known.burst_rps(asked, 14.0, window_s) == total.fastest(look.at_s, 14.0, window_s)
        assert known.mean(Signal.READY, POOL, window_s) == level.mean(look.at_s, window_s)
        assert known.covers(Signal.READY, POOL, window_s) == (look.at_s >= window_s)
    committed = known.series(Signal.COMMITTED, "q/s")
    assert committed is not None
    assert len(committed) <= (LEAST_S + 30) / 7 + 2


def test_a_copy_does_not_change_when_the_original_goes_on() -> None:
    known = Knowledge()
    changed(known, 0.0, ready=2, wanted=2, to=5)
    batch = FinishedBatch(id=1, started_s=0.0, ended_s=1.0)
    known.fold(observation(1.0, arrived=1.0, queries=(replace(query(1.0, arrived=5.0), finished=batch),)))
    kept = known.copy()
    text = json.dumps(kept.to_json())
    assert text == json.dumps(known.to_json())
    changed(known, 10.0, ready=5, wanted=5, to=5)
    known.fold(observation(20.0, queries=(replace(query(20.0, arrived=9.0), finished=replace(batch, ended_s=2.0)),)))
    known.rate(Signal.READY, POOL, 500.0)
    assert json.dumps(kept.to_json()) == text
    assert json.dumps(known.to_json()) != text


def test_the_last_batches_are_kept_and_survive_json_and_older_snapshots_have_none() -> None:
    known = Knowledge()
    task = LongestTask(stage="read", tasks=4, task_s=2.0, mean_s=1.0)
    for number in range(12):
        batch = FinishedBatch(id=number, started_s=number, ended_s=number + 0.5, longest=task, parts_s={"plan": 0.1})
        # Every batch is seen on two looks.
        for at_s in (number + 0.6, number + 0.8):
            known.fold(observation(at_s, queries=(replace(query(), finished=batch),)))
    assert [batch.id for batch in known.batches("q")] == [4, 5, 6, 7, 8, 9, 10, 11]
    assert known.batches("other") == ()
    snapshot = json.loads(json.dumps(known.to_json()))
    assert Knowledge.from_json(snapshot).batches("q") == known.batches("q")
    del snapshot["batches"]
    assert Knowledge.from_json(snapshot).batches("q") == ()


def test_across_a_look_in_which_a_signal_lacks_nothing_is_said_of_it_and_all_of_the_others() -> None:
    known = knowing(*steady(60), provides=frozenset({Signal.ARRIVED, Signal.COMMITTED}))
    last = steady(60)[-1]
    query = last.queries[0]
    subject = f"{query.id}/{query.sources[0].name}"
    assert known.rate(Signal.ARRIVED, subject, 30.0) is not None
    known.fold(replace(last, at_s=last.at_s + 5.0, lacks={Signal.ARRIVED: "the log was silent"}))
    assert known.provides == {Signal.COMMITTED}
    assert known.copy().provides == {Signal.COMMITTED}
    assert known.series(Signal.ARRIVED, subject) is None
    assert known.rate(Signal.COMMITTED, subject, 30.0) is not None
    known.fold(replace(last, at_s=last.at_s + 10.0))
    assert known.provides == {Signal.ARRIVED, Signal.COMMITTED}

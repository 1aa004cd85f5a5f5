from dataclasses import replace

import pytest

from elastream.core.observation import FinishedBatch, Reading, Source, Worker
from elastream.core.readings import readings
from elastream.core.signals import Signal
from elastream.testing import observation, pool, query


def test_slots_are_those_of_ready_workers_only() -> None:
    assert pool(ready=3, wanted=8, requested=6, leaving=2, slots=4).slots == 12


def test_the_size_last_decided_is_what_is_wanted_not_what_is_there() -> None:
    now = observation(ready=3, wanted=8, requested=6, leaving=2)
    assert now.wanted() == {"executors": 8}


@pytest.mark.parametrize(
    ("ready", "wanted", "leaving", "in_flux"),
    [(5, 5, 0, False), (3, 5, 0, True), (5, 3, 0, True), (5, 5, 1, True), (0, 0, 0, False)],
)
def test_a_pool_is_in_flux_until_everything_came_and_went(ready: int, wanted: int, leaving: int, in_flux: bool) -> None:
    assert pool(ready=ready, wanted=wanted, leaving=leaving).in_flux is in_flux


@pytest.mark.parametrize(
    ("slots", "per_worker", "workers"), [(0, 4, 0), (1, 4, 1), (4, 4, 1), (4.1, 4, 2), (8 + 1e-12, 4, 2), (-3, 4, 0)]
)
def test_workers_are_whole_and_have_enough_slots(slots: float, per_worker: int, workers: int) -> None:
    assert pool(slots=per_worker).workers_for(slots) == workers


def test_a_pool_is_found_by_its_name() -> None:
    assert observation(pools=(pool("a"), pool("b", ready=2))).pool("b").ready == 2


def test_backlog_is_what_arrived_and_is_not_committed() -> None:
    source = Source(name="s", arrived=Reading(100, 5.0), committed=Reading(60, 5.0))
    assert source.backlog == 40


def test_a_backlog_with_an_unknown_side_is_unknown_and_zero_is_a_value() -> None:
    known = Reading(60, 5.0)
    assert Source(name="s", arrived=None, committed=known).backlog is None
    assert Source(name="s", arrived=known, committed=None).backlog is None
    assert Source(name="s", arrived=known, committed=known).backlog == 0
    assert Source(name="s", arrived=Reading(0, 1.0), committed=Reading(0, 1.0)).backlog == 0


def test_a_commit_seen_before_its_arrivals_makes_no_negative_backlog() -> None:
    assert Source(name="s", arrived=Reading(50, 1.0), committed=Reading(60, 2.0)).backlog == 0


def test_one_unknown_source_makes_the_backlog_of_the_query_unknown() -> None:
    known = query(arrived=100, committed=60)
    assert known.backlog == 40
    assert replace(known, sources=(*known.sources, Source(name="other"))).backlog is None
    assert replace(known, sources=()).backlog is None


def test_a_batch_lasts_from_trigger_to_commit() -> None:
    assert FinishedBatch(id=1, started_s=10.0, ended_s=12.5).duration_s == 2.5


def test_readings_name_their_subject() -> None:
    worker = Worker(id="7", state="ready", since_s=0.0, cpu=Reading(0.5, 9.0))
    now = observation(
        9.0,
        pools=(replace(pool("p", ready=3, wanted=8), workers=(worker,)),),
        queries=(query(9.0, arrived=10, committed=0, delay_s=2.0, stateful=True, state=0, pools=("p",)),),
    )
    found = {(signal, subject): reading for signal, subject, reading in readings(now) if reading is not None}
    assert found == {
        (Signal.READY, "p"): Reading(3, 9.0),
        (Signal.WORKER_CPU, "p/7"): Reading(0.5, 9.0),
        (Signal.ARRIVED, "q/s"): Reading(10, 9.0),
        (Signal.COMMITTED, "q/s"): Reading(0, 9.0),
        (Signal.DELAY, "q"): Reading(2.0, 9.0),
        (Signal.STATE_BYTES, "q"): Reading(0, 9.0),
    }

from dataclasses import replace

import pytest

from elastream.core.decision import Decision
from elastream.core.guards.start import Begun, Start
from elastream.core.observation import FinishedBatch, Observation, Query
from elastream.testing import asking, knowing, observation, query, size

GUARD = Start()


def running(at_s: float, *, batch: int | None = None, arrived: float | None = None, committed: float = 0.0) -> Query:
    finished = None if batch is None else FinishedBatch(id=batch, started_s=at_s - 5, ended_s=at_s - 1)
    return replace(query(at_s, arrived=arrived, committed=committed), finished=finished)


def look(at_s: float, *queries: Query, ready: int = 8) -> Observation:
    return observation(at_s, ready=ready, queries=queries)


def after(*looks: Observation) -> Begun:
    memory = GUARD.start()
    for now in looks:
        memory = GUARD.learn(memory, now, None)
    return memory


def adjusted(decision: Decision, *looks: Observation) -> Decision:
    return GUARD.adjust(decision, looks[-1], knowing(*looks), after(*looks))


def test_before_the_first_query_the_application_keeps_what_it_was_given() -> None:
    decision = adjusted(asking(1), look(0.0), look(5.0))
    assert size(decision) == 8
    assert decision.sentence().endswith("start: no query has started yet; until then it keeps what it was given")


def test_a_first_batch_says_too_little_to_shrink_on() -> None:
    looks = [look(0.0), look(5.0, running(5.0, arrived=100)), look(10.0, running(10.0, batch=0, arrived=100))]
    assert size(adjusted(asking(2), *looks)) == 8
    looks.append(look(20.0, running(20.0, batch=1, arrived=200)))
    assert size(adjusted(asking(2), *looks)) == 2


def test_after_a_restart_batches_go_on_with_their_numbers_and_the_first_of_them_still_does_not_count() -> None:
    looks = [look(0.0, running(0.0)), look(5.0, running(5.0, batch=41, arrived=9)), look(6.0, running(6.0, batch=41))]
    assert size(adjusted(asking(1), *looks)) == 8


def test_growing_is_free_at_any_time() -> None:
    assert size(adjusted(asking(12), look(0.0))) == 12


def test_one_query_that_is_not_measured_keeps_them_all() -> None:
    first, other = running(0.0, batch=1, arrived=5), replace(running(0.0), id="other", name="other")
    later = replace(first, finished=FinishedBatch(id=2, started_s=1, ended_s=2))
    decision = adjusted(asking(1), look(0.0, first, other), look(5.0, later, other))
    assert size(decision) == 8
    assert "other has not been measured yet" in decision.sentence()


def test_a_query_to_which_nothing_comes_is_idle_and_needs_no_measurement() -> None:
    looks = [look(at_s, running(at_s, arrived=100, committed=100)) for at_s in (0.0, 10.0, 20.0, 30.0)]
    assert size(adjusted(asking(1), *looks[:3])) == 8
    assert size(adjusted(asking(1), *looks)) == 1


def test_a_query_is_idle_only_from_when_the_last_records_came() -> None:
    came = [(0.0, 100.0), (10.0, 100.0), (20.0, 300.0), (45.0, 300.0)]
    looks = [look(at_s, running(at_s, arrived=arrived, committed=arrived)) for at_s, arrived in came]
    assert size(adjusted(asking(1), *looks)) == 8
    assert size(adjusted(asking(1), *looks, look(50.0, running(50.0, arrived=300.0, committed=300.0)))) == 1


def test_what_it_was_given_is_what_it_began_with_and_not_what_it_has_grown_to() -> None:
    assert size(adjusted(asking(1), look(0.0, ready=8), look(5.0, ready=12))) == 8


def test_a_source_that_does_not_tell_its_lag_is_not_taken_for_an_idle_one() -> None:
    looks = [look(at_s, running(at_s)) for at_s in (0.0, 60.0, 600.0)]
    assert size(adjusted(asking(1), *looks)) == 8


def test_what_was_measured_once_is_known_for_good() -> None:
    memory = after(look(0.0, running(0.0, batch=1, arrived=5)), look(5.0, running(5.0, batch=2, arrived=9)))
    assert memory["waits_for"] is None
    assert GUARD.learn(memory, look(9.0), None) == memory


@pytest.mark.parametrize("gone", [(), (replace(query(0.0), phase="terminated"),)])
def test_a_query_that_has_ended_before_it_was_measured_is_no_measurement(gone: tuple[Query, ...]) -> None:
    assert size(adjusted(asking(1), look(0.0, running(0.0)), look(5.0, *gone))) == 8

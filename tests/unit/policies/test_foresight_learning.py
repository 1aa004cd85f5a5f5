"""What foresight learns of a query, look by look."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from elastream.core.observation import FinishedBatch, Observation, Query, Reading, RunningBatch, Worker
from elastream.core.slo import OnTime, Slo
from elastream.policies.foresight import learning
from elastream.testing import observation, query

SLO = Slo(delay_s=30.0)


def look(at_s: float, seen: Query, ready: int = 4) -> Observation:
    return observation(at_s, ready=ready, queries=(seen,))


def base(at_s: float, **changes: Any) -> Query:
    """A query to which a thousand records come per second; one that runs batches, unless told otherwise."""
    made = query(at_s, arrived=1_000.0 * at_s, committed=1_000.0 * at_s)
    return replace(made, slo=SLO, **{"batches": Reading(0.0, at_s), **changes})


def learn(queries: list[tuple[float, Query]], ready: int = 4) -> learning.State:
    state = learning.start(queries[0][1])
    for at_s, seen in queries:
        state = learning.update(state, seen, look(at_s, seen, ready))
    return state


def batches(costs_s: list[float], rows: float = 10_000.0) -> list[tuple[float, Query]]:
    """Batches of ten seconds each, of which tasks take so long; the driver takes half a second."""
    found = []
    for number, tasks_s in enumerate(costs_s):
        begin_s = 10.0 * number
        running = RunningBatch(id=number, started_s=begin_s, rows=rows)
        finished = FinishedBatch(
            id=number, started_s=begin_s, ended_s=begin_s + 0.5 + tasks_s, rows=rows + number, busy_s=4 * tasks_s,
            driver_s=0.5,
        )  # fmt: skip
        found.append((begin_s + 0.1, base(begin_s, running=running)))
        found.append((begin_s + 9.0, base(begin_s, finished=finished)))
    return found


def late(shares: list[float], records: float = 60_000.0) -> list[tuple[float, Query]]:
    """A minute after the other, in each of which such a share of the records was late."""
    found, total, within = [], 0.0, 0.0
    for minute, share in enumerate(shares):
        for second in range(0, 60, 5):
            total, within = total + records / 12, within + records / 12 * (1 - share)
            at_s = 60.0 * minute + second
            found.append((at_s, base(at_s, on_time=OnTime(records=total, within=within), finished=None)))
    return found


def care(shares: list[float]) -> float:
    queries = late(shares)
    return learning.find_care(learn(queries), queries[-1][1])


def test_a_first_batch_says_nothing_of_those_to_come() -> None:
    queries = batches([9.0, 2.0, 2.0, 2.0])
    model = learning.batch_model(learn(queries), queries[-1][1])
    assert model is not None
    assert model.cost.slot_s(10_000) == pytest.approx(8.0, rel=0.05)
    assert model.driver_s == 0.5


def test_one_batch_that_met_an_accident_changes_little() -> None:
    usual, odd = batches([2.0] * 10), batches([2.0] * 6 + [9.0] + [2.0] * 3)
    models = [learning.batch_model(learn(queries), queries[-1][1]) for queries in (usual, odd)]
    assert models[0] is not None
    assert models[1] is not None
    assert models[1].cost.slot_s(10_000) == pytest.approx(models[0].cost.slot_s(10_000), rel=0.15)
    assert models[1].stretch == pytest.approx(models[0].stretch, rel=0.15)


def test_of_a_batch_whose_executors_changed_the_time_says_nothing() -> None:
    queries = batches([2.0] * 5)
    state = learning.start(queries[0][1])
    for number, (at_s, seen) in enumerate(queries):
        state = learning.update(state, seen, look(at_s, seen, ready=4 + number % 2))
    assert state["walls"] == []


def test_who_was_late_plans_for_a_shorter_bound_until_it_is_made_up() -> None:
    good, bad, healed = care([0.0] * 30), care([0.0] * 28 + [0.8, 0.8]), care([0.8, 0.8] + [0.0] * 600)
    calm = late([0.0])[-1][1]
    assert bad > 0.8
    assert good < bad
    assert healed < bad
    assert learning.planned_bound_s(bad, calm) < 0.75 * 30
    assert learning.planned_bound_s(good, calm) > learning.planned_bound_s(bad, calm)


def test_while_more_may_be_late_than_is_a_late_record_is_worth_less() -> None:
    plenty = care([0.0] * 1_000)
    assert plenty < 0
    assert learning.price_factor(plenty) < 0.5
    assert learning.planned_bound_s(plenty, late([0.0])[-1][1]) == 30.0
    assert learning.price_factor(care([0.0])) == 1.0


def test_what_came_of_a_change_is_kept_beside_what_was_hoped_for() -> None:
    queries = batches([2.0] * 4)
    state = learning.start(queries[0][1])
    hoped = {"workers": 4, "fixed_s": 0.5, "row_s": 1.5e-4}
    for number, (at_s, seen) in enumerate(queries):
        state = learning.update(state, seen, look(at_s, seen), hoped if number == 3 else None)
    assert state["effect"][:3] == pytest.approx([4, 2.0, 2.5], rel=0.01)
    assert state["hoped"] is None


def stream(rows: list[tuple[float, float, float, float]]) -> list[list[float]]:
    """Capacities after looks at a continuous job: time, done, waiting, use of the busiest worker."""
    job = base(0.0, batches=None)
    state = learning.start(job)
    for at_s, done, waits, use in rows:
        source = replace(job.sources[0], arrived=Reading(done + waits, at_s), committed=Reading(done, at_s))
        now = look(at_s, replace(job, sources=(source,)))
        busiest = Worker(id="1", state="ready", since_s=0.0, cpu=Reading(use, at_s))
        pools = (replace(now.pools[0], workers=(busiest,) if use else ()),)
        state = learning.update(state, now.queries[0], replace(now, pools=pools))
    rates: list[list[float]] = state["stream"]["rates"]
    return rates


def test_what_a_job_can_do_shows_while_it_falls_behind() -> None:
    rows = [(5.0 * n, 5_000.0 * n, 20_000.0 + 1_000 * n, 0.0) for n in range(5)]
    assert stream(rows)[-1][:2] == [4, 1_000.0]


def test_what_a_job_can_do_is_told_by_its_busiest_worker_when_it_keeps_up() -> None:
    rows = [(5.0 * n, 5_000.0 * n, 0.0, 0.52) for n in range(12)]
    assert stream(rows)[-1][1] == pytest.approx(2_000.0, rel=0.01)


def test_sizes_that_were_not_seen_follow_from_those_that_were() -> None:
    state = {"stream": {"rates": [[1, 900.0, 1.0, 0.0], [4, 3_000.0, 1.0, 0.0], [8, 4_900.0, 1.0, 0.0]]}}
    found = learning.stream_rates(state, np.arange(1.0, 17.0), 10.0)
    assert found is not None
    assert all(a < b for a, b in pairwise(found))
    assert found[7] == pytest.approx(4_900, rel=0.1)
    # Twice the workers do less than twice as much.
    assert found[15] < 1.8 * found[7]


def test_the_memory_is_plain() -> None:
    state = learn(batches([2.0] * 5))
    assert json.loads(json.dumps(state)) == state

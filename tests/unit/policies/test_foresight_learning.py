"""What foresight learns of a query, look by look."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from elastream.core.observation import FinishedBatch, Observation, Query, Reading, RunningBatch, Worker
from elastream.core.slo import OnTime, Slo
from elastream.policies.foresight import capacity, learning
from elastream.testing import observation, query

SLO = Slo(delay_s=30.0)


def look(at_s: float, seen: Query, ready: int = 4) -> Observation:
    return observation(at_s, ready=ready, queries=(seen,))


def base(at_s: float, **changes: Any) -> Query:
    """A query to which a thousand records come per second; one that runs batches, unless told otherwise."""
    made = query(at_s, arrived=1_000.0 * at_s, committed=1_000.0 * at_s)
    return replace(made, slo=SLO, **{"batches": Reading(0.0, at_s), **changes})


def learn(queries: list[tuple[float, Query]], ready: int = 4) -> learning.State:
    state = learning.start(queries[0][1], 120.0)
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
    state = learning.start(queries[0][1], 120.0)
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
    state = learning.start(queries[0][1], 120.0)
    hoped = {"workers": 4, "fixed_s": 0.5, "row_s": 1.5e-4}
    for number, (at_s, seen) in enumerate(queries):
        state = learning.update(state, seen, look(at_s, seen), hoped if number == 3 else None)
    assert state["effect"][:3] == pytest.approx([4, 2.0, 2.5], rel=0.01)
    assert state["hoped"] is None


def stream(rows: list[tuple[float, float, float, float]], workers: int = 1) -> list[list[float]]:
    """Capacities after looks at a continuous job: time, done, waiting, use of the busiest worker."""
    job = base(0.0, batches=None)
    state = learning.start(job, 120.0)
    for at_s, done, waits, use in rows:
        source = replace(job.sources[0], arrived=Reading(done + waits, at_s), committed=Reading(done, at_s))
        now = look(at_s, replace(job, sources=(source,)))
        busy = tuple(
            Worker(id=f"{number}", state="ready", since_s=0.0, cpu=Reading(use, at_s)) for number in range(workers)
        )
        pools = (replace(now.pools[0], workers=busy if use else ()),)
        state = learning.update(state, now.queries[0], replace(now, pools=pools))
    found: list[list[float]] = state["stream"]["rates"]
    return found


def test_what_a_job_can_do_shows_while_it_falls_behind() -> None:
    rows = [(5.0 * n, 5_000.0 * n, 20_000.0 + 1_000 * n, 0.0) for n in range(5)]
    assert stream(rows)[-1][:2] == [4, 1_000.0]


def test_what_a_job_can_do_is_told_by_its_busiest_worker_when_it_keeps_up() -> None:
    rows = [(5.0 * n, 5_000.0 * n, 0.0, 0.5) for n in range(12)]
    assert stream(rows)[-1][1] == pytest.approx(2_000.0, rel=0.01)


def test_what_a_job_does_while_it_falls_behind_is_known_after_a_long_calm_too() -> None:
    calm = [(5.0 * n, 50.0 * n, 0.0, 0.01) for n in range(40)]
    # From 200 s on a hundred times as much comes as it can do.
    late = [(200.0 + 5 * n, 2_000.0 + 5_000 * n, 50_000.0 + 400_000 * n, 1.0) for n in range(1, 4)]
    assert stream(calm + late[:1])[-1][2] < 0.2
    assert stream(calm + late[:2])[-1][:3] == [4, 1_000.0, 0.7]
    assert stream(calm + late)[-1][:3] == [4, 1_000.0, 1.0]


def test_the_largest_of_many_readings_that_scatter_is_not_taken_for_use() -> None:
    rows = [(5.0 * n, 5_000.0 * n, 0.0, 0.5) for n in range(12)]
    one, many = (stream(rows, workers=workers)[-1][1] for workers in (1, 16))
    assert one == pytest.approx(2_000, rel=0.01)
    # Of sixteen that scatter by 0.02 around 0.465 the largest reads 0.5.
    assert many == pytest.approx(1_000 / 0.465, rel=0.01)


def rates(*measured: list[float], sizes: int = 16) -> np.ndarray:
    found = capacity.find_rates({"rates": list(measured)}, np.arange(1.0, sizes + 1), 10.0)
    assert found is not None
    return found


def test_sizes_that_were_not_seen_follow_from_those_that_were() -> None:
    found = rates([1, 900.0, 1.0, 0.0], [4, 3_000.0, 1.0, 0.0], [8, 4_900.0, 1.0, 0.0])
    assert all(a < b for a, b in pairwise(found))
    assert found[7] == pytest.approx(4_900, rel=0.1)
    # Twice the workers do less than twice as much.
    assert found[15] < 1.8 * found[7]


def test_far_from_the_only_size_that_was_seen_the_worse_of_two_laws_is_believed() -> None:
    found = rates([4, 4_000.0, 1.0, 0.0])
    assert found[3] == pytest.approx(4_000, rel=0.01)
    # Fewer do no more than each did, and more do less.
    assert found[0] == pytest.approx(1_000, rel=0.01)
    assert 10_000 < found[15] < 13_500


def behind(learned: capacity.Learned, from_s: float, rps: float) -> capacity.Learned:
    """After some looks at a job of eight workers that does so much and falls behind."""
    job = base(0.0, batches=None)
    for at_s in np.arange(from_s, from_s + 50, 5.0):
        done = rps * (at_s - from_s)
        source = replace(job.sources[0], arrived=Reading(1e6 + 2 * done, at_s), committed=Reading(done, at_s))
        now = look(at_s, replace(job, sources=(source,)), ready=8)
        learned = capacity.update(learned, now.queries[0], now.pools[0], at_s)
    return learned


def test_what_was_known_at_other_sizes_is_forgotten_of_a_job_that_twice_does_half_as_much_as_before() -> None:
    learned = capacity.start() | {"rates": [[4, 4_000.0, 1.0, 0.0], [8, 7_000.0, 1.0, 100.0]]}
    sizes = np.array([4.0, 8.0])
    once = behind(learned, 300.0, 3_500.0)
    found = capacity.find_rates(once, sizes, 350.0)
    assert found is not None
    assert found[0] > 2_000
    twice = behind(once, 400.0, 3_500.0)
    assert capacity.find_rates(twice, sizes, 450.0) == pytest.approx([1_750, 3_500], rel=0.05)


def test_work_that_is_done_again_after_a_restart_is_not_taken_for_what_a_job_can_do() -> None:
    learned = capacity.start() | {"rates": [[4, 1_000.0, 1.0, 0.0]]}
    job = base(0.0, batches=None)
    for at_s in np.arange(300.0, 345.0, 5.0):
        # For fifteen seconds what was done before the stop is done again.
        done = 1_000.0 * max(0.0, at_s - 315)
        source = replace(job.sources[0], arrived=Reading(done + 5e4, at_s), committed=Reading(done, at_s))
        now = look(at_s, replace(job, sources=(source,)))
        learned = capacity.update(learned, now.queries[0], now.pools[0], at_s)
        assert all(rate == pytest.approx(1_000, rel=0.01) for _, rate, *_ in learned["rates"])
    assert len(learned["rates"]) == 2


def test_two_batches_in_a_row_that_take_twice_as_long_are_another_job_and_one_is_an_accident() -> None:
    usual = batches([2.0] * 10)
    before, once, twice = (
        learning.batch_model(learn(seen), seen[-1][1])
        for seen in (usual, batches([2.0] * 9 + [4.0]), batches([2.0] * 9 + [4.0, 4.0]))
    )
    assert before is not None
    assert once is not None
    assert twice is not None

    def batch_s(model: learning.BatchModel) -> float:
        return model.stretch * model.cost.slot_s(10_000) * learning.wave_share(learning.waves_of(usual[-1][1]), 4)

    assert batch_s(once) == pytest.approx(batch_s(before), rel=0.1)
    assert batch_s(twice) == pytest.approx(2 * batch_s(before), rel=0.1)


def test_a_second_slow_batch_counts_before_it_has_ended() -> None:
    seen = batches([2.0] * 9 + [4.0])
    state = learn(seen)
    running = RunningBatch(id=10, started_s=100.0, rows=10_000.0)
    for at_s in (100.1, 104.4):
        query_now = replace(seen[-1][1], running=running)
        state = learning.update(state, query_now, look(at_s, query_now))
    early, late = (learning.batch_model(state, query_now, at_s) for at_s in (101.0, 104.4))
    assert early is not None
    assert late is not None
    assert late.stretch > 1.7 * early.stretch


def test_the_memory_is_plain() -> None:
    state = learn(batches([2.0] * 5))
    assert json.loads(json.dumps(state)) == state

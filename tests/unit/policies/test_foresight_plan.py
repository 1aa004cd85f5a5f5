"""The cheapest path of sizes: worker time, late records and changes, each at its price."""

from itertools import product

import numpy as np
import pytest

from elastream.policies.foresight.choice import Loads
from elastream.policies.foresight.plan import Phase, PlannedCosts, Prices, plan
from elastream.policies.foresight.plant import BatchPlant, BitMap, StreamPlant
from elastream.policies.foresight.stream import find_floor

SIZES = np.array([1.0, 2.0, 4.0])
BATCHES = BatchPlant(
    sizes=SIZES, fixed_s=np.ones(3), row_s=1e-3 / SIZES, trigger_s=10.0, noise=0.0, bound_s=30.0
)  # fmt: skip
STREAM = StreamPlant(
    sizes=SIZES, rates_rps=1_000 * SIZES, grow_s=20.0, shrink_s=20.0, replay_s=0.0, base_s=0.0, bound_s=60.0
)  # fmt: skip
PRICES = Prices(late=0.02, change=5.0, work=1e-3)
EVERY = np.ones(3, dtype=bool)


def ahead(
    rps: float,
    *,
    plant: BatchPlant | StreamPlant = BATCHES,
    prices: Prices = PRICES,
    may: BitMap = EVERY,
    until_s: float = 120.0,
) -> PlannedCosts:
    load = np.array([rps])
    phases = [Phase(30.0, load, np.ones(1)), Phase(until_s, load, np.ones(1))]
    return plan(plant, phases, prices, step_s=10.0 if plant is BATCHES else 30.0, bound_s=plant.bound_s, may_shrink=may)


def costs(found: PlannedCosts, age_s: float) -> list[float]:
    return [float(cost) for cost in found.cost(np.full((1, 3), age_s))[0]]


def test_a_load_that_the_smallest_size_keeps_up_with_is_cheapest_there() -> None:
    one, two, four = costs(ahead(500.0), 10.0)
    # A hundred and twenty seconds of one executor; from more of them a change, and nothing else.
    assert one == pytest.approx(120, rel=0.05)
    assert two == four == pytest.approx(one + PRICES.change, abs=0.5)


def test_a_load_that_is_too_much_for_one_makes_it_grow_before_records_are_late() -> None:
    at_once, never = (ahead(1_500.0, prices=Prices(late=0.02, change=price, work=1e-3)) for price in (5.0, 5_000.0))
    one, two, _ = costs(at_once, 10.0)
    assert two + PRICES.change < one < 1.5 * two
    assert costs(never, 10.0)[0] > 2 * one


def test_the_older_what_waits_the_more_it_costs() -> None:
    found = ahead(1_500.0)
    by_age = [costs(found, age_s)[1] for age_s in (10.0, 20.0, 30.0, 50.0, 70.0)]
    assert by_age == sorted(by_age)
    assert by_age[-1] > by_age[0]


def test_what_will_not_keep_up_is_not_shrunk_to_however_cheap() -> None:
    free = Prices(late=0.0, change=0.0, work=0.0)
    only_four = np.array([False, False, True])
    assert costs(ahead(3_000.0, prices=free), 10.0)[2] == pytest.approx(120, rel=0.05)
    assert costs(ahead(3_000.0, prices=free, may=only_four), 10.0)[2] == pytest.approx(480, rel=0.01)


def test_a_change_that_costs_more_than_it_saves_is_not_made() -> None:
    dear = Prices(late=0.02, change=500.0, work=1e-3)
    assert costs(ahead(500.0, prices=dear), 10.0)[1] == pytest.approx(240, rel=0.05)


def test_a_job_that_a_change_stops_is_changed_only_where_the_stop_is_over_in_time() -> None:
    # At 900/s one worker keeps up, but after a stop it does not catch up.
    one, two, _ = costs(ahead(900.0, plant=STREAM), 0.0)
    assert one == pytest.approx(120, rel=0.05)
    assert one < two


def test_who_will_not_keep_up_has_a_stop_before_him() -> None:
    # At 1,400/s one worker falls behind by 12 s in half a minute. From 35 s nobody is late by then, but a stop of 20 s
    # makes many so; at once it makes none.
    one, two, _ = costs(ahead(1_400.0, plant=STREAM, until_s=30.0), 35.0)
    assert one > two + PRICES.change
    # What keeps up stays as cheap as it is.
    assert costs(ahead(900.0, plant=STREAM), 0.0)[0] == pytest.approx(120, rel=0.05)


def test_while_what_waited_is_worked_off_a_change_that_nobody_foresaw_would_cost_more() -> None:
    # Two keep up with 1,500/s: nobody is late, from either age, but from 55 s a stop of 20 s makes many so.
    prices, enough = Prices(late=0.02, change=5.0, work=0.0), np.array([False, True, True])
    found = ahead(1_500.0, plant=STREAM, prices=prices, may=enough)
    fresh, behind, old = (costs(found, age_s)[1] for age_s in (0.0, 20.0, 55.0))
    assert old > fresh + 1
    assert behind == pytest.approx(fresh, abs=0.2)


def test_who_is_behind_and_falls_back_further_gets_what_keeps_up_or_all_there_is() -> None:
    load = np.full(3, 1_500.0)
    loads = Loads(1_500.0, 1_500.0, load, load, np.ones(1), {})

    def floor(wanted: int, age_s: float) -> float:
        return find_floor(STREAM, loads, wanted, STREAM.keeps_up(1_500.0), age_s)

    assert [floor(1, age_s) for age_s in (5.0, 15.0, 150.0)] == [0.0, 2.0, 4.0]
    # Who catches up is left to the plan.
    assert [floor(2, age_s) for age_s in (15.0, 150.0)] == [0.0, 4.0]


def test_no_path_of_sizes_is_cheaper_than_the_plan() -> None:
    load, rps = np.array([[2_500.0]]), np.array([2_500.0])
    found = plan(
        BATCHES, [Phase(30.0, rps, np.ones(1))], PRICES, step_s=10.0, bound_s=BATCHES.bound_s, may_shrink=EVERY
    )  # fmt: skip

    def cost_of(path: tuple[int, ...], age_s: float) -> float:
        """Steps of ten seconds: new executors are paid from the step they are asked for in, and work in the next."""
        total, now = 0.0, 0
        for size in path:
            works = min(size, now)
            step = BATCHES.step(np.full((3, 1), age_s), load, load, 10.0)
            total += PRICES.late * float(step.late[works, 0]) + 10.0 * SIZES[size] + PRICES.change * (size != now)
            age_s, now = float(step.age_s[works, 0]), size
        return total + PRICES.work / 2 * age_s * 2_500

    best = min(cost_of(path, 20.0) for path in product(range(3), repeat=3))
    # The plan reads what comes between two of its ages off a straight line.
    assert costs(found, 20.0)[0] == pytest.approx(best, rel=0.03)

"""Each part of foresight can be left out, to see what it is worth, and takes nothing else with it."""

from dataclasses import replace

import pytest

from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.estimators.outlook import Expected
from elastream.policies import policies
from elastream.policies.foresight.choice import Ingredient, Taste, find_loads, find_phases
from elastream.simulator.published import PUBLISHED
from elastream.simulator.run import Simulation
from elastream.testing import Story, application, tell
from elastream.workloads import parse_workload

SCATTERED = (-0.4, -0.1, 0.0, 0.1, 0.5)
EXPECTED = (Expected(1000.0, SCATTERED, leap=0.7), Expected(900.0, SCATTERED, leap=0.7))
UNSTEADY = "40k + spike(45k, at=6m, for=4m) + spike(20k, at=14m, for=2m)"


def taste(without: Ingredient = "nothing") -> Taste:
    return Taste(calm=5.0, late=25.0, keep=0.7, without=without)


def test_without_spread_one_load_is_planned_for() -> None:
    loads = find_loads(EXPECTED, taste("spread"))
    assert set(loads.soon) == {1000.0}
    assert set(loads.later) == {900.0}
    assert (loads.lasting, len(loads.lumps)) == (1000.0, 1)
    assert find_loads(EXPECTED, taste()).later.max() > 900.0


def test_without_leaps_a_leap_does_not_go_on() -> None:
    stays = find_loads(tuple(one._replace(leap=0.0) for one in EXPECTED), taste())
    assert find_loads(EXPECTED, taste("leaps")).later == pytest.approx(stays.later)
    assert find_loads(EXPECTED, taste()).later.max() > 1.2 * stays.later.max()


def test_without_the_time_ahead_one_step_is_planned() -> None:
    loads = find_loads(EXPECTED, taste())
    assert [phase.until_s for phase in find_phases(loads, taste(), 10.0, soon=3, steps=12)] == [30.0, 120.0]
    assert [phase.until_s for phase in find_phases(loads, taste("ahead"), 10.0, soon=3, steps=12)] == [10.0]


def run(without: Ingredient) -> Story:
    """A job whose batches scatter and become twice as long, under a load that moves."""
    base = application("enrich", max_workers=16, initial_workers=6).promising(Slo(delay_s=30.0))
    queries = tuple(replace(query, noise=0.2, trigger=Trigger(interval_s=10.0)) for query in base.queries)
    app = replace(base, queries=queries)
    return tell(app, UNSTEADY, "foresight", minutes=20, tick_s=5, without=without)


@pytest.fixture(scope="module")
def whole() -> list[int]:
    return run("nothing").wanted()


@pytest.mark.parametrize("part", ["care", "noise", "slack", "waves"])
def test_a_part_of_batches_that_is_left_out_decides_otherwise(part: Ingredient, whole: list[int]) -> None:
    assert run(part).wanted() != whole


def sizes_of_stream(without: Ingredient) -> list[int]:
    model = PUBLISHED["daedalus-wordcount"].resized(min_workers=1, max_workers=16, initial_workers=6)
    policy, load = policies.build("foresight", {"without": without}), parse_workload("sine(12k..30k, period=8m)")
    story, promising = Story(), model.promising(Slo(delay_s=60.0))
    Simulation(promising, load, policy, name="foresight", duration_s=900, tick_s=5.0, seed=7).run([story])
    return story.wanted()


def test_who_does_not_count_what_a_stop_costs_decides_otherwise() -> None:
    assert sizes_of_stream("stops") != sizes_of_stream("nothing")

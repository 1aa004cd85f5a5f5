"""The experiments of the DS2 paper (Kalavri et al., OSDI 2018) on the continuous engine: what has to stay as it is.

`python -m experiments.ds2` runs all of them and scores them against its tables; here stands a run or two of each.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from elastream.policies import policies
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    MeasuringModel,
    OperatorModel,
    RestartModel,
    own_pools,
)
from elastream.simulator.published import published
from elastream.simulator.run import Simulation
from elastream.testing import Story
from elastream.workloads import parse_workload

Sizes = dict[str, int]

SENTENCES = f"constant({1e6 / 60:.6f})"


def starting(model: DataflowModel, **workers: int) -> DataflowModel:
    """The model with other sizes at the start."""
    pools = {
        name: replace(pool, initial_workers=workers.get(name, pool.initial_workers))
        for name, pool in model.pools.items()
    }
    return replace(model, pools=pools)


def run(
    model: DataflowModel, load: str, policy: str, *, minutes: float, tick_s: float = 10.0, **settings: Any
) -> Story:
    """Every tick of a run."""
    story = Story()
    Simulation(
        model,
        parse_workload(load),
        policies.build(policy, settings),
        name=policy,
        duration_s=minutes * 60,
        tick_s=tick_s,
        seed=7,
    ).run([story])
    assert not any(tick.troubles for tick in story.ticks)
    return story


def decided(story: Story) -> list[tuple[float, Sizes]]:
    """Sizes other than those of sources, and since when, each told once."""
    found: list[tuple[float, Sizes]] = []
    for tick in story.ticks:
        assert tick.decision is not None
        sizes = {name: size for name, size in tick.decision.allocation.items() if not name.startswith("source")}
        if not found or found[-1][1] != sizes:
            found.append((tick.at_s, sizes))
    return found


def path(story: Story, pool: str) -> list[int]:
    """The sizes of one pool, one after the other."""
    sizes = [of[pool] for _, of in decided(story)]
    return [sizes[0], *(after for before, after in pairwise(sizes) if after != before)]


def test_word_count_on_heron_is_right_after_a_minute_and_one_decision() -> None:
    found = decided(run(published("heron-wordcount"), SENTENCES, "ds2-heron-wordcount", minutes=60))
    assert found == [(0.0, {"flatmap": 1, "count": 1}), (60.0, {"flatmap": 10, "count": 20})]


@pytest.mark.parametrize("start", [8, 28])
@pytest.mark.parametrize(("query", "load", "final"), [("q2", "4M", 14), ("q8", "540k", 10)])
def test_nexmark_on_flink_ends_where_table_4_does_after_at_most_three_steps(
    query: str, load: str, final: int, start: int
) -> None:
    model = published(f"ds2-nexmark-{query}")
    main = model.operators[-1].name
    story = run(starting(model, **{main: start}), f"constant({load})", "ds2-convergence", minutes=20, tick_s=30.0)
    sizes = path(story, main)
    assert sizes[-1] == final
    assert len(sizes) - 1 <= 3
    # Whoever comes from below does not overshoot. From above the paper's own runs went too low first: useful time
    # misses overhead at low load.
    assert max(sizes[1:]) <= final


@pytest.mark.parametrize("start", [1, 16])
def test_nexmark_on_timely_gets_four_workers_from_every_start(start: int) -> None:
    model = starting(published("timely-nexmark-q3"), workers=start)
    story = run(model, "constant(3.8M)", "ds2-timely", minutes=15, tick_s=30.0)
    assert path(story, "workers") == [start, 4]


def test_on_timely_a_source_that_counts_costs_a_worker_though_it_does_next_to_nothing() -> None:
    """Sizes are rounded before they are added up, so the readers' hundredth of a worker becomes one each."""
    model, load = published("timely-nexmark-q3"), "constant(3.8M)"
    story = run(model, load, "ds2-timely", minutes=15, tick_s=30.0, sources="count")
    assert path(story, "workers")[-1] == 6
    story = run(model, load, "ds2-timely", minutes=15, tick_s=30.0, sources="count", rounding="per_pool")
    assert path(story, "workers")[-1] == 4


@pytest.mark.parametrize("policy", ["ds2-dynamic-wordcount", "ds2-convergence"])
def test_a_frequent_word_is_not_scaled_for_and_makes_no_loop(policy: str) -> None:
    """On Flink, where buffers are small and each operator holds back what feeds it."""
    model = with_operators(published("flink-wordcount-limited"), {"count": {"hot_share": 0.5}})
    story = run(model, SENTENCES, policy, minutes=30)
    found = decided(story)
    assert found[-1][1] == {"flatmap": 10, "count": 20}
    assert len(found) - 1 <= 2
    assert found[-1][0] < 600.0
    # The target is not met.
    looks = story.looks(from_s=1500.0)
    made = [look.queries[0].operators[-1].records_in for look in (looks[0], looks[-1])]
    assert made[0] is not None
    assert made[1] is not None
    assert (made[1].value - made[0].value) / (looks[-1].at_s - looks[0].at_s) < 0.5 * 20 * 1e6 / 60


# Instances really needed where the sizes in the end are 19 and 7, 11 and 5.
NEEDED = [(18.5, 6.5, 10.5, 4.5), (18.1, 6.1, 10.1, 4.1), (18.9, 6.9, 10.9, 4.9), (18.9, 6.1, 10.9, 4.1)]


@pytest.mark.parametrize("needed", NEEDED)
def test_a_rate_that_halves_is_followed_in_two_steps_up_and_two_down(needed: tuple[float, ...]) -> None:
    """Published: 40 s 14/7, 150 s 19/11, 803 s 7/4, 900 s 7/5."""
    story = run(on_machines(*needed), "step(2M, 1M, at=800s)", "ds2-dynamic-wordcount", minutes=25)
    found = decided(story)
    up = [(at_s, sizes) for at_s, sizes in found[1:] if at_s < 800]
    down = [(at_s, sizes) for at_s, sizes in found[1:] if at_s >= 800]
    assert up[0][0] == 40.0
    assert up[0][1]["flatmap"] in (13, 14)
    assert up[-1][1] == {"flatmap": 19, "count": 11}
    assert up[-1][0] <= 200.0
    assert len(up) == 2
    assert down[0][0] == 810.0
    assert down[-1][1] == {"flatmap": 7, "count": 5}
    assert down[-1][0] <= 900.0
    assert len(down) == 2
    # The recorded redeployments, in order.
    assert downtimes(story) == pytest.approx([30.0, 50.0, 42.0, 30.0], abs=10.0)


def on_machines(flatmap_2m: float, flatmap_1m: float, count_2m: float, count_1m: float) -> DataflowModel:
    """The job, with so many instances needed for 2M sentences/s on several machines and for 1M/s on one."""
    model = published("flink-wordcount")
    near = {"flatmap": 1e6 / flatmap_1m, "count": 20e6 / count_1m}
    apart = {"flatmap": 2e6 / flatmap_2m, "count": 40e6 / count_2m}
    return with_operators(
        model,
        {name: {"rate_rps": rps, "apart_cost": 1 - apart[name] / rps} for name, rps in near.items()},
    )


def with_operators(model: DataflowModel, changes: Mapping[str, Mapping[str, Any]]) -> DataflowModel:
    """The model with some operators changed, by their names."""
    operators = tuple(replace(one, **changes.get(one.name, {})) for one in model.operators)
    return replace(model, operators=operators)


def test_on_a_power_law_through_the_same_sizes_the_way_up_takes_three_steps() -> None:
    """Whichever sizes between 18 and 19, 6 and 7 are really needed.

    The published steps lie on no such curve: 14 from 10 instances, and 19 from 14, mean that 40 % more of them did at
    most 9 % more, and 36 % more after that did 29 % more at least.
    """
    story = run(published("flink-wordcount-power"), "constant(2M)", "ds2-dynamic-wordcount", minutes=10)
    assert [sizes["flatmap"] for _, sizes in decided(story)] == [10, 16, 18, 19]


def downtimes(story: Story) -> list[float]:
    """How long the job stood still each time, as far as looks tell."""
    found: list[float] = []
    was_down = False
    for before, now in pairwise(story.looks()):
        is_down = now.queries[0].phase == "restarting"
        if is_down:
            found = [*found[:-1], found[-1] + now.at_s - before.at_s] if was_down else [*found, now.at_s - before.at_s]
        was_down = is_down
    return found


def test_outputs_of_different_size_to_several_operators_are_told_apart() -> None:
    """One operator feeds three: half a record to one, three to another, a quarter to one that the first feeds too."""
    for buffer in (None, 1_000.0):
        operators = (
            OperatorModel(name="parse", after=(Feed("events"),), rate_rps=1_000.0),
            OperatorModel(name="few", after=(Feed("parse", 0.5),), rate_rps=200.0, buffer=buffer),
            OperatorModel(name="many", after=(Feed("parse", 3.0),), rate_rps=500.0, buffer=buffer),
            OperatorModel(name="both", after=(Feed("parse", 0.25), Feed("few")), rate_rps=250.0, buffer=buffer),
        )
        model = DataflowModel(
            name="fork",
            logs=(LogModel(name="events"),),
            operators=operators,
            pools=own_pools(operators, replace(WARM, max_workers=60)),
        )
        found = decided(run(model, "constant(2900)", "ds2", minutes=15))
        # 2.9, 1,450 of 200, 8,700 of 500 and 725 + 1,450 of 250.
        assert [sizes for _, sizes in found[1:]] == [{"parse": 3, "few": 8, "many": 18, "both": 9}]


def saturated() -> DataflowModel:
    """One operator of 1,000 records/s per instance that is busy for nine tenths at most; a change takes 30 s."""
    operators = (OperatorModel(name="map", after=(Feed("events"),), rate_rps=1_000.0),)
    return DataflowModel(
        name="saturated",
        logs=(LogModel(name="events"),),
        operators=operators,
        pools=own_pools(operators, replace(WARM, max_workers=60, initial_workers=2)),
        measuring=MeasuringModel(busy_ceiling=0.9),
        restart=RestartModel(grow_s=30.0, shrink_s=30.0),
    )


def test_without_a_factor_a_whole_number_of_busy_instances_leaves_the_lag_and_with_the_lag_counted_it_is_drained() -> (
    None
):
    """3,300 records/s at 1,111 per second of busy time seem to need 2.97 instances; they need 3.3."""
    load, model = "constant(3300)", saturated()
    plain = run(model, load, "ds2-kanis", minutes=60, tick_s=15.0, over_provision=1.0)
    assert path(plain, "map") == [2, 3]
    assert plain.backlog()[-1] > plain.backlog(from_s=1_800.0)[0] > 3_300 * 60
    extended = run(model, load, "ds2-kanis-lag", minutes=60, tick_s=15.0)
    assert extended.backlog()[-1] < 3_300
    assert path(extended, "map")[-1] == 4
    # A fifth more is enough as well, here.
    assert run(model, load, "ds2-kanis", minutes=60, tick_s=15.0).backlog()[-1] < 3_300

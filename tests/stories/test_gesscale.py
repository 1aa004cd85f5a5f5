"""The mechanisms by which Gesscale's document explains its table III, each by itself in a world made to show it.

The table is not reproducible from the document (`experiments/gesscale` is the study of what it hangs on).
The nodes, rates and loads here are ours; where a mechanism needs something, the same world without it is run too.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from elastream.core.observation import Observation
from elastream.estimators.capacity import Saturated
from elastream.policies import Gesscale, policies
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    OperatorModel,
    PlacesModel,
    RestartModel,
)
from elastream.simulator.run import Simulation
from elastream.testing import Story
from elastream.workloads import parse_workload

# Twelve nodes; between two of them the delay is that of the farther one.
NODES_MS = {f"node{ms}": float(ms) for ms in (5, 25, 50, 75, 100, 125, 150, 175, 200, 225, 250, 300)}
NEAREST = ("node5", "node25")
AWARE, UNAWARE = {"thr-nlaware", "gesscale"}, {"thr-nlunaware", "mdl-nlunaware"}
SEEDS = range(3)

# Rises so slowly that every step up is seen by itself.
RISE = "ramp(100..450, for=3h)"


def fog(*, scaling: float = 0.95, delay_cost_rps: float = 0.5) -> DataflowModel:
    """One operator of 100 records/s per worker; the farthest node costs all of them together a worker and a half."""
    delays = {a: {b: max(NODES_MS[a], NODES_MS[b]) for b in NODES_MS if b != a} for a in NODES_MS}
    operator = OperatorModel(
        name="map",
        after=(Feed("rides"),),
        rate_rps=100.0,
        scaling=scaling,
        delay_cost_rps=delay_cost_rps,
        buffer=100.0,
    )
    return DataflowModel(
        name="fog",
        logs=(LogModel(name="rides"),),
        operators=(operator,),
        pools={"map": replace(WARM, min_workers=2, max_workers=12, initial_workers=2, cpu_ceiling=0.95)},
        restart=RestartModel(grow_s=30.0, shrink_s=30.0),
        places=PlacesModel(nodes=tuple(NODES_MS), delays_ms=delays, start=NEAREST),
    )


def told(model: DataflowModel, policy: str, load: str, *, minutes: float, seed: int = 1, **settings: Any) -> Story:
    """A run in which what is caught up with after a change is not taken for load, as in the public code."""
    story = Story()
    decides = policies.build(policy, {"warm_up_s": 300.0, **settings})
    Simulation(model, parse_workload(load), decides, name=policy, duration_s=minutes * 60, tick_s=15.0, seed=seed).run(
        [story]
    )
    assert not any(tick.troubles for tick in story.ticks)
    return story


def steps(story: Story, from_s: float = 0.0) -> list[int]:
    """By how much each change grew the pool, or shrank it."""
    return [after - before for before, after in pairwise(story.wanted(from_s)) if after != before]


def rises(policy: str, **fog_settings: float) -> list[Story]:
    """The slow rise, with several draws of nodes where a policy does not choose them."""
    seeds = SEEDS if policy in UNAWARE else SEEDS[:1]
    return [told(fog(**fog_settings), policy, RISE, minutes=200, seed=seed) for seed in seeds]


def peaks(stories: Iterable[Story]) -> list[int]:
    return [max(story.wanted()) for story in stories]


@pytest.mark.parametrize(("aware", "unaware"), [("thr-nlaware", "thr-nlunaware"), ("gesscale", "mdl-nlunaware")])
def test_who_knows_the_network_peaks_lower_and_changes_less_while_growing(aware: str, unaware: str) -> None:
    (knowing,), guessing = rises(aware), rises(unaware)
    assert min(peaks(guessing)) >= max(knowing.wanted())
    assert sum(peaks(guessing)) > len(guessing) * max(knowing.wanted()), "most draws take a worker more"
    assert sum(len(steps(story)) for story in guessing) > len(guessing) * len(steps(knowing))
    # Nobody is short of workers in the end, so that it was the nodes and not the patience.
    assert all(story.backlog()[-1] < 450 * 60 for story in (knowing, *guessing))


@pytest.mark.parametrize(("aware", "unaware"), [("thr-nlaware", "thr-nlunaware"), ("gesscale", "mdl-nlunaware")])
def test_where_delays_cost_nothing_knowing_them_gains_nothing(aware: str, unaware: str) -> None:
    (knowing,), guessing = rises(aware, delay_cost_rps=0.0), rises(unaware, delay_cost_rps=0.0)
    assert set(peaks(guessing)) == {max(knowing.wanted())}


def falls(policy: str, *, delay_cost_rps: float) -> list[int]:
    """The changes after the load has fallen from what six workers or more need to what two are enough for."""
    story = told(fog(delay_cost_rps=delay_cost_rps), policy, "step(400..100, at=2h)", minutes=210)
    assert max(story.wanted(to_s=7_200.0)) >= 6
    # Two workers on far nodes are busy for more than half of the time.
    assert story.wanted()[-1] in (2, 3)
    assert story.backlog()[-1] < 100 * 60
    return steps(story, from_s=7_200.0)


def test_a_model_removes_several_workers_at_once_and_thresholds_one_after_the_other() -> None:
    modelled, thresholds = (
        {policy: falls(policy, delay_cost_rps=0.2) for policy in names}
        for names in (("gesscale", "mdl-nlunaware"), ("thr-nlaware", "thr-nlunaware"))
    )
    assert all(min(changes) <= -2 and len(changes) == 2 for changes in modelled.values()), modelled
    assert all(set(changes) == {-1} and len(changes) >= 5 for changes in thresholds.values()), thresholds


def test_a_model_that_leaves_out_a_network_which_costs_much_shrinks_too_far_and_comes_back() -> None:
    blind, knowing = falls("mdl-nlunaware", delay_cost_rps=0.5), falls("gesscale", delay_cost_rps=0.5)
    assert max(blind) > 0 > max(knowing)
    assert len(blind) > len(knowing)


def measurements(looks: Iterable[Observation]) -> list[Saturated]:
    """What Gesscale has measured, in the order in which it did."""
    policy, found = Gesscale(warm_up_s=300.0), dict[tuple[float, float], Saturated]()
    memory = policy.start()
    for look in looks:
        memory = policy.learn(memory, look, None)
        found |= {(n, delay): Saturated(n, rps, delay) for n, rps, delay in memory["map"]["measured"]}
    return list(found.values())


@pytest.mark.parametrize(("scaling", "delay_cost_rps"), [(0.75, 0.5), (0.85, 0.2), (0.95, 0.0)])
def test_with_three_measurements_the_model_is_wrong_by_less_than_two_percent(
    scaling: float, delay_cost_rps: float
) -> None:
    """Of sizes that were never seen too. Who scales as alpha n^beta is so in this world by definition: what is shown is
    that overloads are noticed, measured while nothing else disturbs, and enough to find all three constants."""
    story = told(fog(scaling=scaling, delay_cost_rps=delay_cost_rps), "gesscale", RISE, minutes=150)
    seen = measurements(story.looks())
    assert len(seen) >= 3

    def worst(count: int) -> float:
        model = Gesscale().model(seen[:count])
        assert model is not None
        nodes = sorted(NODES_MS.values())
        true = {n: 100.0 * n**scaling - delay_cost_rps * nodes[n - 1] for n in range(2, 8)}
        return float(max(abs(model.rps(n, nodes[n - 1]) / rps - 1) for n, rps in true.items()))

    assert worst(3) < 0.02
    # Which takes three: with one they are taken to add up, with two the network is known and the rest adds up.
    assert worst(1) > worst(2) > worst(3)

"""What is known of published autoscalers, seen again on the continuous engine."""

import math
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
    OperatorModel,
    RestartModel,
    own_pools,
)
from elastream.simulator.run import Simulation
from elastream.testing import Story
from elastream.workloads import parse_workload

PER_MINUTE = 1 / 60
SENTENCES_RPS = 1e6 * PER_MINUTE


def word_count(*, source_rps: float, retention_s: float | None) -> DataflowModel:
    """Rate-limited word count: 1M sentences/min, 100K sentences/min per flatmap, 1M words/min per count, start 1/1."""
    operators = (
        OperatorModel(name="source", after=(Feed("sentences"),), rate_rps=source_rps),
        OperatorModel(name="flatmap", after=(Feed("source"),), rate_rps=1e5 * PER_MINUTE, buffer=100_000.0),
        OperatorModel(name="count", after=(Feed("flatmap", 20.0),), rate_rps=1e6 * PER_MINUTE, buffer=100_000.0),
    )
    return DataflowModel(
        name="word-count",
        logs=(LogModel(name="sentences", retention_s=retention_s),),
        operators=operators,
        pools=own_pools(operators, replace(WARM, max_workers=100, initial_workers=1)),
        restart=RestartModel(grow_s=30.0, shrink_s=30.0),
    )


def generator() -> DataflowModel:
    """A source that makes sentences at the fixed rate, and none while it is held back: what Heron's spout does."""
    return word_count(source_rps=SENTENCES_RPS, retention_s=0.0)


def kept_log() -> DataflowModel:
    """A source that reads a log in which nothing is lost, and can catch up at twice the rate at which it fills."""
    return word_count(source_rps=2 * SENTENCES_RPS, retention_s=None)


def told(model: DataflowModel, load: str, policy: str, *, minutes: float, **settings: Any) -> Story:
    story = Story()
    Simulation(
        model,
        parse_workload(load),
        policies.build(policy, settings),
        name=policy,
        duration_s=minutes * 60,
        tick_s=15.0,
    ).run([story])
    assert not any(tick.troubles for tick in story.ticks)
    return story


def changes(story: Story) -> list[dict[str, tuple[int, int]]]:
    """What each decision changed, in order: pool -> from, to."""
    sizes = [tick.decision.allocation for tick in story.ticks if tick.decision is not None]
    steps = [{name: (a[name], b[name]) for name in a if a[name] != b[name]} for a, b in pairwise(sizes)]
    return [step for step in steps if step]


def end(story: Story) -> dict[str, int]:
    last = story.ticks[-1].decision
    assert last is not None
    return dict(last.allocation)


SENTENCES = f"constant({SENTENCES_RPS:.6f})"


@pytest.mark.parametrize("model", [generator(), kept_log()], ids=["generator", "kept log"])
def test_dhalion_in_heron_goes_up_in_five_steps_of_one_operator_each(model: DataflowModel) -> None:
    steps = changes(told(model, SENTENCES, "dhalion-heron", minutes=60))
    assert len(steps) == 5
    assert [list(step) for step in steps] == [["count"], ["flatmap"], ["count"], ["flatmap"], ["count"]]
    assert all(after <= 5 * before for step in steps for before, after in step.values())


def test_dhalion_ends_over_provisioned_where_a_log_has_to_be_caught_up_with() -> None:
    # 10 and 20 are enough. It stops when nothing is held up any more, which is while the source still reads twice as
    # fast as the log fills, and Heron's has no way down. Published: six steps to 22 and 30.
    assert end(told(kept_log(), SENTENCES, "dhalion-heron", minutes=60)) == {"source": 1, "flatmap": 20, "count": 40}


def test_dhalion_ends_at_just_enough_where_nothing_piles_up() -> None:
    # Heron, which ended at 22 and 30, stops its sources for as long as a full queue takes to be worked off: the model
    # `heron-wordcount` does so.
    assert end(told(generator(), SENTENCES, "dhalion-heron", minutes=60)) == {"source": 1, "flatmap": 10, "count": 20}


def test_dhalion_with_a_way_down_cannot_tell_enough_from_too_much() -> None:
    story = told(kept_log(), SENTENCES, "dhalion", minutes=120)
    flatmap = [tick.decision.allocation["flatmap"] for tick in story.ticks if tick.decision is not None]
    peak = flatmap.index(20)
    # Having got there it shrinks by a fifth until something is held up again, which is below the 10 that are needed.
    assert min(flatmap[peak:]) == 9
    assert max(flatmap[flatmap.index(9, peak) :]) > 10


def test_dhalion_takes_fewer_steps_where_several_operators_may_grow_at_once() -> None:
    one, several = (
        changes(told(kept_log(), SENTENCES, "dhalion-heron", minutes=60, several=several)) for several in (False, True)
    )
    assert len(several) < len(one)


def saturated(*, start: int = 2) -> DataflowModel:
    """One operator that does 1,000 records/s per worker and whose processor use ends at 0.9."""
    operators = (OperatorModel(name="map", after=(Feed("events"),), rate_rps=1_000.0),)
    workers = replace(WARM, max_workers=200, initial_workers=start, cpu_ceiling=0.9)
    return DataflowModel(
        name="saturated",
        logs=(LogModel(name="events", retention_s=None),),
        operators=operators,
        pools=own_pools(operators, workers),
        restart=RestartModel(grow_s=30.0, shrink_s=30.0),
    )


@pytest.mark.parametrize("load", ["constant(8k)", "constant(80k)"])
def test_hpa_grows_by_ceiling_over_target_at_most_however_overloaded_it_is(load: str) -> None:
    steps = changes(told(saturated(), load, "hpa-kanis", minutes=20))
    ups = [step["map"] for step in steps if step["map"][1] > step["map"][0]]
    assert len(ups) >= 4
    assert all(after <= math.ceil(before * 0.9 / 0.7 - 1e-9) for before, after in ups)


def test_hpa_answers_ten_times_the_overload_with_the_same_first_steps() -> None:
    some, much = (changes(told(saturated(), f"constant({load})", "hpa-cpu", minutes=5)) for load in ("8k", "80k"))
    shared = min(len(some), len(much), 3)
    assert shared >= 2
    assert some[:shared] == much[:shared]


def test_hpa_that_knows_its_ceiling_gets_there_in_fewer_steps() -> None:
    def steps_to(size: int, **settings: Any) -> int:
        steps = changes(told(saturated(), "constant(40k)", "hpa-kanis", minutes=60, **settings))
        return 1 + next(number for number, step in enumerate(steps) if step["map"][1] >= size)

    assert steps_to(40, ceiling=0.9) < steps_to(40)


def test_varga_is_not_bound_by_the_ceiling_of_utilisation_while_lag_grows() -> None:
    first = changes(told(saturated(), "constant(8k)", "varga", minutes=10))[0]["map"]
    # Two workers take 2,000/s of 8,000/s: four times as many at once.
    assert first == (2, 8)

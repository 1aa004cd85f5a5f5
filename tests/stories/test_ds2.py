"""DS2 on the engines of the simulator: word count as in its paper, and micro-batches on a shared pool."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from elastream.core.observation import Trigger
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
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.run import Simulation
from elastream.testing import SinkBlocked, Story, application, tell
from elastream.workloads import parse_workload

# A million sentences per minute; a flatmap does a tenth of that, a count a million words of twenty per sentence.
SENTENCES = "constant(16666.666)"
FLATMAP_RPS, COUNT_RPS = 1e5 / 60, 1e6 / 60


def word_count(*, flatmap: int = 1, count: int = 1, restart_s: float = 5.0, **operators: Any) -> DataflowModel:
    """Flatmap and count, each with its own pool of at most 36."""
    parts = (
        OperatorModel(name="flatmap", after=(Feed("sentences"),), rate_rps=FLATMAP_RPS, **operators),
        OperatorModel(name="count", after=(Feed("flatmap", 20.0),), rate_rps=COUNT_RPS, buffer=1_000.0, **operators),
    )
    pools = dict(own_pools(parts, replace(WARM, max_workers=36)))
    for name, workers in (("flatmap", flatmap), ("count", count)):
        pools[name] = replace(pools[name], initial_workers=workers)
    return DataflowModel(
        name="word-count",
        logs=(LogModel(name="sentences"),),
        operators=parts,
        pools=pools,
        restart=RestartModel(grow_s=restart_s, shrink_s=restart_s),
    )


def run(model: DataflowModel, workload: str, policy: str, minutes: float, **settings: Any) -> Story:
    """Every tick of a run."""
    story = Story()
    Simulation(
        model,
        parse_workload(workload),
        policies.build(policy, settings),
        name=policy,
        duration_s=minutes * 60,
        tick_s=10.0,
        seed=7,
    ).run([story])
    assert not any(tick.troubles for tick in story.ticks)
    return story


def sizes(story: Story) -> list[tuple[int, int]]:
    """Flatmap and count, each pair told once."""
    found = [
        (tick.decision.allocation["flatmap"], tick.decision.allocation["count"])
        for tick in story.ticks
        if tick.decision is not None
    ]
    return [found[0], *(after for before, after in pairwise(found) if after != before)]


def test_word_count_goes_to_ten_and_twenty_in_one_decision_after_a_minute() -> None:
    story = run(word_count(), SENTENCES, "ds2-heron-wordcount", minutes=30)
    assert sizes(story) == [(1, 1), (10, 20)]
    changed = next(tick for tick in story.ticks if tick.decision and tick.decision.allocation["count"] == 20)
    assert changed.at_s == pytest.approx(60.0, abs=10.0)


def test_word_count_that_is_far_too_large_comes_down_in_one_decision() -> None:
    assert sizes(run(word_count(flatmap=30, count=36), SENTENCES, "ds2", minutes=20)) == [(30, 36), (10, 20)]


def test_a_rate_that_halves_is_followed_within_a_minute_and_sizes_stay_then() -> None:
    story = run(word_count(), "step(16666.666, 8333.333, at=800s)", "ds2-dynamic-wordcount", minutes=30)
    assert sizes(story) == [(1, 1), (10, 20), (5, 10)]
    assert any("flatmap: 8,333/s at 1,667/s per slot" in reason for reason in story.reasons(800, 860))


def test_operators_that_scale_less_than_linearly_need_at_most_three_steps() -> None:
    steps = sizes(run(word_count(scaling=0.93), SENTENCES, "ds2-convergence", minutes=60))
    assert len(steps) - 1 <= 3
    assert steps == sorted(steps)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.7])
def test_under_skew_it_stays_at_what_would_do_without(share: float) -> None:
    story = run(word_count(hot_share=share), SENTENCES, "ds2", minutes=30)
    assert sizes(story)[-1] == (10, 20)
    assert len(sizes(story)) <= 3
    # It does not meet the target, and says nothing of the kind.
    assert story.backlog()[-1] > story.backlog()[len(story.ticks) // 2] > 0


def test_with_a_time_to_drain_the_lag_is_worked_off_and_without_it_stays() -> None:
    plain = run(word_count(restart_s=30.0), SENTENCES, "ds2", minutes=40)
    drained = run(word_count(restart_s=30.0), SENTENCES, "ds2", minutes=40, drain_s=300.0)
    assert plain.backlog()[-1] > 16_000 * 30
    assert drained.backlog()[-1] < 16_000
    assert len(sizes(drained)) <= 6


def test_micro_batches_come_to_rest_at_a_size_that_keeps_up() -> None:
    story = tell(application(initial_workers=1), "constant(30k)", "ds2", minutes=40)
    later = story.wanted(from_s=600)
    assert max(later) - min(later) <= 1
    assert 3 <= later[-1] <= 4
    assert max(story.backlog(from_s=900)) < 30_000 * 20


def test_a_correction_that_helped_is_not_undone_while_the_load_stays() -> None:
    story = tell(application(initial_workers=2), "step(10k, 60k, at=10m)", "ds2", minutes=40)
    later = story.wanted(from_s=1200)
    assert sum(after != before for before, after in pairwise(later)) <= 1
    assert any("the sources fall short of their rate" in reason for reason in story.reasons(from_s=600))
    assert story.backlog()[-1] < 60_000 * 20


def test_on_micro_batches_the_published_form_stays_below_need_and_the_one_for_spark_does_not() -> None:
    """80,000/s are 8.2 slots' worth of useful time. In 24 tasks that takes as long on eleven slots as on eight."""
    published = tell(application(initial_workers=8, max_workers=40), "constant(80k)", "ds2", minutes=240)
    assert max(published.wanted(from_s=600)) < 12
    assert min(published.backlog(from_s=600)) > 80_000 * 15
    for start in (1, 8, 20):
        story = tell(application(initial_workers=start, max_workers=40), "constant(80k)", "ds2-spark", minutes=60)
        assert set(story.wanted(from_s=600)) == {12}
        assert max(story.backlog(from_s=900)) < 80_000 * 20
    assert any("in waves of 24 tasks 12.0 slots do a batch in 10 s" in reason for reason in story.reasons())


@pytest.mark.parametrize("start", [1, 20])
@pytest.mark.parametrize(
    ("name", "rate", "trigger_s", "needed"),
    [
        ("windowed-count", 40_000, 10.0, 5),
        ("windowed-count", 100_000, 10.0, 12),
        ("windowed-count", 60_000, 60.0, 8),
        ("enrich", 70_000, 60.0, 8),
        ("enrich", 120_000, 10.0, 24),
        ("windowed-count", 70_000, 2.0, 12),
    ],
)
def test_the_form_for_spark_reaches_a_size_that_is_enough_and_stays_there(
    name: str, rate: int, trigger_s: float, needed: int, start: int
) -> None:
    app = triggered(application(name, initial_workers=start, max_workers=40), trigger_s)
    story = tell(app, f"constant({rate})", "ds2-spark", minutes=60)
    assert set(story.wanted(from_s=2400)) == {needed}
    assert max(story.backlog(from_s=2400)) < rate * 2.2 * trigger_s


def triggered(app: ApplicationModel, trigger_s: float) -> ApplicationModel:
    queries = tuple(replace(query, trigger=Trigger(interval_s=trigger_s)) for query in app.queries)
    return replace(app, queries=queries)


def test_the_form_for_spark_does_not_pay_for_a_batch_that_was_late_once_and_works_off_an_outage() -> None:
    """Twelve workers are just enough, and cannot work off in time what a sink leaves that stands still for long."""
    app = application(initial_workers=12, max_workers=40)
    once = tell(app, "constant(100k)", "ds2-spark", minutes=30, faults=[SinkBlocked(at_s=900, for_s=12)])
    assert set(once.wanted(from_s=600)) == {12}
    outage = tell(app, "constant(100k)", "ds2-spark", minutes=60, faults=[SinkBlocked(at_s=900, for_s=300)])
    assert max(outage.wanted(from_s=900)) == 24
    assert any("lag is to be gone in time" in reason for reason in outage.reasons(from_s=900))
    assert set(outage.wanted(from_s=2700)) == {12}
    assert max(outage.backlog(from_s=2400)) < 100_000 * 22


def test_an_idle_query_goes_to_the_minimum() -> None:
    story = tell(application(initial_workers=8), "step(40k, 0, at=10m)", "ds2", minutes=20)
    assert story.wanted()[-1] == 1
    assert "no records reach it" in story.reasons()[-1]

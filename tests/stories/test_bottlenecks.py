"""What an operator would see when more executors cannot help: the cause, named, and no growth."""

import re
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.bottleneck import Bottleneck, find_bottlenecks
from elastream.core.guards import Guards
from elastream.core.guards.bottleneck import BottleneckGuard
from elastream.core.guards.partition_ceiling import PartitionCeiling
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.simulator.faults import SinkBlocked
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.testing import Story, application, tell

GUARDS: Guards = {"bottleneck": BottleneckGuard(), "partition_ceiling": PartitionCeiling()}
TICK_S = 5.0


def with_stages(app: ApplicationModel, **changes: Any) -> ApplicationModel:
    """The model with other stages."""
    queries = tuple(
        replace(query, stages=tuple(replace(stage, **changes) for stage in query.stages)) for query in app.queries
    )
    return replace(app, queries=queries)


def with_queries(app: ApplicationModel, **changes: Any) -> ApplicationModel:
    """The model with other queries."""
    return replace(app, queries=tuple(replace(query, **changes) for query in app.queries))


def found(story: Story, from_s: float = 0.0, to_s: float = float("inf")) -> list[Bottleneck]:
    """What was found on each look."""
    known = Knowledge()
    all_found: list[Bottleneck] = []
    for now in story.looks():
        known.fold(now)
        if from_s <= now.at_s <= to_s:
            all_found += find_bottlenecks(now, known)
    return all_found


@pytest.mark.parametrize("asap", [False, True])
def test_a_blocked_sink_is_named_and_nothing_grows_until_it_is_free_again(asap: bool) -> None:
    blocked = SinkBlocked(at_s=600.0, for_s=180.0)
    app = application(asap=asap, initial_workers=4)
    story = tell(app, "constant(30k)", "lag-proportional", minutes=30, guards=GUARDS, faults=[blocked], tick_s=TICK_S)
    during = found(story, 630, 775)
    assert {one.kind for one in during} == {"blocked-sink"}
    assert len(during) == len(story.looks(630, 775))
    assert "no task runs or waits" in during[-1].sentence
    assert "what waits has waited 1" in during[-1].sentence
    held = story.wanted(from_s=600, to_s=775)
    assert max(held) == held[0]
    # Free again, it grows to work off what has waited.
    assert max(story.wanted(from_s=780, to_s=960)) > max(held)
    assert not found(story, 1200)


def test_without_the_guard_a_blocked_sink_makes_the_pool_grow_in_vain() -> None:
    blocked = SinkBlocked(at_s=600.0, for_s=180.0)
    story = tell(
        application(initial_workers=4), "constant(30k)", "lag-proportional", minutes=15, faults=[blocked], tick_s=TICK_S
    )
    held = story.wanted(from_s=600, to_s=775)
    assert max(held) > held[0]


@pytest.mark.parametrize(("stage", "kind"), [("enrich", "hot-partition"), ("write", "hot-key")])
def test_one_task_with_most_records_is_named_and_not_bought_for(stage: str, kind: str) -> None:
    app = application("enrich" if stage == "enrich" else "windowed-count", initial_workers=4, max_workers=24)
    app = replace(
        app,
        queries=tuple(
            replace(
                query,
                stages=tuple(
                    replace(one, skew=12.0, slot_s_per_record=400e-6 if stage == "write" else one.slot_s_per_record)
                    if one.name == stage
                    else one
                    for one in query.stages
                ),
            )
            for query in app.queries
        ),
    )
    load = "constant(40k)" if stage == "enrich" else "constant(26k)"
    story = tell(app, load, "lag-proportional", minutes=20, guards=GUARDS, tick_s=TICK_S)
    named = found(story, 900)
    assert {one.kind for one in named} == {kind}
    assert len(named) >= 0.9 * len(story.looks(900))
    assert any(f"one of 24 tasks of {stage} takes" in one.sentence for one in named)
    # Some late batches are seen before it is known.
    bought = tell(app, load, "lag-proportional", minutes=20, tick_s=TICK_S)
    assert max(story.wanted()) < max(bought.wanted())
    assert any("bottleneck:" in reason for reason in story.reasons(from_s=600))


def test_a_query_of_one_partition_beside_one_of_many_buys_nothing() -> None:
    base = application("two-queries", initial_workers=4, max_workers=30)
    narrow = replace(
        base.queries[1],
        sources=tuple(replace(source, partitions=1) for source in base.queries[1].sources),
        stages=tuple(replace(stage, partitions=1) for stage in base.queries[1].stages),
    )
    app = replace(base, queries=(base.queries[0], narrow))
    # 30,000/s are three times what one slot does, and two thirds of what the other query gets done by four.
    story = tell(app, "constant(30k)", "lag-proportional", minutes=20, guards=GUARDS, tick_s=TICK_S)
    assert max(story.wanted(from_s=300)) <= 8
    assert {(one.kind, one.query) for one in found(story, 600)} == {("few-partitions", "enrich")}
    assert any("enrich has 1 task" in reason and "cannot help it" in reason for reason in story.reasons(from_s=600))


def test_a_batch_that_hangs_makes_no_backlog_of_bursts_that_are_long_over() -> None:
    load = "5k + spike(80k, at=240s, for=30s)"
    blocked = SinkBlocked(at_s=600.0, for_s=300.0)
    # A promise that leaves no time to grow: bursts are remembered for half an hour.
    app = application("enrich", max_workers=16, initial_workers=4).promising(Slo(delay_s=15.0))
    story = tell(app, load, "lag-proportional", minutes=16, faults=[blocked], tick_s=TICK_S)
    told = [
        (float(said[1].replace(",", "")), tick.observation.queries[0].backlog)
        for tick in story.ticks
        if tick.observation and tick.decision and 600 <= tick.at_s < 900
        if (said := re.search(r"and ([\d,]+) records wait beyond one batch", tick.decision.reason))
    ]
    assert len(told) > 20
    assert all(waits <= (backlog or 0.0) for waits, backlog in told)


def test_a_batch_that_is_mostly_the_driver_is_named_and_not_bought_for() -> None:
    app = with_queries(application(initial_workers=3), plan_s=10.0, commit_s=12.0)
    story = tell(app, "constant(8k)", "lag-proportional", minutes=20, guards=GUARDS, tick_s=TICK_S)
    named = found(story, 600)
    assert {one.kind for one in named} == {"driver"}
    assert "the driver plans and commits" in named[-1].sentence
    assert max(story.wanted(from_s=600)) <= max(story.wanted(to_s=120))


def test_a_read_limit_below_the_load_is_named_and_not_bought_for() -> None:
    app = application(initial_workers=6, read_limit=100_000)
    story = tell(app, "constant(30k)", "lag-proportional", minutes=20, guards=GUARDS, tick_s=TICK_S)
    bought = tell(app, "constant(30k)", "lag-proportional", minutes=20, tick_s=TICK_S)
    named = found(story, 300)
    assert {one.kind for one in named} == {"read-limit"}
    assert "100,000 records into a batch every 10 s, 10,000/s, while 30,000/s arrive" in named[-1].sentence
    assert max(story.wanted()) <= 7 < max(bought.wanted())


@pytest.mark.parametrize("asap", [False, True])
@pytest.mark.parametrize("name", ["windowed-count", "stream-join", "enrich", "two-queries"])
def test_where_executors_help_nothing_is_found_and_growth_is_the_same(name: str, asap: bool) -> None:
    def run(guards: Guards) -> Story:
        app = application(name, asap=asap, initial_workers=1)
        return tell(app, "step(5k, 30k, at=5m)", "lag-proportional", minutes=15, guards=guards, tick_s=TICK_S)

    with_guard, without = run({"bottleneck": BottleneckGuard()}), run({})
    assert with_guard.wanted() == without.wanted()
    assert not [one for one in found(with_guard, 0, 420) if one.kind != "few-partitions"]


def test_the_first_batches_of_a_large_backlog_are_no_bottleneck() -> None:
    app = with_queries(application(initial_workers=1), trigger=Trigger(interval_s=None))
    story = tell(app, "spike(2M, at=0s, for=2s) + constant(5k)", "fixed", minutes=20, tick_s=TICK_S)
    assert not found(story)

"""What an operator would see when something breaks."""

import pytest

from elastream.core.guards.scarce_cluster import ScarceCluster
from elastream.simulator.faults import (
    MetricsLate,
    MetricsMissing,
    ScaleFailure,
    SinkBlocked,
    SlowStart,
    Straggler,
    Unreachable,
    WorkerLoss,
)
from elastream.testing.stories import TICK_S, Story, application, tell

POLICIES = ["fixed", "threshold", "lag-proportional"]


@pytest.mark.parametrize("asap", [False, True])
def test_a_blocked_sink_raises_the_backlog_within_two_ticks(asap: bool) -> None:
    blocked = SinkBlocked(at_s=600.0, for_s=180.0)
    story = tell(
        application(asap=asap, initial_workers=6), "constant(30k)", "lag-proportional", minutes=30, faults=[blocked]
    )
    usual = max(story.backlog(from_s=300, to_s=590))
    within_two_ticks = max(story.backlog(from_s=600, to_s=600 + 2 * TICK_S))
    assert within_two_ticks > usual + 30_000 * 5
    # And it goes on rising while no batch can finish.
    assert story.backlog(to_s=780)[-1] > 30_000 * 150
    assert story.backlog()[-1] < 30_000 * 30


def test_a_lost_executor_is_replaced_and_no_record_is_lost() -> None:
    loss = WorkerLoss(at_s=613.0, workers=2)
    story = tell(application(initial_workers=6), "constant(30k)", "fixed", minutes=20, faults=[loss])
    assert min(story.ready(from_s=615, to_s=616)) == 4
    assert story.ready()[-1] == 6
    assert_every_record_accounted_for(story)


def test_a_straggler_shows_in_the_batch_time_and_not_in_the_records() -> None:
    slow = Straggler(at_s=300.0, for_s=300.0, factor=6.0)
    story = tell(application(initial_workers=4), "constant(20k)", "fixed", minutes=15, faults=[slow])
    assert longest_batch_s(story, 330, 590) > 2 * longest_batch_s(story, 60, 290)
    assert_every_record_accounted_for(story)


@pytest.mark.parametrize("policy", ["threshold", "lag-proportional"])
def test_missing_metrics_hold_the_present_size_and_scaling_resumes_by_itself(policy: str) -> None:
    missing = MetricsMissing(at_s=600.0, for_s=300.0)
    story = tell(application(initial_workers=3), "step(20k, 80k, at=10m)", policy, minutes=40, faults=[missing])
    # A decision that was made before may still be carried out; no new one is made on nothing.
    settled = story.wanted(from_s=600 + 60, to_s=895)
    assert len(set(settled)) == 1
    assert any("not known" in reason for reason in story.reasons(from_s=660, to_s=895))
    assert max(story.wanted(from_s=900)) > settled[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_late_metrics_are_unknown_and_never_a_crash(policy: str) -> None:
    late = MetricsLate(at_s=300.0, for_s=600.0, by_s=120.0)
    story = tell(application(initial_workers=3), "constant(40k)", policy, minutes=20, faults=[late])
    assert not any(tick.troubles for tick in story.ticks)
    backlogs = [now.queries[0].backlog for now in story.looks(from_s=450, to_s=880)]
    assert set(backlogs) == {None}


def test_an_unreachable_platform_is_held_and_told_and_scaling_resumes() -> None:
    story = tell(
        application(initial_workers=2),
        "step(10k, 60k, at=10m)",
        "lag-proportional",
        minutes=30,
        faults=[Unreachable(at_s=540.0, for_s=240.0)],
    )
    blind = [tick for tick in story.ticks if 540 <= tick.at_s < 780]
    assert all(tick.observation is None and "unreachable" in tick.troubles[0] for tick in blind)
    assert set(story.wanted(from_s=540, to_s=779)) == {2}
    assert max(story.wanted(from_s=780)) >= 7
    assert_every_record_accounted_for(story)


def test_a_refused_change_is_told_and_repairs_itself() -> None:
    refused = ScaleFailure(at_s=590.0, for_s=200.0)
    story = tell(
        application(initial_workers=2), "step(10k, 60k, at=10m)", "lag-proportional", minutes=30, faults=[refused]
    )
    during = [tick for tick in story.ticks if 590 <= tick.at_s < 790]
    assert all("refuses" in tick.troubles[0] for tick in during)
    assert max(story.ready(to_s=789)) == 2
    assert story.ready()[-1] >= 6


def test_workers_that_start_late_are_wanted_but_not_ready() -> None:
    late = SlowStart(at_s=0.0, by_s=120.0)
    story = tell(application(initial_workers=2), "step(10k, 60k, at=5m)", "lag-proportional", minutes=20, faults=[late])
    waiting = [now.pools[0] for now in story.looks(from_s=345, to_s=420)]
    assert all(pool.wanted > pool.ready == 2 for pool in waiting)
    assert story.ready()[-1] == story.wanted()[-1]


def test_a_cluster_without_room_is_asked_for_no_more_than_it_has() -> None:
    story = tell(
        application(initial_workers=2, cluster_workers=5),
        "constant(80k)",
        "lag-proportional",
        minutes=15,
        guards={"scarce_cluster": ScarceCluster()},
    )
    assert max(story.wanted()) == 5
    assert any("5 exist" in reason for reason in story.reasons())


def assert_every_record_accounted_for(story: Story) -> None:
    for now in story.looks():
        for query in now.queries:
            for source in query.sources:
                assert source.arrived is not None
                assert source.committed is not None
                assert source.committed.value <= source.arrived.value
            if query.phase != "running":
                committed = sum(source.committed.value for source in query.sources if source.committed)
                sources = {operator.name for operator in query.topology.sources()}
                read = sum(
                    work.records_in.value for work in query.operators if work.records_in and work.name in sources
                )
                assert read == pytest.approx(committed, abs=0.5)


def longest_batch_s(story: Story, from_s: float, to_s: float) -> float:
    finished = [query.finished for now in story.looks(from_s, to_s) for query in now.queries]
    return max(batch.duration_s for batch in finished if batch)

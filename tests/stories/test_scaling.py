"""What an operator would see while the load moves."""

import itertools

import pytest

from elastream.core.guards.partition_ceiling import PartitionCeiling
from elastream.testing.stories import TICK_S, application, tell

SCALING = ["threshold", "lag-proportional"]


# Busy time of a query that runs as fast as possible says little about its load, so the threshold soon sees a band that
# it takes for right. The lag-based policy knows the cost of a record, and goes all the way.
@pytest.mark.parametrize(("policy", "most"), [("threshold", 9), ("lag-proportional", 5)])
def test_as_fast_as_possible_under_constant_load_started_at_the_maximum_shrinks(policy: str, most: int) -> None:
    story = tell(application(asap=True, initial_workers=12), "constant(20k)", policy, minutes=40)
    assert story.ready()[0] == 12
    assert max(story.wanted(from_s=1800)) <= most
    # It shrank to a size that still keeps up: nothing is left behind but what the running batch reads.
    assert max(story.backlog(from_s=1800)) < 20_000 * 30


@pytest.mark.parametrize("policy", SCALING)
@pytest.mark.parametrize("asap", [False, True])
def test_an_idle_query_goes_to_the_minimum(policy: str, asap: bool) -> None:
    story = tell(application(asap=asap, initial_workers=8), "step(40k, 0, at=10m)", policy, minutes=40)
    assert story.wanted()[-1] == 1
    assert story.ready()[-1] == 1
    assert story.backlog()[-1] == 0


def test_a_rising_load_grows_the_pool_and_the_backlog_drains() -> None:
    story = tell(application(initial_workers=2), "step(10k, 60k, at=10m)", "lag-proportional", minutes=40)
    assert max(story.wanted(to_s=590)) <= 3
    assert max(story.wanted(from_s=600, to_s=720)) >= 8
    # Two batches of ten seconds are what a micro-batch query always has.
    assert story.backlog()[-1] < 60_000 * 20
    assert "60,000/s arrive" in story.reasons()[-1]


def test_a_falling_load_gives_workers_back_and_keeps_up() -> None:
    story = tell(application(initial_workers=9), "step(60k, 10k, at=10m)", "lag-proportional", minutes=40)
    assert min(story.wanted(from_s=120, to_s=590)) >= 6
    assert story.wanted()[-1] <= 3
    assert max(story.backlog(from_s=1200)) < 10_000 * 30


def test_a_backlog_is_drained_before_workers_are_given_up() -> None:
    story = tell(
        application(initial_workers=2), "spike(80k, at=5m, for=5m) + constant(10k)", "lag-proportional", minutes=30
    )
    peak = max(range(len(story.ticks)), key=lambda i: story.backlog()[i])
    falls = [i for i in range(peak, len(story.ticks)) if story.wanted()[i] < story.wanted()[i - 1] - 1]
    assert falls, "the spike is over, so workers go"
    assert story.backlog()[falls[-1]] < story.backlog()[peak] / 4


def test_a_query_that_waits_for_its_trigger_is_not_idle() -> None:
    story = tell(application(initial_workers=6), "constant(30k)", "lag-proportional", minutes=20, tick_s=4.0)
    between = [now for now in story.looks() if now.queries[0].phase == "between-triggers"]
    assert between
    assert all(now.queries[0].running is None and now.queries[0].backlog for now in between)
    assert min(story.wanted(from_s=120)) >= 3


@pytest.mark.parametrize("asap", [False, True])
def test_under_a_constant_load_the_size_comes_to_rest(asap: bool) -> None:
    story = tell(application(asap=asap, initial_workers=1), "constant(35k)", "lag-proportional", minutes=60)
    later = story.wanted(from_s=1800)
    # 120 ticks, with a noise of 5 % in what a batch costs.
    assert sum(a != b for a, b in itertools.pairwise(later)) <= 4
    assert max(later) - min(later) <= 1


def test_two_queries_share_the_pool_and_the_reason_names_both() -> None:
    story = tell(application("two-queries", initial_workers=4), "constant(20k)", "lag-proportional", minutes=20)
    assert "windowed-count: 20,000/s" in story.reasons()[-1]
    assert "enrich: 20,000/s" in story.reasons()[-1]
    assert story.wanted()[-1] >= 4
    assert max(story.backlog(from_s=900)) < 2 * 20_000 * 30


def test_more_executors_than_partitions_are_refused_with_the_remedy() -> None:
    app = application(max_workers=40, initial_workers=4)
    story = tell(
        app, "constant(400k)", "lag-proportional", minutes=15, guards={"partition_ceiling": PartitionCeiling()}
    )
    assert max(story.wanted()) == 24
    assert any("24 tasks keep at most 24 busy" in reason for reason in story.reasons())
    assert any("raise the partitions" in reason for reason in story.reasons())


def test_a_read_limit_below_the_load_shows_as_backlog_and_not_as_idleness() -> None:
    app = application(initial_workers=6, read_limit=100_000)
    story = tell(app, "constant(30k)", "fixed", minutes=10)
    finished = [query.finished for now in story.looks(from_s=60) for query in now.queries]
    assert all(batch is not None and batch.limited for batch in finished)
    assert story.backlog()[-1] > 20_000 * 500


def test_workers_with_four_slots_are_asked_for_by_fours() -> None:
    single = tell(application(initial_workers=1), "constant(60k)", "lag-proportional", minutes=20)
    quad = tell(application(initial_workers=1, slots_per_worker=4), "constant(60k)", "lag-proportional", minutes=20)
    assert quad.wanted()[-1] == pytest.approx(single.wanted()[-1] / 4, abs=1)


def test_ticks_follow_the_clock_and_not_the_batches() -> None:
    story = tell(application(initial_workers=1), "constant(80k)", "fixed", minutes=10)
    times = [tick.at_s for tick in story.ticks]
    assert times == [i * TICK_S for i in range(41)]
    batches = {query.finished.id for now in story.looks() for query in now.queries if query.finished}
    assert len(batches) < 10


@pytest.mark.parametrize(
    ("policy", "bounded", "most"), [("amadeus", "amadeus-code", 10), ("gesscale", "gesscale-code", 6)]
)
def test_a_pool_larger_than_the_one_of_the_document_is_used_and_the_documents_bound_is_a_preset(
    policy: str, bounded: str, most: int
) -> None:
    """About 12 executors are needed and 24 are there; those that stop at the document's size lag for ever."""
    app, load = application(initial_workers=2, max_workers=24), "step(10k, 90k, at=10m)"
    free = tell(app, load, policy, minutes=60)
    assert max(free.wanted()) > 10
    # The batch that runs, and the next.
    assert free.backlog()[-1] <= 90_000 * 20
    held = tell(app, load, bounded, minutes=60)
    assert max(held.wanted()) == most
    assert held.backlog()[-1] > 90_000 * 300

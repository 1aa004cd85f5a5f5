"""What an operator would see when nothing can be measured because nothing gets a slot."""

from dataclasses import replace
from typing import Any

from elastream.core.guards import Guards
from elastream.core.guards.bottleneck import BottleneckGuard
from elastream.core.guards.starvation import Starvation
from elastream.core.observation import Trigger
from elastream.simulator.faults import AdHocJob, MetricsMissing, SinkBlocked
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.testing import Story, application, tell

GUARDS: Guards = {"starvation": Starvation(), "bottleneck": BottleneckGuard()}
TICK_S = 5.0


def three_queries(**pool: Any) -> ApplicationModel:
    """The same query three times under names of its own."""
    base = application("enrich", **pool)
    query = replace(base.queries[0], trigger=Trigger(interval_s=None))
    return replace(base, queries=tuple(replace(query, name=name) for name in ("clicks", "orders", "views")))


def test_an_ad_hoc_job_that_holds_the_only_slot_does_not_starve_a_query() -> None:
    # 105,000 records wait for a query of which no batch was ever measured.
    job = AdHocJob(at_s=0.0, for_s=240.0)
    load = "spike(105k, at=0s, for=1s) + constant(100)"
    app = application("enrich", initial_workers=1)
    held = tell(app, load, "lag-proportional", minutes=3, faults=[job], tick_s=TICK_S)
    assert set(held.wanted()) == {1}
    assert held.backlog()[-1] > 105_000
    story = tell(app, load, "lag-proportional", minutes=3, faults=[job], guards=GUARDS, tick_s=TICK_S)
    assert 2 <= max(story.wanted(to_s=60)) <= 3
    assert story.backlog()[-1] < 10_000
    said = next(reason for reason in story.reasons() if "starvation:" in reason)
    assert "100% of 1 slots have been busy for 10 s (1 by work of no query)" in said
    assert "24 tasks of enrich wait for one" in said


def test_a_job_that_takes_every_slot_makes_the_pool_grow_to_its_bound_within_two_minutes() -> None:
    job = AdHocJob(at_s=0.0, for_s=3600.0, tasks=100)
    app = application("enrich", initial_workers=1, max_workers=16)
    story = tell(app, "constant(1k)", "lag-proportional", minutes=5, faults=[job], guards=GUARDS, tick_s=TICK_S)
    assert story.ready(to_s=125)[-1] == 16
    assert max(story.wanted()) == 16
    sizes = list(dict.fromkeys(story.wanted()))
    assert sizes == [1, 2, 3, 5, 9, 16]
    # A step is made only after the one before has arrived.
    for now, tick in zip(story.looks(), story.ticks, strict=True):
        assert tick.decision is not None
        if tick.decision.changes(now):
            assert not now.pools[0].in_flux


def test_three_queries_of_which_none_was_measured_get_slots() -> None:
    app = three_queries(initial_workers=1, max_workers=8)
    story = tell(app, "spike(60k, at=0s, for=1s) + constant(2k)", "lag-proportional", minutes=4, guards=GUARDS,
                 faults=[AdHocJob(at_s=0.0, for_s=600.0)], tick_s=TICK_S)  # fmt: skip
    assert max(story.wanted(to_s=60)) > 1
    last = story.looks()[-1]
    assert all(query.finished is not None for query in last.queries)
    assert all((query.backlog or 0.0) < 30_000 for query in last.queries)


def test_unknown_lag_beside_idle_slots_holds() -> None:
    missing = MetricsMissing(at_s=120.0, for_s=240.0)
    story = tell(
        application("enrich", initial_workers=4), "constant(5k)", "fixed", minutes=8, faults=[missing], guards=GUARDS,
        tick_s=TICK_S,
    )  # fmt: skip
    assert set(story.wanted()) == {4}


def test_a_blocked_sink_is_no_starvation() -> None:
    app = application("enrich", initial_workers=1)
    blocked = SinkBlocked(at_s=0.0, for_s=240.0)
    story = tell(app, "constant(2k)", "lag-proportional", minutes=3.5, faults=[blocked], guards=GUARDS, tick_s=TICK_S)
    assert set(story.wanted()) == {1}


def test_a_query_that_is_measured_is_left_to_its_policy() -> None:
    def run(guards: Guards) -> Story:
        app = application("windowed-count", initial_workers=2)
        return tell(app, "step(10k, 60k, at=5m)", "lag-proportional", minutes=15, guards=guards, tick_s=TICK_S)

    assert run(GUARDS).wanted() == run({}).wanted()

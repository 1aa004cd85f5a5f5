"""What micro-batches do to policies that were made for engines without them."""

from dataclasses import replace

import pytest

from elastream.core.observation import Trigger
from elastream.policies.micro_batches import find_measured
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.testing import Story, application, tell
from experiments.micro_batches import Case, run

TICK_S = 5.0


def triggered(model: ApplicationModel, interval_s: float) -> ApplicationModel:
    """The model with another trigger."""
    return replace(
        model, queries=tuple(replace(query, trigger=Trigger(interval_s=interval_s)) for query in model.queries)
    )


def falls_behind(story: Story, rate: float, interval_s: float) -> bool:
    """Whether more waits in the end than arrives between two batches, and while one runs."""
    return min(story.backlog()[-round(3 * interval_s / TICK_S) :]) > 1.5 * rate * interval_s


def settled(story: Story, minutes: float) -> set[int]:
    """The sizes of the last ten minutes."""
    return set(story.wanted(from_s=(minutes - 10) * 60))


@pytest.mark.parametrize(("tick_s", "interval_s"), [(5.0, 12.0), (5.0, 60.0), (15.0, 20.0), (15.0, 120.0)])
@pytest.mark.parametrize(("model", "load", "right"), [("windowed-count", "60k", 9), ("enrich", "40k", 6)])
def test_a_steady_load_gets_as_many_workers_whatever_the_trigger_and_the_time_between_two_looks(
    model: str, load: str, right: int, tick_s: float, interval_s: float
) -> None:
    app = triggered(application(model, max_workers=24, initial_workers=4), interval_s)
    story = tell(app, f"constant({load})", "hpa", minutes=40, tick_s=tick_s)
    assert settled(story, 40) == {right}


@pytest.mark.parametrize(
    ("policy", "rate", "fewest"), [("hpa-80", 60_000, 8), ("thr-nlaware", 60_000, 8), ("threshold", 120_000, 24)]
)
def test_who_knows_what_is_full_keeps_up_where_who_takes_one_for_full_falls_behind_for_good(
    policy: str, rate: float, fewest: int
) -> None:
    app = application("windowed-count", max_workers=24, initial_workers=4)
    published, learned = (
        tell(app, f"constant({rate})", name, minutes=70, tick_s=TICK_S) for name in (policy, f"{policy}-learned")
    )
    assert falls_behind(published, rate, 10.0)
    assert max(settled(published, 70)) < fewest
    assert not falls_behind(learned, rate, 10.0)
    assert min(settled(learned, 70)) >= fewest


def test_daedalus_takes_nine_workers_for_what_twelve_can_do_unless_it_learns_what_is_full() -> None:
    app = application("enrich", max_workers=24, initial_workers=4)
    published, learned = (
        tell(app, "constant(80k)", name, minutes=60, tick_s=TICK_S) for name in ("daedalus", "daedalus-learned")
    )
    assert min(settled(published, 60)) < 12
    assert max(published.backlog(from_s=1800)) > 3 * 800_000
    assert settled(learned, 60) == {12}
    assert max(learned.backlog(from_s=1800)) < 2 * 800_000


@pytest.mark.parametrize(("model", "rate", "fewest"), [("windowed-count", 60_000, 8), ("enrich", 80_000, 12)])
@pytest.mark.parametrize("interval_s", [10.0, 60.0])
@pytest.mark.parametrize("policy", ["hpa-80-learned", "daedalus-learned"])
def test_who_knows_what_is_full_ends_at_the_fewest_workers_that_are_enough(
    policy: str, interval_s: float, model: str, rate: float, fewest: int
) -> None:
    app = triggered(application(model, max_workers=24, initial_workers=4), interval_s)
    story = tell(app, f"constant({rate})", policy, minutes=60, tick_s=TICK_S)
    assert settled(story, 60) == {fewest}
    assert not falls_behind(story, rate, interval_s)


def test_a_job_that_a_read_limit_holds_back_at_half_of_its_processors_is_given_more() -> None:
    # Batches of 30,000 records, one after the other: planning, commits and short tasks take half of the time.
    app = application("windowed-count", asap=True, read_limit=30_000, max_workers=24, initial_workers=8)
    published, learned = (
        tell(app, "constant(50k)", policy, minutes=30, tick_s=TICK_S) for policy in ("hpa-80", "hpa-80-learned")
    )
    assert published.backlog()[-1] > 1_000_000
    assert learned.backlog()[-1] < 100_000


def test_a_task_that_all_wait_for_teaches_nothing_and_buys_nothing() -> None:
    base = application("enrich", max_workers=24, initial_workers=8)
    query = base.queries[0]
    hot = replace(base, queries=(replace(query, stages=(replace(query.stages[0], skew=8.0),)),))
    story = tell(hot, "constant(50k)", "hpa-80-learned", minutes=30, tick_s=TICK_S)
    assert falls_behind(story, 50_000, 10.0)
    assert max(story.wanted()) <= 8


def test_what_is_told_of_policies_on_micro_batches_is_what_is_measured() -> None:
    """One case again, of one that is misled and of one that is not."""
    case = Case("windowed-count", 60_000, 10.0)
    for name in ("hpa-80", "hpa-80-learned"):
        (kept,) = (found for found in find_measured(name) if found.case == case.name)
        found = run(case, name)
        assert (found.workers, found.keeps_up) == (kept.workers, kept.keeps_up)
        assert found.delay_s == pytest.approx(kept.delay_s, rel=0.01)
    assert kept.needed == 8
    assert not run(case, "fixed", minutes=40.0, workers=7).keeps_up
    assert run(case, "fixed", minutes=40.0, workers=8).keeps_up

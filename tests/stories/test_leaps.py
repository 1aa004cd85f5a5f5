"""Loads that leap, met by the defaults: what the running batch shows counts, and a look is enough to see a leap."""

from elastream.core.slo import Slo
from elastream.policies import policies
from elastream.simulator.published import PUBLISHED
from elastream.simulator.run import Simulation
from elastream.testing import Story, application, tell
from elastream.workloads import parse_workload


def run(load: str, minutes: float) -> Story:
    app = application("enrich", max_workers=16, initial_workers=1).promising(Slo(delay_s=30.0))
    return tell(app, load, "lag-proportional", minutes=minutes, tick_s=5)


def share_in_time(story: Story) -> float:
    assert story.outcome is not None
    return story.outcome.summary.records_within_slo or 0.0


def test_a_leap_after_a_calm_whose_batches_were_all_alike_is_met_in_time() -> None:
    # 96,000/s is four fifths of what 16 executors can do.
    assert share_in_time(run("step(9.6k, 96k, at=605s)", minutes=20)) >= 0.999


def test_a_short_burst_after_such_a_calm_is_taken_at_its_full_cost_at_once() -> None:
    # It begins with a batch, so that ten seconds of it wait before its tasks can tell anything.
    story = run("9.6k + spike(86.4k, at=980s, for=1m)", minutes=40)
    assert share_in_time(story) >= 0.98


def test_a_leap_from_next_to_nothing_grows_by_what_the_tasks_of_the_running_batch_show() -> None:
    # What ten records a second cost says nothing about a million in a batch.
    story = run("step(10, 96k, at=605s)", minutes=20)
    began_s = next(now.queries[0].running.started_s for now in story.looks(from_s=606) if now.queries[0].running)
    assert max(story.wanted(to_s=began_s)) <= 4
    assert story.wanted(from_s=began_s + 6, to_s=began_s + 12)[0] >= 12


def test_a_start_under_load_grows_before_its_first_batch_has_ended() -> None:
    story = run("constant(60k)", minutes=20)
    first = next(now.queries[0].finished for now in story.looks() if now.queries[0].finished)
    assert first is not None
    assert first.duration_s < 25
    assert share_in_time(story) >= 0.99


def test_bursts_that_come_again_and_again_are_seen_in_one_look() -> None:
    bursts = " + ".join(f"spike(90k, at={600 + 240 * n}s, for=1m)" for n in range(6))
    assert share_in_time(run(f"cosine(4k..6k, period=5m) + {bursts}", minutes=35)) >= 0.995


def test_a_job_without_batches_grows_beyond_the_tasks_that_it_has() -> None:
    # One worker has one task of every operator, and sixteen would have sixteen.
    model = PUBLISHED["timely-nexmark-q1"].promising(Slo(delay_s=30.0))
    story = Story()
    load = parse_workload("step(1000k, 14000k, at=5m)")
    simulation = Simulation(model, load, policies.build("lag-proportional", {}), name="", duration_s=900.0, tick_s=5.0)
    story.outcome = simulation.run([story])
    assert max(story.wanted(to_s=300)) <= 2
    assert story.wanted()[-1] >= 10
    assert share_in_time(story) >= 0.99


def test_a_job_that_a_change_has_stopped_is_not_changed_again_before_it_runs() -> None:
    model = PUBLISHED["daedalus-wordcount"].promising(Slo(delay_s=30.0))
    story = Story()
    load = parse_workload("cosine(10k..50k, period=10m)")
    simulation = Simulation(model, load, policies.build("lag-proportional", {}), name="", duration_s=900.0, tick_s=5.0)
    simulation.run([story])
    stopped = [tick for tick in story.ticks if tick.observation and tick.observation.queries[0].phase == "restarting"]
    assert stopped
    for tick in stopped:
        assert tick.observation is not None
        assert tick.decision is not None
        assert tick.decision.allocation == tick.observation.wanted()

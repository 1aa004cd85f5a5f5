"""What a new user may expect of the defaults: a calm start, an SLO that is read, no flapping, estimates with care."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from elastream.core.guards.hysteresis import Hysteresis
from elastream.core.guards.start import Start
from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.testing import Story, application, tell

POLICY = "lag-proportional"
both = pytest.mark.parametrize("policy", ["foresight", POLICY])
"""The default policy and the simple one."""
BURSTY = "cosine(10k..60k, period=40m, shift=20m) + spike(30k, at=18m, for=3m)"


def promising(delay_s: float, *, trigger_s: float = 2.0, **pool: Any) -> ApplicationModel:
    app = application("enrich", max_workers=16, **pool).promising(Slo(delay_s=delay_s))
    return replace(app, queries=tuple(replace(q, trigger=Trigger(interval_s=trigger_s)) for q in app.queries))


def changes(story: Story) -> int:
    return sum(a != b for a, b in pairwise(story.wanted()))


def test_a_restart_with_a_backlog_is_worked_off_on_what_the_application_was_given() -> None:
    # Half a million records wait when the first batch begins.
    load = "constant(20k) + spike(500k, at=0s, for=1s)"
    story = tell(
        application(initial_workers=8),
        load,
        "threshold",
        minutes=5,
        tick_s=5,
        guards={"start": Start()},
        high=0.99,
        low=0.98,
    )
    first = next(now.queries[0].finished for now in story.looks() if now.queries[0].finished)
    assert first is not None
    assert min(story.wanted(to_s=first.ended_s)) == 8


@both
def test_an_application_to_which_nothing_comes_shrinks_although_it_was_never_measured(policy: str) -> None:
    story = tell(application(initial_workers=8), "constant(0)", policy, minutes=3, tick_s=5, guards={"start": Start()})
    assert set(story.wanted(to_s=25)) == {8}
    assert story.wanted()[-1] == 1


@both
def test_a_looser_slo_costs_fewer_executor_hours_and_each_is_kept(policy: str) -> None:
    found = {
        bound_s: tell(promising(bound_s, initial_workers=4), BURSTY, policy, minutes=80, tick_s=5).outcome
        for bound_s in (10.0, 30.0, 120.0)
    }
    hours = [outcome.summary.worker_hours_paid or 0.0 for outcome in found.values() if outcome]
    assert hours[0] > hours[1] > hours[2]
    for bound_s, outcome in found.items():
        assert outcome is not None
        assert outcome.summary.slo_kept, (bound_s, outcome.summary.records_within_slo)


@both
def test_a_trigger_that_leaves_no_time_for_the_slo_is_named(policy: str) -> None:
    story = tell(promising(10.0, trigger_s=10.0, initial_workers=4), "constant(30k)", policy, minutes=5, tick_s=5)
    assert "a trigger of 10 s leaves 0 s of the 10 s promised" in story.reasons()[-1]


@pytest.mark.parametrize(
    ("model", "load"),
    [
        ("enrich", "cosine(13k..18k, period=150s, noise=400)"),
        ("windowed-count", "cosine(16k..18k, period=70s, noise=400)"),
    ],
)
def test_a_noisy_load_on_the_edge_between_two_sizes_does_not_flap(model: str, load: str) -> None:
    free = tell(application(model, initial_workers=3), load, POLICY, minutes=60, tick_s=5)
    calm = tell(
        application(model, initial_workers=3), load, POLICY, minutes=60, tick_s=5, guards={"hysteresis": Hysteresis()}
    )
    assert changes(calm) <= 4 <= changes(free)


def test_the_default_policy_does_not_flap_there_without_a_guard() -> None:
    for model, load in (("enrich", "cosine(13k..18k, period=150s, noise=400)"),
                        ("windowed-count", "cosine(16k..18k, period=70s, noise=400)")):  # fmt: skip
        assert changes(tell(application(model, initial_workers=3), load, "foresight", minutes=60, tick_s=5)) <= 8


def test_hysteresis_delays_no_growth() -> None:
    def when(guards: dict[str, Hysteresis]) -> float:
        story = tell(
            application(initial_workers=2), "step(10k, 60k, at=5m)", POLICY, minutes=10, tick_s=5, guards=guards
        )
        return next(t.at_s for t in story.ticks if t.decision and sum(t.decision.allocation.values()) >= 6)

    assert when({"hysteresis": Hysteresis()}) == when({})


@both
def test_it_is_never_at_the_minimum_while_a_backlog_grows(policy: str) -> None:
    story = tell(
        promising(30.0, trigger_s=10.0, initial_workers=1), "step(2k, 90k, at=5m)", policy, minutes=12, tick_s=5
    )
    late = [now for now in story.looks(from_s=320) if now.pools[0].wanted == 1]
    assert not late


@both
def test_the_first_small_batches_move_the_size_by_a_step_and_not_to_the_bound(policy: str) -> None:
    # A few records a second in 200 tasks: what they cost is what starting tasks costs.
    app = application("enrich", max_workers=16, initial_workers=2)
    stages = tuple(replace(stage, partitions=200, task_s=0.05) for stage in app.queries[0].stages)
    app = replace(app, queries=(replace(app.queries[0], stages=stages),))
    story = tell(app, "constant(3) + spike(30k, at=40s, for=4m)", policy, minutes=5, tick_s=5)
    sizes = story.wanted(to_s=55)
    assert all(b <= 2 * a for a, b in pairwise(sizes))
    assert any("so at most twice the size" in reason for reason in story.reasons(to_s=90))


NUMBERS = re.compile(
    r"a batch of ([\d,]+) rows costs ([\d.]+) \+ ([\d,.]+) us x rows = ([\d.]+) slot-s and should take ([\d.]+) s: "
    r"([\d.]+) slots"
)


@pytest.mark.parametrize("model", ["enrich", "windowed-count", "two-queries"])
def test_the_numbers_of_a_sentence_multiply_to_its_answer(model: str) -> None:
    story = tell(application(model, initial_workers=4), BURSTY, POLICY, minutes=40, tick_s=5)
    told = [found for reason in story.reasons() for found in NUMBERS.findall(reason)]
    assert len(told) > 100
    for rows, fixed, each_us, work, within, slots in [[float(n.replace(",", "")) for n in found] for found in told]:
        assert work == pytest.approx(fixed + rows * each_us * 1e-6, rel=0.02, abs=0.15)
        assert slots == pytest.approx(work / within, rel=0.03, abs=0.15)

"""What keeps a job from a rate, planted on purpose and named; a job without a limit has none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elastream.core.observation import Trigger
from elastream.core.task_cost import TaskCost
from elastream.experiments.scalability.layout import Layout
from elastream.experiments.scalability.limits import ProbeLimits
from elastream.experiments.scalability.probe import ProbeMoment, ProbeTerms, ProbeVerdict
from elastream.experiments.scalability.simulated import SimulatedBench, shape_model
from elastream.experiments.scalability.study import ProbeRun
from elastream.loop.clock import VirtualClock
from elastream.simulator.calibration import cut_into
from elastream.simulator.microbatch.model import (
    ApplicationModel,
    QueryModel,
    SourceModel,
    StageModel,
)
from elastream.simulator.microbatch.platform import SimulatedSpark
from elastream.workloads.series import RateSeries

LAYOUT = Layout(4, 1)
FOLDER = Path("4x1/probe-001")
"""Noise follows from its name; nothing is written there."""


def job(*, trigger_s: float | None = None, plan_s: float = 0.1, noise: float = 0.05, **stage: Any) -> ApplicationModel:
    """Two stages; a slot does 10,000 records/s of the first, and twenty times as many of the second."""
    first = StageModel(name="parse", after=("events",), partitions=4, slot_s_per_record=100e-6, task_s=0.005)
    second = replace(first, name="count", after=("parse",), slot_s_per_record=5e-6)
    query = QueryModel(
        name="planted", sources=(SourceModel(name="events", partitions=4),),
        stages=(replace(first, **stage), second), trigger=Trigger(interval_s=trigger_s), plan_s=plan_s, noise=noise,
    )  # fmt: skip
    return ApplicationModel(name="planted", queries=(query,))


def probe(model: ApplicationModel, rate_rps: float, **terms: Any) -> ProbeRun:
    bench = SimulatedBench(model=shape_model(model, LAYOUT), seed=1)
    asked = ProbeTerms(rate_rps=rate_rps, workers=4, cores=4, accept_after_s=120.0, **terms)
    return bench.run(asked, FOLDER, lambda share: None)


@pytest.mark.parametrize(
    ("planted", "rate_rps", "kind"),
    [
        ({"skew": 3.5}, 20_000.0, "hot-partition"),
        ({"plan_s": 12.0}, 2_000.0, "driver"),
        ({"trigger_s": 30.0}, 1_000.0, "trigger"),
        ({}, 60_000.0, "processor"),
    ],
    ids=str,
)
def test_what_was_planted_is_named_first(planted: dict[str, Any], rate_rps: float, kind: str) -> None:
    done = probe(job(**planted), rate_rps)
    assert done.verdict.state == "unsustained", done.verdict
    assert done.limits[0].kind == kind, done.limits


def test_fewer_partitions_than_slots_are_named() -> None:
    model = shape_model(job(), LAYOUT)
    bench = SimulatedBench(model=cut_into(model, 2), seed=1)
    terms = ProbeTerms(rate_rps=25_000.0, workers=4, cores=4, accept_after_s=120.0)
    limit = bench.run(terms, FOLDER, lambda share: None).limits[0]
    assert limit.kind == "few-partitions"
    assert "raise its partitions" in limit.sentence


def test_state_that_takes_most_of_the_work_is_named() -> None:
    clock, limits = VirtualClock(), ProbeLimits()
    model = shape_model(job(), LAYOUT)
    load = RateSeries.constant(38_000.0, duration_s=200.0)
    platform = SimulatedSpark(model, {"planted": load}, clock, seed=1)
    for at in range(0, 200, 5):
        clock.sleep_until(float(at))
        now = platform.observe()
        queries = tuple(
            replace(one, finished=replace(one.finished, cost=TaskCost(state_s=0.7 * (one.finished.busy_s or 0.0))))
            for one in now.queries
            if one.finished is not None
        )
        limits.add(replace(now, queries=queries), 30.0)
    late = ProbeVerdict(state="unsustained", reason="late")
    terms = ProbeTerms(rate_rps=38_000.0, workers=4, cores=4)
    (found,) = limits.find(late, [], terms)
    assert found.kind == "state-store"
    assert "70% of the slots' time goes into writing state" in found.sentence


def test_what_batches_cost_whatever_they_read_is_told_behind_the_processors_that_it_keeps_busy() -> None:
    done = probe(job(task_s=3.0, noise=0.2), 10_000.0, delay_s=30.0)
    assert [one.kind for one in done.limits] == ["processor", "fixed-cost"], done
    assert "slot-seconds whatever it reads" in done.limits[1].sentence


def test_a_job_that_keeps_up_has_no_limit() -> None:
    done = probe(job(), 20_000.0)
    assert done.verdict.state == "sustained"
    assert done.limits == ()


def test_a_limit_is_told_with_its_numbers() -> None:
    limit = probe(job(trigger_s=30.0), 1_000.0).limits[0]
    assert limit.sentence.startswith("planted: a batch takes 0.")
    assert limit.sentence.endswith("with a bound of 10 s the trigger is the limit")
    assert limit.evidence["interval_s"] == 30.0


def test_a_start_that_was_not_caught_up_with_is_told_as_that() -> None:
    terms = ProbeTerms(rate_rps=1_000.0, workers=1, cores=1)
    moments = [
        ProbeMoment(at_s=float(at), arrived=1_000.0 * at, committed=max(0.0, 1_050.0 * at - 32_000), executors=1)
        for at in range(331)
    ]
    late = ProbeVerdict(state="unsustained", reason="late")
    (found,) = ProbeLimits().find(late, moments, terms)
    assert found.kind == "start-up"
    assert "30,000 records waited, and 48/s of them were worked off" in found.sentence
    fine = ProbeVerdict(state="sustained", reason="a long bound")
    assert ProbeLimits().find(fine, moments, terms) == ()
    steady = [replace(one, committed=max(0.0, one.arrived - 30_000)) for one in moments]
    assert ProbeLimits().find(late, steady, terms) == ()

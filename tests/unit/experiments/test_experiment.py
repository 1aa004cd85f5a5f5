"""Experiments as values: compared, hashed, written down, read back, and run again."""

import json
from dataclasses import replace

import pytest

from elastream.core.errors import BadInput
from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.experiments.experiment import (
    ExecutorBounds,
    Experiment,
    LiveJob,
    NamedSettings,
    SimulatedModel,
    parse_experiment,
)
from elastream.experiments.named_settings import choose_guards, parse_faults, parse_policy
from elastream.experiments.simulated import check_all, set_up_simulation
from elastream.jobs.topic_names import Topics
from elastream.policies import policies

SIMULATED = Experiment(
    subject=SimulatedModel(
        model="windowed-count",
        trigger=Trigger(interval_s=None),
        slots=2,
        faults=parse_faults(["worker-loss(at=2m)", "straggler(at=1m)"]),
    ),
    workload="cosine(5k..40k, period=10m)",
    duration_s=300.0,
    policy=parse_policy("threshold(high=0.9, low=0.4)"),
    guards=choose_guards({"cool_down": {"after": "300s"}, "quiet_hours": {"utc": ["00:00-06:00"]}}),
    executors=ExecutorBounds(min=2, max=6, start=3),
    slo=Slo(delay_s=45.0),
    seed=7,
)
LIVE = Experiment(
    subject=LiveJob(
        job=NamedSettings.of("wordcount", {}),
        trigger_s=None,
        capacity_rps=250.0,
        events=(("partitions", "6"),),
        sink="kafka",
        topics=Topics(bootstrap="kafka:9092", read=(("sentences", "lines"),), to="words"),
    ),
    workload="constant(100)",
    duration_s=60.0,
    policy=parse_policy("lag-proportional"),
    executors=ExecutorBounds(min=1, max=5),
)


@pytest.mark.parametrize("experiment", [SIMULATED, LIVE], ids=lambda one: one.platform)
def test_an_experiment_that_was_written_down_is_the_same_when_read_back(experiment: Experiment) -> None:
    again = parse_experiment(json.loads(json.dumps(experiment.as_json(), allow_nan=False)))
    assert again == experiment
    assert hash(again) == hash(experiment)
    assert again.policy.label == experiment.policy.label
    assert again.platform == experiment.platform


def test_how_a_policy_was_written_makes_no_other_experiment() -> None:
    other = replace(SIMULATED, policy=parse_policy("threshold( low=0.4,high=0.9 )"))
    assert other == SIMULATED
    assert len({SIMULATED, other, replace(SIMULATED, seed=8)}) == 2


def test_an_experiment_that_was_read_back_gives_the_same_run() -> None:
    runs = [set_up_simulation(one).run() for one in (SIMULATED, parse_experiment(SIMULATED.as_json()))]
    assert runs[0].summary == runs[1].summary
    assert runs[0].exact == runs[1].exact
    assert list(runs[0].series.rows()) == list(runs[1].series.rows())


@pytest.mark.parametrize("name", policies.names())
def test_every_policy_is_built_again_from_its_choice(name: str) -> None:
    choice = parse_policy(name)
    assert policies.build(choice.name, choice.settings) == policies.build(name)


def test_every_guard_keeps_its_settings_in_a_choice() -> None:
    given = {"step_limit": {"up": 2}, "bounds": {}, "budget": {"worker_hours": 8}, "hysteresis": {"patience": 1}}
    choices = choose_guards(given)
    assert choose_guards({choice.name: choice.settings for choice in choices}) == choices


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"sede": 3}, "experiment: there is no 'sede'; did you mean 'seed'?"),
        ({"slo": {"delay_s": 3.0, "shrae": 0.9}}, "experiment.slo: there is no 'shrae'; did you mean 'share'?"),
        ({"seed": "many"}, "experiment: seed: "),
    ],
)
def test_a_slip_in_a_document_is_one_line_that_names_it(change: dict[str, object], line: str) -> None:
    with pytest.raises(BadInput) as wrong:
        parse_experiment(SIMULATED.as_json() | change)
    assert str(wrong.value).startswith(line)


def test_what_runs_live_is_not_simulated() -> None:
    with pytest.raises(BadInput, match="a job runs live and not on the simulator: wordcount"):
        set_up_simulation(LIVE)


def test_a_comparison_has_each_policy_once() -> None:
    setup = set_up_simulation(SIMULATED)
    with pytest.raises(BadInput, match="given twice"):
        check_all([setup, setup])

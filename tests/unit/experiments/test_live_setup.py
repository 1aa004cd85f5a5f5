"""Live experiments before anything is started."""

import json
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from elastream.cli.commands.live import LIVE, planned, read_sources
from elastream.config import settings_of
from elastream.core.errors import BadInput
from elastream.experiments.experiment import ExecutorBounds, NamedSettings, parse_experiment
from elastream.experiments.live_setup import set_up_live
from elastream.jobs.catalogue import jobs
from tests.unit.experiments.test_experiment import SIMULATED


def test_what_the_demo_runs_is_an_experiment_that_can_be_written_down_and_set_up_again() -> None:
    setup = planned(read_sources({}), **LIVE)
    again = set_up_live(parse_experiment(json.loads(json.dumps(setup.experiment.as_json()))))
    assert again == setup
    assert again.options == setup.options
    assert again.options["rowsPerBatch"]
    assert again.experiment.executors.max == setup.executors[1] == 5


@pytest.mark.parametrize("name", jobs.names())
def test_every_job_is_built_again_from_its_choice(name: str) -> None:
    choice = NamedSettings.of(name, settings_of(jobs.build(name)))
    assert jobs.build(choice.name, choice.settings) == jobs.build(name)


def test_a_model_does_not_run_live() -> None:
    with pytest.raises(BadInput, match="a model runs on the simulator and not live: windowed-count"):
        set_up_live(SIMULATED)


def test_a_run_begins_with_as_many_executors_as_the_experiment_says_and_else_with_the_fewest() -> None:
    experiment = planned(read_sources({}), **LIVE).experiment
    starts = [set_up_live(replace(experiment, executors=ExecutorBounds(min=2, max=5, start=start))).start
              for start in (None, 4)]  # fmt: skip
    assert starts == [2, 4]
    with pytest.raises(BadInput, match=r"start: found 6; it must be 2\.\.5"):
        set_up_live(replace(experiment, executors=ExecutorBounds(min=2, max=5, start=6)))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"capacity": "0"}, "--capacity: found '0'; it must be rows/s, more than 0, or real"),
        ({"capacity": "fast"}, "--capacity: found 'fast'; it must be rows/s, more than 0, or real"),
        ({"time_scale": 0.5}, "time scale: a factor of 0.5; it must be 1 or more"),
        ({"time_scale": 50.0}, "time scale: x50 makes the "),
    ],
)
def test_what_cannot_be_run_is_told_before_anything_is_started(change: dict[str, object], line: str) -> None:
    with pytest.raises(BadInput) as wrong:
        planned(read_sources({}), **{**LIVE, **change})
    assert str(wrong.value).startswith(line)

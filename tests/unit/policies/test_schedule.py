"""Sizes at given times, as a policy."""

import json
from pathlib import Path

import pytest

from elastream.config import settings_of
from elastream.core.errors import BadInput
from elastream.core.slo import Slo
from elastream.experiments.named_settings import parse_policy
from elastream.policies import Schedule
from elastream.policies.catalogue import policies
from elastream.testing import application, tell

ROWS = "t,workers\n0,2\n60,5\n120.5,3\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.csv"
    path.write_text(ROWS)
    return path


def test_sizes_are_those_of_the_file_from_their_times_on(file: Path) -> None:
    story = tell(application(initial_workers=1), "constant(1k)", Schedule(file=str(file)), minutes=3)
    assert story.wanted(to_s=55) == [2] * len(story.wanted(to_s=55))
    assert set(story.wanted(60, 120)) == {5}
    assert set(story.wanted(125, 180)) == {3}


def test_the_file_is_read_once_and_its_numbers_are_the_settings(file: Path) -> None:
    named = parse_policy(f'schedule("{file}")')
    file.unlink()
    assert named.settings["file"] is None
    assert policies.build(named.name, json.loads(json.dumps(named.settings))) == Schedule(
        at_s=(0.0, 60.0, 120.5), workers=(2, 5, 3)
    )
    assert str(file) not in json.dumps(settings_of(policies.build(named.name, named.settings)))


def test_a_replay_that_misses_the_promise_says_so() -> None:
    app = application(initial_workers=1).promising(Slo(delay_s=30.0))
    story = tell(app, "constant(60k)", Schedule(at_s=(0.0,), workers=(1,)), minutes=5)
    assert "the schedule misses the SLO" in story.reasons()[-1]
    enough = tell(app, "constant(5k)", Schedule(at_s=(0.0,), workers=(2,)), minutes=5)
    assert not any("misses" in reason for reason in enough.reasons())


def test_without_a_schedule_the_size_stays() -> None:
    assert set(tell(application(initial_workers=4), "constant(1k)", Schedule(), minutes=2).wanted()) == {4}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no column 't'"),
        ("t,workers\n", "there are no rows"),
        ("t,workers\n0,one\n", ":2: found '0,one'"),
        ("t,workers\n0,2\n0,3\n", "0 s follows 0 s"),
        ("t,workers\n0,-1\n", "out of range"),
        ("t,workers\nnan,1\n", "out of range"),
    ],
)
def test_a_file_that_is_no_schedule_is_refused_in_a_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "plan.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=told):
        Schedule(file=str(path))


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match=r"nowhere\.csv: there is no such file"):
        Schedule(file="nowhere.csv")

"""The evidence for foresight: halves that share no recording, plans that promise what they say, and the verdict."""

import re
import shutil
from pathlib import Path
from typing import get_args

import pytest

from elastream.core.errors import BadInput
from elastream.experiments.experiment import SimulatedModel
from elastream.experiments.plan.matrix import Matrix, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.runner import Here
from elastream.experiments.tuning.folds import group_loads
from elastream.policies.foresight.choice import Ingredient
from experiments.foresight.__main__ import EVERYTHING, HALVES, TITLES, TUNING, find_plan, main, tell_all
from experiments.foresight.pages import tell_core
from experiments.foresight.rows import HERE, Least, Row, Situation, leaps, of_half, read_half
from experiments.foresight.settings import JOBS, make_plan, settle
from experiments.foresight.verdict import compare, cost_at, equal_costs, find_better, find_cheaper, stand

TUNED, SCORED = (read_half(HALVES[half]) for half in ("scored", "tuned"))
AT = Situation("enrich", "wave", 1)


def row(policy: str, share: float, hours: float, at: Situation = AT, *, changes: int = 10, leaps: bool = False) -> Row:
    return Row(policy=policy, at=at, share=share, kept=share >= 0.99, hours=hours, changes=changes, leaps=leaps)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plans, beside recordings of an hour that are called as the real ones are."""
    root = tmp_path_factory.mktemp("evidence")
    folder = root / "repository" / "experiments"
    shutil.copytree(HERE, folder / "foresight")
    for file in ("foresight.yaml", "wordcount-24.yaml"):
        shutil.copy(HERE.parent / file, folder / file)
    scenarios = root / "shared" / "scenarios"
    scenarios.mkdir(parents=True)
    for load in TUNED | SCORED:
        (scenarios / f"{load}.csv").write_text("t_seconds,rate\n0,10\n1800,30\n3600,20\n")
    return folder / "foresight"


def read(here: Path, name: str) -> Matrix:
    file = here.with_suffix(".yaml") if name == EVERYTHING else here / f"{name}.yaml"
    return multiply(read_plan(file))


def test_halves_are_whole_and_share_no_recording(here: Path) -> None:
    core = read(here, "core")
    assert set(core.axes["workload"]) == TUNED | SCORED
    assert not TUNED & SCORED
    search = read_plan(here / "tune-enrich.yaml").document.search
    assert search is not None
    recordings = group_loads(search.recordings, {load: f'trace("{load}.csv")' for load in TUNED | SCORED})
    assert all(set(loads) <= TUNED or set(loads) <= SCORED for loads in recordings.values())
    assert max(map(len, recordings.values())) > 3


@pytest.mark.parametrize("name", ["core", "optimum", "knobs", *TITLES, *TUNING, EVERYTHING])
def test_every_run_has_the_promise_of_its_job_and_every_policy_its_looks(here: Path, name: str) -> None:
    for case in read(here, name).cases:
        one = case.experiment
        assert isinstance(one.subject, SimulatedModel)
        usual_s = 60.0 if "continuous" in case.labels["model"] else 30.0
        assert one.slo is not None
        assert one.slo.delay_s == (float(case.labels["slo"].removesuffix(" s")) if "slo" in case.labels else usual_s)
        assert one.tick_s == (1.0 if one.policy.name in ("spark-dra", "amadeus") else 5.0)
        assert (one.executors.min, one.executors.max, one.duration_s) == (1, 16, 21_600.0)


def test_nothing_is_tuned_or_mended_on_the_half_that_is_scored(here: Path) -> None:
    for name in ("ablation", "calm", "slo", *TUNING):
        assert set(read(here, name).axes["workload"]) == TUNED
    for name in ("knobs", "outside"):
        assert set(read(here, name).axes["workload"]) == SCORED


def test_each_part_of_foresight_is_left_out_once(here: Path) -> None:
    policies = read_plan(here / "ablation.yaml").document.how.policy
    left_out = [one.settings["without"] for one in policies.values() if one.settings["without"] != "nothing"]
    assert len(set(left_out)) == len(left_out) == len(get_args(Ingredient)) - 1


def test_settings_that_were_chosen_become_a_plan_of_the_other_half(here: Path) -> None:
    chosen = {"foresight": "foresight(late=40)", "spark-dra": "spark-dra(idle_timeout=30s)"}
    (here / "best-wordcount.yaml").write_text(make_plan("wordcount", chosen))
    found = read(here, "best-wordcount")
    assert found.axes["model"] == ("wordcount",)
    assert set(found.axes["workload"]) == SCORED
    assert found.axes["policy"] == tuple(chosen)
    assert {case.experiment.policy.settings.get("late") for case in found.cases} == {40.0, None}


def test_who_has_tuned_nothing_is_told_how(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="tune-enrich"):
        settle(tmp_path)


@pytest.mark.parametrize(
    ("load", "leapt"),
    [
        ("step(10, 100, at=30m)", True),
        ("step(70, 100, at=30m)", False),
        ("ramp(10, 100, at=20m, for=10m)", False),
        ("10 + spike(90, at=30m, for=5s)", False),
        ("10 + spike(90, at=30m, for=2m)", True),
    ],
)
def test_a_load_leaps_where_a_minute_brings_much_more_than_the_one_before(load: str, leapt: bool) -> None:
    assert leaps(load, 3600.0) is leapt


def test_cost_at_a_share_lies_between_neighbours_of_a_knob() -> None:
    assert cost_at(0.99, [(0.97, 10.0), (0.985, 20.0), (0.995, 30.0)]) == pytest.approx(25.0)
    # A knob may turn the other way round, and cross the share twice.
    assert cost_at(0.99, [(1.0, 40.0), (0.98, 20.0), (1.0, 24.0)]) == pytest.approx(22.0)
    assert cost_at(0.99, [(0.995, 30.0), (0.999, 50.0)]) == 30.0
    assert cost_at(0.99, [(0.9, 10.0), (0.98, 90.0)]) is None


def test_policies_stand_by_what_they_keep_and_then_by_what_they_pay_over_the_plan() -> None:
    other = AT._replace(load="leap")
    least = {AT: Least(8.0, 10.0, 20.0), other: Least(8.0, 20.0, None)}
    rows = [
        row("dear", 1.0, 30.0), row("dear", 1.0, 60.0, other), row("lax", 0.999, 11.0), row("lax", 0.5, 5.0, other),
        row("foresight", 0.99, 12.0), row("foresight", 0.995, 24.0, other),
    ]  # fmt: skip
    ours, dear, lax = stand(rows, least)
    assert [one.policy for one in (ours, dear, lax)] == ["foresight", "dear", "lax"]
    assert (ours.kept, ours.of, ours.over_of) == (2, 2, 2)
    assert ours.over == pytest.approx(1.2)
    assert (lax.kept, lax.over_of) == (1, 1)
    assert lax.over == pytest.approx(1.1)


def test_somebody_else_is_better_only_with_more_in_time_for_less() -> None:
    published = [row("keda-lag", 0.996, 11.0), row("spark-dra", 0.992, 10.0), row("hpa-80", 1.0, 13.0)]
    own = [row("foresight", 0.995, 12.0), row("lag-proportional", 1.0, 5.0), row("fixed(workers=16)", 1.0, 1.0)]
    rows = [*own, *published]
    assert [one.policy for _, one in find_better(rows)] == ["keda-lag"]
    assert [one.policy for _, one in find_cheaper(rows)] == ["keda-lag", "spark-dra"]


def test_parts_are_held_against_the_whole_where_both_keep_the_promise() -> None:
    other = AT._replace(seed=2)
    rows = [row("foresight", 0.995, 10.0), row("foresight", 0.995, 10.0, other),
            row("no waves", 0.999, 15.0, changes=30), row("no waves", 0.9, 1.0, other, changes=30)]  # fmt: skip
    [found] = compare(rows, "foresight")
    assert (found.kept, found.base_kept, found.of) == (1, 2, 2)
    assert [found.both, found.cost, found.changes] == pytest.approx([1, 1.5, 3.0])
    assert found.worse == [other]


def test_costs_are_compared_at_the_same_share_and_not_reached_is_an_answer() -> None:
    rows = [row("a(x=1)", 0.98, 10.0), row("a(x=2)", 1.0, 20.0), row("b", 0.9, 5.0)]
    found = {one.policy: one for one in equal_costs(rows, {AT: Least(None, 10.0, None)}, 0.99)}
    assert found["a"].over == pytest.approx(1.5)
    assert (found["b"].reached, found["b"].of, found["b"].over) == (0, 1, None)


def test_the_verdict_tells_whether_the_goal_is_reached_and_what_is_missed() -> None:
    leap = AT._replace(load="leap")
    rows = [row("foresight", 0.995, 10.5), row("foresight", 0.98, 10.0, leap, leaps=True),
            row("fixed(workers=16)", 1.0, 96.0), row("fixed(workers=16)", 1.0, 96.0, leap, leaps=True)]  # fmt: skip
    least = {AT: Least(8.0, 10.0, 36.0), leap: Least(None, None, 9.0)}
    told = "\n".join(tell_core(rows, least, {"scored": frozenset({"other"})}))
    assert "keeps 1 of 2, and pays 1.05 times" in told
    assert "goal 1.10: reached" in told
    assert "It does not keep: enrich, leap, seed 1 (98.00%)" in told
    assert re.search(r"fixed \(the least that keeps\) \| 1 of 1 \| 3\.60 \(1\)", told)
    # A size that is chosen afterwards is nobody's policy.
    assert "With more of the records in time for less: nowhere." in told
    assert "keeps it for less on: enrich, leap, seed 1 (9.0 h; foresight 98.00% for 10.0 h)." in told
    assert of_half(rows, frozenset({"leap"})) == [rows[0], rows[2]]


SMALL = """\
what: {model: {enrich: pass}, workload: {mooncake_d6: constant(1k), ec2_onoff_2d_x8: constant(2k)}, slo: 30s}
how: {policy: [foresight, fixed(workers=2)], executors: 1..4, duration: 2m, seeds: [1]%s}
"""


def test_a_part_is_run_once_and_the_verdict_is_over_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, more in (("core", ""), ("optimum", ", optimum: true")):
        (tmp_path / f"{name}.yaml").write_text(SMALL % more)
    monkeypatch.setattr("experiments.foresight.__main__.find_plan", lambda name: tmp_path / f"{name}.yaml")
    monkeypatch.setattr("experiments.foresight.__main__.Processes", lambda number: Here())
    part = ["--out", str(tmp_path / "out"), "--half", "tuned"]
    assert main(["core", "optimum", *part]) == 0
    told = capsys.readouterr()
    assert "core: 2 of 2 runs are left" in told.err
    assert "core: 2 of 4 runs." in told.out
    assert "of the tuned half" in told.out
    assert "times what the plan that knew the load does" in told.out
    assert (tmp_path / "out" / "evidence.md").read_text().strip() == told.out.strip()
    assert main(["core", *part]) == 0
    assert "core: 0 of 2 runs are left" in capsys.readouterr().err
    assert main(["core", *part, "--load", "mooncake"]) == 1
    assert "its loads are mooncake_d6, ec2_onoff_2d_x8" in capsys.readouterr().err


def test_where_nothing_was_run_there_is_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(tell_all(tmp_path)) == []
    assert main(["--score-only", "--out", str(tmp_path)]) == 1
    assert "nothing was run yet" in capsys.readouterr().err
    assert find_plan(EVERYTHING).is_file()
    assert len(JOBS) == len(TUNING)

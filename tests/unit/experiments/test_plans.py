"""Plans: what their lists multiply to, and how everything that is wrong with one is told with file, line and key."""

import json
from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.core.slo import Slo
from elastream.experiments.experiment import SimulatedModel
from elastream.experiments.plan.checks import check_plan, find_impossible
from elastream.experiments.plan.matrix import Matrix, multiply
from elastream.experiments.plan.reader import PlanProblems, read_plan
from elastream.experiments.plan.schema import make_schema, read_schema

PLAN = """\
what:
  model: windowed-count
  workload:
    calm: constant(10k)
    wave: cosine(10k..40k, period=10m)
  slo: [30s, 95% within 2m]
how:
  policy: [threshold, "hpa(target=0.5)"]
  executors: 1..12
  duration: 10m
  repetitions: 2
"""


def written(folder: Path, text: str, name: str = "plan.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def multiplied(folder: Path, text: str = PLAN) -> Matrix:
    return multiply(read_plan(written(folder, text)))


def problems(folder: Path, text: str) -> list[str]:
    """What is wrong, with the path left out."""
    with pytest.raises(PlanProblems) as wrong:
        check_plan(multiplied(folder, text))
    return [line.replace(f"{folder}/", "") for line in wrong.value.lines]


def test_lists_multiply_and_every_experiment_knows_what_tells_it_apart(tmp_path: Path) -> None:
    matrix = multiplied(tmp_path)
    assert len(matrix.cases) == 2 * 2 * 2 * 2
    assert matrix.axes["workload"] == ("calm", "wave")
    assert matrix.axes["policy"] == ("threshold", "hpa(target=0.5)")
    [one] = [
        case
        for case in matrix.cases
        if case.title == "windowed-count, wave, 95% within 2m, 1..12, 5s, 10m, hpa(target=0.5), seed 1"
    ]
    assert one.experiment.slo == Slo(delay_s=120.0, share=0.95)
    assert (one.experiment.executors.min, one.experiment.executors.max, one.experiment.seed) == (1, 12, 1)
    assert one.experiment.policy.settings["target"] == 0.5


def test_all_policies_get_the_same_seeds(tmp_path: Path) -> None:
    matrix = multiplied(tmp_path)
    seeds = {
        policy: sorted(case.experiment.seed for case in matrix.cases if case.labels["policy"] == policy)
        for policy in matrix.axes["policy"]
    }
    assert seeds["threshold"] == seeds["hpa(target=0.5)"] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_what_is_excluded_is_not_run_and_told_with_its_reason(tmp_path: Path) -> None:
    more = "exclude:\n  - where: {policy: hpa, workload: calm}\n    why: nobody asks\n"
    matrix = multiplied(tmp_path, PLAN + more)
    assert len(matrix.cases) == 12
    [left] = matrix.left_out
    assert (left.what, left.why, left.experiments) == ("policy hpa, workload calm", "nobody asks", 4)


def test_a_case_of_its_own_has_other_values(tmp_path: Path) -> None:
    more = "cases:\n  - where: {policy: threshold, slo: 30s}\n    set: {start: 4, duration: 20m}\n"
    changed = [case for case in multiplied(tmp_path, PLAN + more).cases if case.experiment.executors.start == 4]
    assert {(case.labels["policy"], case.labels["slo"]) for case in changed} == {("threshold", "30s")}
    assert {case.experiment.duration_s for case in changed} == {1200.0}


def test_a_plan_includes_another_and_says_only_what_differs(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    written(tmp_path / "deep", PLAN + "exclude: [{where: {slo: 30s}, why: base}]\n", "base.yaml")
    more = "exclude: [{where: {workload: calm}, why: mine}]\n"
    matrix = multiplied(tmp_path, "include: deep/base.yaml\nhow: {policy: ds2}\n" + more)
    assert matrix.axes["policy"] == ("ds2",)
    assert matrix.axes["duration"] == ("10m",)
    assert [one.why for one in matrix.left_out] == ["base", "mine"]
    assert len(matrix.cases) == 2


def test_paths_start_from_the_file_they_stand_in(tmp_path: Path) -> None:
    (tmp_path / "loads").mkdir()
    (tmp_path / "loads" / "one.csv").write_text("t_seconds,rate\n0,5\n60,9\n", encoding="utf-8")
    written(tmp_path / "loads", "what: {traces: '*.csv'}\n", "traces.yaml")
    written(tmp_path / "loads", "what: {workload: {same: \"trace('one.csv', scale=2)\"}}\n", "text.yaml")
    plan = "include: [loads/traces.yaml, loads/text.yaml]\nwhat: {model: enrich}\nhow: {policy: ds2, duration: 10m}\n"
    matrix = multiplied(tmp_path, plan)
    assert matrix.axes["workload"] == ("same", "one")
    assert all(str(tmp_path / "loads" / "one.csv") in case.experiment.workload for case in matrix.cases)


def test_recordings_that_lack_fail_a_plan_or_are_skipped_and_told(tmp_path: Path) -> None:
    plan = PLAN.replace("  slo:", "  traces: ['none/*.csv', gone.csv]\n  slo:")
    assert [line.partition("there is")[2] for line in problems(tmp_path, plan)] == [
        f" no recording {tmp_path}/none/*.csv; `absent: skip` leaves such loads out".replace(f"{tmp_path}/", ""),
        " no recording gone.csv; `absent: skip` leaves such loads out",
    ]
    matrix = multiplied(tmp_path, plan.replace("  slo:", "  absent: skip\n  slo:"))
    assert [one.what for one in matrix.left_out] == ["none/*.csv", "gone.csv"]
    assert len(matrix.cases) == 16


def test_a_peak_scales_every_load_to_what_the_largest_size_can_do(tmp_path: Path) -> None:
    matrix = multiplied(tmp_path, PLAN.replace("  slo:", "  peak: 80%\n  slo:"))
    from elastream.experiments.simulated import build_model, find_capacity
    from elastream.workloads import parse_workload

    for case in matrix.cases:
        assert isinstance(case.experiment.subject, SimulatedModel)
        capacity_rps = find_capacity(build_model(case.experiment.subject, case.experiment.executors))
        series = parse_workload(case.experiment.workload).series(duration_s=600.0, seed=0)
        assert series.max_rps == pytest.approx(0.8 * capacity_rps, rel=1e-3)


WRONG = {
    "policy: [threshold,": (
        "policy: [treshold,",
        "8: how.policy.treshold: policy: column 1: unknown policy 'treshold'; did you mean 'threshold'?",
    ),
    "  executors:": ("  executers:", "9: how: there is no 'executers'; did you mean 'executors'?"),
    "10m\n": (
        "-10m\n",
        "10: how.duration.-10m: found '-10m'; it must be a duration longer than 0, such as 90s, 140m or 2h",
    ),
    "constant(10k)": (
        "constnt(10k)",
        "4: what.workload.calm: workload: column 1: unknown workload 'constnt'; did you mean 'constant'?",
    ),
    "windowed-count": (
        "windowed-cont",
        "2: what.model: unknown model 'windowed-cont'; did you mean 'windowed-count'?",
    ),
    "repetitions: 2": ("repetitions: 0", "11: how.repetitions: input should be greater than or equal to 1; found 0"),
    "how:\n": ("how:\n  platform: flink\n", "8: how.platform: there is no 'flink'; known: simulator, spark"),
    "model: windowed-count": (
        "job: yahoo",
        " yahoo, calm, 30s, 1..12, 5s, 10m, threshold: how.platform: found simulator; a job runs on spark",
    ),
}
"""What stands in a plan -> what is written instead, and what is told of it."""


WRONG |= {
    "[30s, 95% within 2m]": ("[30s, 0.5m]", "6: what.slo: 30s and 0.5m are the same; leave one of them out"),
    "1..12\n": (
        "1..12\n  start: [2, 20]\n",
        "10: how.start.20: model windowed-count: starts with 20 workers; it must be 1..12, the bounds of its pool",
    ),
    "repetitions: 2\n": (
        "repetitions: 2\ncases: [{where: {policy: hpa}, set: {start: 20}}]\n",
        "12: cases.0.set: model windowed-count: starts with 20 workers; it must be 1..12, the bounds of its pool",
    ),
    "  slo:": (
        "  faults: worker-loss(at=-2m)\n  slo:",
        "6: what.faults.worker-loss(at=-2m): fault: column 1: worker-loss: at: found -120; it must not be negative",
    ),
}


@pytest.mark.parametrize("before", WRONG)
def test_what_is_wrong_is_told_with_file_line_key_and_the_nearest_name(before: str, tmp_path: Path) -> None:
    after, told = WRONG[before]
    assert problems(tmp_path, PLAN.replace(before, after))[0] == f"plan.yaml:{told}"


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    wrong = PLAN.replace("threshold", "treshold").replace("  executors:", "  executers:").replace("10m\n", "-10m\n")
    assert len(problems(tmp_path, wrong)) == 3


def test_a_label_that_no_axis_has_is_told_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"plan.yaml:13: exclude: workload has no 'wve'; did you mean 'wave'\?"):
        multiplied(tmp_path, PLAN + "exclude:\n  - where: {workload: wve}\n    why: mine\n")
    with pytest.raises(Exception, match=r"exclude: there is no axis 'work'; did you mean 'workload'\?"):
        multiplied(tmp_path, PLAN + "exclude:\n  - where: {work: wave}\n    why: mine\n")


def test_what_cannot_be_a_plan_at_all_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"plan.yaml:1: include: there is no file .*gone.yaml"):
        multiplied(tmp_path, "include: gone.yaml\n" + PLAN)
    with pytest.raises(BadInput, match=r"plan.yaml:9: the key 'policy' stands twice"):
        multiplied(tmp_path, PLAN.replace("  executors", "  policy: ds2\n  executors"))
    with pytest.raises(BadInput, match=r"plan.yaml:12: exclude: nothing is left"):
        multiplied(tmp_path, PLAN + "exclude: [{where: {policy: [threshold, hpa]}, why: none}]\n")


def test_a_plan_that_includes_itself_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "include: plan.yaml\n", "other.yaml")
    with pytest.raises(Exception, match="includes itself"):
        multiplied(tmp_path, "include: other.yaml\n" + PLAN)


def test_what_a_policy_lacks_is_known_before_anything_runs(tmp_path: Path) -> None:
    plan = PLAN.replace('"hpa(target=0.5)"', "amadeus").replace("windowed-count", "daedalus-wordcount")
    check = check_plan(multiplied(tmp_path, plan))
    assert [(one.policy, one.subject) for one in check.unfit] == [("amadeus", "daedalus-wordcount")]
    assert {case.labels["policy"] for case in check.cases} == {"threshold"}


def test_a_promise_that_the_largest_size_cannot_keep_is_told_with_the_smallest_that_it_can(tmp_path: Path) -> None:
    check = check_plan(multiplied(tmp_path, PLAN.replace("[30s, 95% within 2m]", "[1s, 2m]")))
    found = find_impossible(check.cases)
    assert {(one.workload, one.promised) for one in found} == {
        ("calm", "99 % of records within 1 s"), ("wave", "99 % of records within 1 s"),
    }  # fmt: skip
    for one in found:
        assert one.least_s is not None
        for bound_s, load in ((one.least_s, []), (one.least_s - 1.0, [one.workload])):
            again = check_plan(multiplied(tmp_path, PLAN.replace("[30s, 95% within 2m]", f"{bound_s}s")))
            cases = [case for case in again.cases if case.labels["workload"] == one.workload]
            assert [other.workload for other in find_impossible(cases)] == load


def test_of_a_load_that_is_too_much_no_bound_is_named_that_would_not_be_kept(tmp_path: Path) -> None:
    """Most of its records are never committed, and so have no delay."""
    text = PLAN.replace("constant(10k)", "900k").replace("[30s, 95% within 2m]", "30s")
    [found] = find_impossible(check_plan(multiplied(tmp_path, text)).cases)
    assert found.sentence() == (
        "windowed-count, calm: the largest size does not keep 99 % of records within 30 s; it falls behind, so that no "
        "bound can be named"
    )


def test_a_word_that_is_none_of_those_that_may_stand_there_gets_the_nearest(tmp_path: Path) -> None:
    assert problems(tmp_path, PLAN.replace("how:\n", "how:\n  platform: sparc\n")) == [
        "plan.yaml:8: how.platform: there is no 'sparc'; did you mean 'spark'?"
    ]


def test_the_shipped_schema_is_that_of_the_plans() -> None:
    assert read_schema() == make_schema()
    assert set(json.loads(read_schema())["properties"]) == {
        "name", "about", "include", "draws", "open", "what", "how", "exclude", "cases", "search", "calibrate",
    }  # fmt: skip

"""Plans that leave values open: what is drawn, where it is written, and what is refused."""

from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.experiments.experiment import SimulatedModel
from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.draws import find_halton
from elastream.experiments.plan.matrix import Matrix, multiply
from elastream.experiments.plan.reader import PlanProblems, read_plan

PLAN = """\
draws: 3
open:
  share: 0..1
  drop: 10%..30%
what:
  model: {taxi: "gesscale-taxi(nearest-delay_idle={share})"}
  workload: {calm: constant(100), wave: "sine(10..100, period=1h)"}
  peak: "{drop}"
how:
  policy: {thresholds: thr-nlaware, Gesscale: "gesscale(drop={drop})"}
  duration: 1h
"""


def multiplied(folder: Path, text: str = PLAN) -> Matrix:
    path = folder / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return multiply(read_plan(path))


def problem(folder: Path, text: str) -> str:
    with pytest.raises(PlanProblems) as wrong:
        check_plan(multiplied(folder, text))
    [line] = wrong.value.lines
    return line.removeprefix(f"{folder}/plan.yaml:")


def test_a_number_s_digits_are_mirrored_at_the_point() -> None:
    assert [find_halton(number, 2) for number in (1, 2, 3, 6)] == [1 / 2, 1 / 4, 3 / 4, 3 / 8]
    assert [find_halton(number, 3) for number in (1, 2, 3, 5)] == pytest.approx([1 / 3, 2 / 3, 1 / 9, 7 / 9])


def test_everything_runs_in_each_draw_with_its_values(tmp_path: Path) -> None:
    matrix = multiplied(tmp_path)
    assert len(matrix.cases) == 3 * 2 * 2
    assert matrix.axes["draw"] == ("1", "2", "3")
    # Halves for the first open value, thirds for the second.
    assert [draw.values for draw in matrix.plan.drawn.values()] == [
        {"share": "0.5", "drop": "0.1667"},
        {"share": "0.25", "drop": "0.2333"},
        {"share": "0.75", "drop": "0.1222"},
    ]
    [one] = [
        case
        for case in matrix.cases
        if (case.labels["draw"], case.labels["policy"], case.labels["workload"]) == ("2", "Gesscale", "calm")
    ]
    assert one.experiment.policy.settings["drop"] == 0.2333
    assert isinstance(one.experiment.subject, SimulatedModel)
    assert one.experiment.subject.model == "gesscale-taxi(nearest-delay_idle=0.25)"
    # Who has nothing open is the same in all draws but for what else is drawn.
    loads = {case.experiment.workload for case in matrix.cases if case.labels["workload"] == "calm"}
    assert len(loads) == 3


def test_more_draws_leave_those_before_as_they_were(tmp_path: Path) -> None:
    few, many = multiplied(tmp_path), multiplied(tmp_path, PLAN.replace("draws: 3", "draws: 7"))
    assert many.cases[: len(few.cases)] == few.cases


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("{share})", "{shore})", "6: what.model.taxi: nothing is drawn that is called 'shore'; did you mean 'share'?"),
        ("  share: 0..1", "  share: 1..0", "3: open.share: found '1..0'; it must be a range such as 0.5..1"),
        ("draws: 3\n", "", "1: plan: draws and open go together: how many, and of what"),
        ("  share: 0..1", "  share: 0..1\n  idle: 0..1", "4: open.idle: idle is used nowhere; write it in braces"),
        (
            '{thresholds: thr-nlaware, Gesscale: "gesscale(drop={drop})"}',
            '["gesscale(drop={drop})"]',
            "10: how.policy.0: 'gesscale(drop={drop})' is another text in each draw; give it a name:",
        ),
        ("10%..30%", "90%..120%", "10: how.policy.Gesscale: policy: column 1: gesscale: drop 1 must be at least 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told_with_its_place(before: str, after: str, told: str, tmp_path: Path) -> None:
    assert problem(tmp_path, PLAN.replace(before, after)).startswith(told)


def test_open_values_are_eight_at_most(tmp_path: Path) -> None:
    more = "".join(f"  more{number}: 0..1\n" for number in range(8))
    with pytest.raises(BadInput, match="at most 8"):
        multiplied(tmp_path, PLAN.replace("  share: 0..1\n", more))

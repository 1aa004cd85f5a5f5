"""Gesscale's table III as a sensitivity study: what its worlds share, and what counts as an order that holds."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from elastream.experiments.plan.matrix import Matrix, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.replication.scoring import Claim
from elastream.experiments.simulated import build_model, set_up_simulation
from elastream.simulator.continuous.model import DataflowModel
from experiments.gesscale.orders import POLICIES, find_split, judge, tell_telling
from experiments.gesscale.runs import INPUT_S, Look, Row, find_downtime, find_stops, make_row

FOLDER = Path(__file__).parents[3] / "experiments" / "gesscale"
PLANS = ("table3", "table3-code", "downtime")


@cache
def read(plan: str) -> Matrix:
    return multiply(read_plan(FOLDER / f"{plan}.yaml"))


@pytest.mark.parametrize("plan", PLANS)
def test_who_knows_the_network_begins_on_the_nearest_boards_and_others_anywhere(plan: str) -> None:
    for case in read(plan).cases:
        model = build_model(case.experiment.subject)  # type: ignore[arg-type]
        assert isinstance(model, DataflowModel)
        assert model.places is not None
        knows = case.labels["policy"] in ("Gesscale", "THR-NLAware")
        assert model.places.start == (("brussels", "amsterdam") if knows else ())
        assert model.places.anew is not knows


@pytest.mark.parametrize("plan", PLANS)
def test_all_four_meet_in_each_world(plan: str) -> None:
    worlds: dict[tuple[object, ...], set[str]] = {}
    for case in read(plan).cases:
        stop = case.labels["model"].partition(", ")[2]
        world = (case.labels["draw"], case.labels["workload"], stop, case.experiment.seed)
        worlds.setdefault(world, set()).add(case.labels["policy"])
    assert all(met == set(POLICIES) for met in worlds.values())


def test_nothing_comes_after_two_days_and_the_most_is_the_drawn_share_of_what_all_can_do() -> None:
    matrix = read("table3")
    for case in matrix.cases:
        if case.labels["draw"] not in ("1", "16") or case.labels["policy"] != "Gesscale":
            continue
        setup = set_up_simulation(case.experiment)
        series = setup.workload.series(duration_s=case.experiment.duration_s, seed=0)
        assert series.rate(INPUT_S + 1) == 0 < series.rate(INPUT_S - 1)
        top = float(matrix.plan.drawn[case.labels["draw"]].values["top"])
        assert isinstance(setup.model, DataflowModel)
        assert series.max_rps == pytest.approx(top * setup.model.full_rps(), rel=1e-4)


def test_the_pace_of_the_public_code_changes_nothing_but_the_pace() -> None:
    told, code = ({case.labels["policy"]: case.experiment for case in read(plan).cases} for plan in PLANS[:2])
    for name in POLICIES:
        ours, theirs = told[name].policy.settings, code[name].policy.settings
        changed = {key for key in ours if ours[key] != theirs[key]}
        assert changed <= {"warm_up_s", "interval_s", "window_s", "overloads", "shrink_to"}
        assert changed


def test_a_change_that_comes_while_the_job_stands_is_carried_out_after_it() -> None:
    assert find_stops([0.0, 60.0, 500.0], 120.0) == [(0.0, 120.0), (120.0, 240.0), (500.0, 620.0)]


def test_a_run_by_hand() -> None:
    """Two workers for half of the time; then four where three are needed, after a change that takes a tenth of it."""
    tenth = INPUT_S / 10

    looks = [
        Look(t_s=number * tenth, wanted=2 if number < 5 else 4, ready=2 if number < 5 else 4, demand=2 + (number >= 5))
        for number in range(14)
    ]
    row = make_row(looks, tenth, excess_time=0.2)
    # Four of ten parts with four workers where three are enough.
    assert row.reconfigurations == 1
    assert row.cost == pytest.approx(28.8 * (5 * 2 + 4 * 4))
    assert row.excess_time == pytest.approx(0.2)
    assert row.timeshare_over_pct == pytest.approx(40.0)


def test_a_run_that_does_not_finish_counts_to_its_end() -> None:
    looks = [Look(t_s=share * INPUT_S, wanted=2, ready=2, demand=2) for share in (0.0, 0.5, 1.0, 1.3)]
    assert make_row(looks, 120.0, excess_time=None).excess_time == pytest.approx(0.3)


def test_the_downtime_is_that_of_the_model() -> None:
    assert find_downtime({"model": "gesscale-near"}) == 120.0
    assert find_downtime({"model": "gesscale-anywhere(restart-grow=10s, restart-shrink=10s)"}) == 10.0


def world(*costs: float) -> Mapping[str, Row]:
    return {
        policy: Row(reconfigurations=1.0, cost=cost, excess_time=0.0, timeshare_over_pct=0.0)
        for policy, cost in zip(POLICIES, costs, strict=True)
    }


def claims(worlds: Mapping[tuple[str, int], Mapping[str, Row]], name: str) -> dict[str, Claim]:
    [score] = [one for one in judge("T", worlds, {}) if name in one.table]
    return {claim.row: claim for claim in score.claims}


def test_an_order_holds_in_a_world_if_every_step_of_it_does_and_a_tie_speaks_for_neither() -> None:
    as_told, turned = world(30.0, 20.0, 40.0, 10.0), world(30.0, 20.0, 40.0, 25.0)
    cost = claims({("1", 0): as_told, ("1", 1): as_told, ("2", 0): turned, ("2", 1): as_told}, "cost")
    shares = {row: claim.found.mean for row, claim in cost.items() if claim.found}
    # Seeds of one draw are one case: the second draw is as told in half of its boards.
    assert {claim.found.repetitions for claim in cost.values() if claim.found} == {2}
    assert shares["the whole order"] == 0.75
    assert shares["Gesscale below THR-NLAware"] == 0.75
    assert shares["THR-NLAware below MDL-NLUnaware"] == 1.0
    tied = claims({("1", 0): as_told}, "reconfigurations")
    assert [claim.found.mean for claim in tied.values() if claim.found] == [0.0, *[0.5] * 6]


def test_two_costs_that_are_half_a_percent_apart_are_not_scored() -> None:
    cost = claims({("1", 0): world(1.0, 2.0, 3.0, 4.0)}, "cost")
    assert [row for row, claim in cost.items() if not claim.counts] == ["THR-NLAware below THR-NLUnaware"]


def test_the_open_value_that_decides_most_is_told_with_both_halves_of_its_range() -> None:
    split = {
        "drop": {"1": False, "2": True, "3": False, "4": True},
        "top": {"1": False, "2": False, "3": True, "4": True},
    }
    cases = {("1", 0): 0.0, ("2", 0): 1.0, ("3", 0): 0.0, ("4", 0): 0.5}
    assert tell_telling(cases, split) == "drop decides most: 0% in the lower half of its range, 75% in the upper one"
    assert tell_telling(dict.fromkeys(cases, 1.0), split) == "no open value decides alone"


def test_half_of_the_draws_of_each_open_value_are_above_its_middle() -> None:
    split = find_split(FOLDER / "table3.yaml")
    assert set(split) == {"scaling", "delay_cost", "idle", "scatter", "drop", "top"}
    assert all(4 <= sum(above.values()) <= 12 for above in split.values())

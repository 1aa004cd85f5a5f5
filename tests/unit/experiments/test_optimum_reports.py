"""Distances to the optimum, from the plan that asks for them to everything that shows them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.experiments.plan.matrix import Case, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.report.contents import read_contents
from elastream.experiments.report.standing import stand
from elastream.experiments.report.tables import policy_table, situation_table
from elastream.experiments.runner.runner import Here, find_status, run_cases
from elastream.experiments.store.folder import RunStore

PLAN = """\
what: {model: enrich, workload: {wave: "cosine(5k..30k, period=5m)"}, slo: 30s}
how: {policy: ['fixed(workers=6)'], executors: 1..6, start: 2, duration: 5m, repetitions: 1, optimum: true}
"""


def write_plan(folder: Path) -> Sequence[Case]:
    (folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
    return multiply(read_plan(folder / "plan.yaml")).cases


def test_a_plan_that_asks_for_it_has_the_distance_of_every_policy_in_all_that_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases, store = write_plan(tmp_path), RunStore(tmp_path / "out").open()
    run_cases(store, find_status(store, cases), Here(), plan="test")
    [without] = find_status(store, cases, find_optimum=True)
    assert without.state == "without optimum"
    assert without.run is not None
    assert without.run.numbers["cost_to_bound"] is None
    run_cases(store, [without], Here(), plan="test", find_optimum=True)
    [status] = find_status(store, cases, find_optimum=True)
    assert status.state == "finished"
    assert status.run is not None
    numbers = status.run.numbers
    assert 1.0 < numbers["cost_to_clairvoyant"] < numbers["cost_to_bound"]
    assert numbers["cost_to_bound"] == pytest.approx(numbers["worker_hours_paid"] / numbers["bound_hours"])
    store.close()
    contents = read_contents(tmp_path / "out")
    for table in (situation_table(contents), policy_table(stand(contents.comparison.contests))):
        shown = dict(zip(table.headings, table.rows[0], strict=True))
        assert shown["cost / bound"].raw == pytest.approx(numbers["cost_to_bound"])
        assert shown["cost / plan that knew"].raw == pytest.approx(numbers["cost_to_clairvoyant"])
    assert main(["experiment", "compare", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "/ bound" in told
    assert f"{numbers['cost_to_bound']:.4g}" in told


def test_simulate_tells_both_and_keeps_the_plan_to_be_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs"
    base = ["simulate", "--model", "enrich", "--workload", "cosine(5k..30k, period=5m)", "--duration", "5m"]
    base += ["--executors", "1..6", "--slo", "30s"]
    assert main([*base, "--policy", "fixed(workers=6)", "--optimum", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "no schedule keeps the SLO for less than" in told
    assert "times the bound" in told
    assert main([*base, "--policy", f'schedule("{out / "optimum.csv"}")']) == 0
    capsys.readouterr()
    assert main(["simulate", "--policy", "fixed(workers=6)", "--duration", "1m", "--optimum"]) == 0
    assert "optimum: not known; it takes one pool and a promise" in capsys.readouterr().out

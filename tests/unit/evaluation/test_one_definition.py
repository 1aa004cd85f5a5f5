"""One run, through every door that shows numbers of it: each number is the same at all of them."""

import csv
import json
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest

from elastream.cli import main
from elastream.cli.terminal.live_view import LiveView
from elastream.core.callform import parse_call
from elastream.core.slo import Slo
from elastream.core.tick import Tick
from elastream.evaluation.recorded import read_series
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import Summary, summarise
from elastream.experiments.run_folder import find_journal
from elastream.journal.reader import Recording, read
from elastream.policies import policies
from elastream.render.page.page import page
from elastream.simulator.catalogue import any_model
from elastream.simulator.faults import faults
from elastream.simulator.run import Outcome, Simulation
from elastream.workloads import parse_workload

TICK_S, SLO_S, MINUTES = 5.0, 20.0, 12
FAULTS = ("unreachable(at=2m, for=40s)", "worker-loss(at=4m)", "scale-failure(at=5m, for=1m)")


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is run: a job with one pool and faults of every kind, and one with several pools."""

    model: str
    policy: str
    load: str
    faults: tuple[str, ...] = ()


CASES = (
    Case(model="windowed-count", policy="lag-proportional", load="cosine(5k..70k, period=6m)", faults=FAULTS),
    Case(model="two-queries", policy="threshold", load="cosine(5k..20k, period=6m)"),
    Case(model="kanis-q1", policy="ds2", load="cosine(200k..2200k, period=6m)"),
)


class Watch:
    """Asks for the numbers of a run while it goes on."""

    def __init__(self) -> None:
        self.series = RunSeries(tick_s=TICK_S)
        self.last: Summary | None = None

    def write(self, tick: Tick) -> None:
        self.series.update(tick)
        self.last = summarise(self.series)

    def close(self) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Doors:
    """The same run, seen through all of them."""

    outcome: Outcome
    watch: Watch
    view: LiveView
    told: dict[str, Any]
    kept: dict[str, Any]
    table: list[dict[str, str]]
    recording: Recording


@pytest.fixture(params=CASES, ids=lambda case: case.model, scope="module")
def doors(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Doors:
    case: Case = request.param
    out, told = tmp_path_factory.mktemp("runs"), StringIO()
    watch, view = Watch(), LiveView(60.0 * MINUTES, title="", tick_s=TICK_S)
    simulation = Simulation(
        any_model(case.model).promising(Slo(delay_s=SLO_S)),
        parse_workload(case.load),
        policies.build(case.policy),
        name=case.policy,
        duration_s=60.0 * MINUTES,
        tick_s=TICK_S,
        faults=[faults.build_call(parse_call(fault, what="fault")) for fault in case.faults],
    )
    with redirect_stdout(StringIO()):
        outcome = simulation.run([watch, view])
    arguments = [f"--model={case.model}", f"--workload={case.load}", f"--policy={case.policy}", f"--slo={SLO_S:g}s"]
    arguments += [f"--duration={MINUTES}m", f"--tick={TICK_S:g}s", *(f"--fault={fault}" for fault in case.faults)]
    with redirect_stdout(told):
        assert main(["simulate", *arguments, "--json", "--out", str(out)]) == 0
    (folder,) = out.iterdir()
    return Doors(
        outcome=outcome,
        watch=watch,
        view=view,
        told=json.loads(told.getvalue())["runs"][0],
        kept=json.loads((folder / "summary.json").read_text()),
        table=list(csv.DictReader((folder / "series.csv").read_text().splitlines())),
        recording=read(find_journal(folder)),
    )


def test_every_door_has_the_same_summary(doors: Doors) -> None:
    expected = doors.outcome.summary
    assert expected.actions > 1
    assert expected.worker_hours_paid is not None
    assert expected.worker_hours_ready is not None
    assert expected.worker_hours_paid > expected.worker_hours_ready > 0

    assert doors.watch.last == expected
    assert summarise(doors.view.series) == expected
    assert summarise(read_series(doors.recording).series) == expected
    assert doors.told["summary"] == doors.kept["summary"] == expected.as_json()


def test_every_door_has_the_same_series(doors: Doors) -> None:
    expected = list(doors.outcome.series.rows())
    assert len(expected) == 60 * MINUTES / TICK_S + 1

    for series in (doors.watch.series, doors.view.series, read_series(doors.recording).series):
        assert list(series.rows()) == expected
    assert [_spelt(row) for row in expected] == [{name: row[name] for name in expected[0]} for row in doors.table]


def test_the_page_shows_the_same_numbers(doors: Doors) -> None:
    tiles, found = _tiles(page(doors.recording)), doors.outcome.summary
    assert tiles["Mean executors"] == (f"{found.mean_workers:.1f}", f"ready; max {found.max_workers:.0f}")
    assert tiles["Executor-hours paid"] == (f"{found.worker_hours_paid:.2f}", f"{found.worker_hours_ready:.2f} ready")
    assert tiles["Changes"] == (f"{found.actions}", f"{found.grown} up, {found.shrunk} down")
    assert tiles["Within SLO"][0] == f"{int((found.records_within_slo or 0) * 1000) / 10:g} %"
    assert tiles["Time within SLO"][0] == f"{int((found.time_within_slo or 0) * 1000) / 10:g} %"


def test_what_only_the_simulator_knows_stands_beside_and_agrees_at_the_end(doors: Doors) -> None:
    exact = doors.outcome.exact
    assert doors.told["exact"] == doors.kept["exact"] == exact.as_json()
    assert doors.outcome.summary.last_backlog == pytest.approx(exact.backlog_left, abs=1.0)
    assert not doors.told["summary"].keys() & doors.told["exact"].keys()
    assert [float(row["offered_rps"]) for row in doors.table] == list(doors.outcome.offered_rps)


def test_how_the_size_followed_the_demand_is_told_where_one_pool_does_the_work(doors: Doors) -> None:
    assert doors.told["elasticity"] == doors.kept["elasticity"]
    has_one_pool = doors.told["experiment"]["subject"]["model"] != "kanis-q1"
    assert (doors.told["elasticity"] is not None) is has_one_pool
    if has_one_pool:
        over, under = (doors.told["elasticity"][f"timeshare_{side}"] for side in ("over", "under"))
        assert 0 < over + under <= 1


def _spelt(row: dict[str, object]) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in row.items()}


def _tiles(text: str) -> dict[str, tuple[str, str]]:
    """Name of a tile -> its number, and what stands below."""
    part = re.search(r'id="run-data">(.*?)</script>', text, re.DOTALL)
    assert part is not None
    (summary,) = (data for kind, data in json.loads(part[1]) if kind == "summary")
    return {name: (number, more) for name, number, more, _ in summary["tiles"]}

"""A fidelity plan: what is counted, what naive predictors say, and a truth that is found again."""

import json
from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.core.observation import FinishedBatch, Observation, Pool, Query, Reading, Source
from elastream.core.tick import Tick
from elastream.core.topology import Operator, Topology
from elastream.evaluation.curve import StepCurve
from elastream.experiments.experiment import ExecutorBounds
from elastream.experiments.fidelity.figures import LoadFigures, measure_load
from elastream.experiments.fidelity.page import make_fidelity_page
from elastream.experiments.fidelity.predictors import by_last_value, by_rate, find_agreement, find_error
from elastream.experiments.fidelity.sentences import tell_goals, tell_slots
from elastream.experiments.fidelity.study import RESULT, FidelityStudy
from elastream.experiments.fidelity.trials import find_groups
from elastream.experiments.fidelity.verdict import GOALS
from elastream.experiments.store import identity
from elastream.workloads.series import RateSeries
from tests.unit.experiments.fidelity_samples import PLAN, make_plan, read_matrix, record, stand_in

LOAD = RateSeries.constant(100.0, duration_s=40.0)


def look(at_s: float, *, arrived: float, committed: float, ended_s: float, size: int) -> Tick:
    """One look on a clock on which the load begins at 7 s."""
    pool = Pool(
        name="executors", slots_per_worker=1, min_workers=1, max_workers=4, wanted=size, requested=size, ready=size,
        leaving=0,
    )  # fmt: skip
    query = Query(
        id="q",
        name="q",
        phase="running",
        topology=Topology(operators=(Operator(name="s", pool="executors"),), edges=()),
        sources=(Source(name="a", arrived=Reading(arrived, at_s), committed=Reading(committed, at_s)),),
        finished=FinishedBatch(id=0, started_s=0.0, ended_s=ended_s) if committed else None,
    )
    seen = Observation(at_s=at_s, utc_s=at_s, application="a", pools=(pool,), queries=(query,))
    return Tick(number=1, at_s=at_s, utc_s=at_s, observation=seen, decision=None)


TICKS = [
    look(0.0, arrived=0, committed=0, ended_s=0.0, size=4),
    look(17.0, arrived=1_000, committed=0, ended_s=0.0, size=1),
    look(27.0, arrived=2_000, committed=1_000, ended_s=25.0, size=2),
    look(47.0, arrived=4_000, committed=2_000, ended_s=45.0, size=2),
    look(97.0, arrived=4_500, committed=4_500, ended_s=90.0, size=3),
]


def test_only_the_time_of_the_load_counts_and_its_begin_is_found_by_what_arrived() -> None:
    found = measure_load(TICKS, LOAD, "run")
    assert found.duration_s == 40.0
    # 10 s with four, 10 s with one, 20 s with two.
    assert found.worker_hours == pytest.approx((10 * 4 + 10 * 1 + 20 * 2) / 3600)
    assert found.mean_backlog == pytest.approx((10 * 0 + 10 * 1_000 + 20 * 1_000) / 40)
    assert found.changes == 2
    # Two batches of 1,000 records: committed at 18 s and 38 s of the load, delays even from 8 to 18 s and 18 to 28 s.
    assert found.delay_p95_s == pytest.approx(8 + 0.95 * 20)


def test_a_run_in_which_nothing_of_the_load_arrived_is_refused() -> None:
    with pytest.raises(BadInput, match="run: nothing of the load arrived while somebody looked"):
        measure_load(TICKS[:1], LOAD, "run")


def known(wanted: StepCurve) -> LoadFigures:
    flat = StepCurve([0.0, 40.0], [1.0, 1.0])
    return LoadFigures(
        duration_s=40.0, mean_rps=100.0, worker_hours=0.02, delay_p95_s=10.0, mean_backlog=500.0, changes=1,
        wanted=wanted, ready=flat, backlog=flat, delay=flat,
    )  # fmt: skip


def test_the_last_value_is_that_of_the_run_that_is_known_for_as_long_as_the_load_lasts() -> None:
    said = by_last_value(known(StepCurve([0.0, 40.0], [2.0, 2.0])), RateSeries.constant(300.0, duration_s=80.0))
    assert (said.worker_hours, said.delay_p95_s, said.mean_backlog, said.changes) == (0.04, 10.0, 500.0, 2)


def test_linear_in_the_rate_is_as_many_times_as_much_as_there_are_records() -> None:
    load = RateSeries.steps([100.0, 300.0], step_s=20.0, duration_s=40.0)
    said = by_rate(known(StepCurve([0.0, 40.0], [2.0, 2.0])), load, ExecutorBounds(min=1, max=5))
    assert said.worker_hours == pytest.approx(0.04)
    assert said.delay_p95_s == pytest.approx(20.0)
    assert said.mean_backlog == pytest.approx(1_000.0)
    # Two at the rate that is known; six at three times as much, of which five may be.
    assert said.wanted.values[0] == 2.0
    assert said.wanted.values[-1] == 5.0
    assert said.changes == 1


def test_errors_are_shares_of_what_came_and_unknown_where_nothing_did() -> None:
    assert find_error(12.0, 10.0) == pytest.approx(0.2)
    assert find_error(12.0, 0.0) is None
    assert find_error(None, 10.0) is None


def test_sizes_agree_for_the_share_of_time_in_which_they_are_the_same() -> None:
    said = StepCurve([0.0, 10.0, 40.0], [1.0, 2.0, 2.0])
    found = StepCurve([0.0, 30.0, 40.0], [2.0, 1.0, 1.0])
    assert find_agreement(said, found) == pytest.approx(20 / 40)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a plan of which all runs were recorded."""
    plan = make_plan(tmp_path)
    stand_in(monkeypatch, tmp_path)
    record(plan, tmp_path / "out")
    return tmp_path


@pytest.mark.needs("spark")
def test_a_truth_that_is_known_is_found_again_and_naive_predictors_are_worse(made: Path) -> None:
    study = FidelityStudy(read_matrix(made / "plan.yaml"), made / "out")
    assert study.find_missing() == []
    result = study.compare()
    assert [one.title for one in result.verdicts] == [
        "wave, threshold(metric=busy, interval=6s, window=10s)",
        "spike, lag-proportional(interval=2s, window=10s)",
    ]
    for one in result.verdicts:
        for quantity, goal in GOALS.items():
            error = one.error("simulator", quantity)
            assert error is not None
            assert error < goal, (one.title, quantity)
            lowest, highest = one.extent(quantity) or (0.0, 0.0)
            assert lowest <= getattr(one.live, quantity) * 1.1
            assert highest >= getattr(one.live, quantity) * 0.9
    [spike] = [one for one in result.verdicts if one.title.startswith("spike")]
    assert (spike.error("last value", "delay_p95_s") or 0) > (spike.error("simulator", "delay_p95_s") or 1)
    written = json.loads((made / "out" / RESULT).read_text(encoding="utf-8"))
    assert written["runs"][0]["live"]["worker_hours"] == pytest.approx(result.verdicts[0].live.worker_hours)
    assert tell_slots(result).startswith("plan: slots limited to 2,000 rows/s in 2 of 2 judged runs (job made)")
    assert tell_goals(result.verdicts)[0].endswith("within 10% in 2 of 2")
    page = make_fidelity_page(result)
    assert page.index("slots limited to 2,000 rows/s") < page.index("executor-hours: off by")
    assert page.count('class="strip size-wanted"') == 3


@pytest.mark.needs("spark")
def test_a_run_that_is_missing_is_told_and_the_others_are_judged(made: Path) -> None:
    study = FidelityStudy(read_matrix(made / "plan.yaml"), made / "out")
    for run in (made / "out" / "spark" / "runs").iterdir():
        if '"workload": "spike"' in (run / "experiment.json").read_text(encoding="utf-8"):
            (run / "journal").rename(run / "elsewhere")
    result = study.compare()
    assert len(result.verdicts) == 1
    assert result.lacking == ("spike, lag-proportional(interval=2s, window=10s): it was not run",)


@pytest.mark.needs("spark")
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("calibrate: {workload: wave, policy: lag-proportional}\n", "",
         "plan.yaml: calibrate: it is missing; say which run of each job calibrates"),
        ("calibrate: {workload: wave, policy: lag-proportional}", "calibrate: {workload: wave}",
         "plan.yaml:16: calibrate: it names 2 runs of job made"),
        ("calibrate: {workload: wave, policy: lag-proportional}", "calibrate: {workload: wav}",
         "plan.yaml:16: calibrate: workload has no 'wav'; did you mean 'wave'"),
        ("calibrate: {workload: wave, policy: lag-proportional}", "calibrate: {workload: spike, policy: threshold}",
         "plan.yaml:16: calibrate: it names no run of job made"),
        ("calibrate: {workload: wave, policy: lag-proportional}", "calibrate: {load: wave}",
         "plan.yaml:16: calibrate: there is no axis 'load'"),
        ("live: {capacity: 2000}", "live: {capacity: 2000, time-scale: 3}",
         "how.live: time-scale: found 3; a fidelity plan needs 1"),
        ("live: {capacity: 2000}", "live: {capacity: fast}",
         "found 'fast'; it must be a number above 0, or real"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_tell_fidelity_is_refused_in_a_line(
    tmp_path: Path, before: str, after: str, told: str
) -> None:
    assert before in PLAN
    with pytest.raises(BadInput) as wrong:
        find_groups(read_matrix(make_plan(tmp_path, PLAN.replace(before, after))))
    assert told in str(wrong.value)
    assert "\n" not in str(wrong.value)


@pytest.mark.needs("spark")
def test_real_work_and_limited_slots_are_judged_by_models_of_their_own(tmp_path: Path) -> None:
    text = PLAN.replace("job: {made: deduplicate}", "job: {made: deduplicate, hard: wordcount}")
    text += "cases:\n  - {where: {job: hard}, set: {capacity: real}}\n"
    groups = find_groups(read_matrix(make_plan(tmp_path, text)))
    assert [(group.job, group.slots, len(group.judged)) for group in groups] == [
        ("made", "slots limited to 2,000 rows/s", 2),
        ("hard", "real work", 2),
    ]


def test_a_simulator_that_was_mended_leaves_runs_on_executors_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {platform: identity.digest_code(platform, "threshold") for platform in ("simulator", "live")}
    monkeypatch.setitem(identity.OWN, "simulator", identity.OWN["simulator"][1:])
    identity.digest_code.cache_clear()
    after = {platform: identity.digest_code(platform, "threshold") for platform in ("simulator", "live")}
    identity.digest_code.cache_clear()
    assert before["live"] == after["live"]
    assert before["simulator"] != after["simulator"]

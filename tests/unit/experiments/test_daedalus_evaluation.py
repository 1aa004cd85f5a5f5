"""Daedalus' published evaluation: what its plans run is what the document ran, and so is what is measured."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.experiments.experiment import SimulatedModel
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.replication.published import read_published
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import TableScore
from elastream.experiments.simulated import build_model, set_up_simulation
from elastream.experiments.store.folder import StoredRun
from elastream.experiments.store.identity import Identity
from elastream.experiments.store.tables import DECISIONS, TICKS
from elastream.policies import policies
from elastream.simulator.continuous.assignment import loads
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.run import Simulation
from elastream.workloads import parse_workload
from experiments.daedalus.averages import score_averages, score_phoebe
from experiments.daedalus.capacity import score_capacity
from experiments.daedalus.numbers import TABLES
from experiments.daedalus.recoveries import Moment, Recovery, measure_recoveries, score_failures

FOLDER = TABLES.parent
HOURS = 6
Row = Mapping[str, object]


def stored(
    folder: Path,
    labels: Mapping[str, str],
    *,
    decisions: Sequence[tuple[float, int, int, Row]] = (),
    ticks: Sequence[Row] = (),
    numbers: Row | None = None,
    faults_s: Sequence[float] = (),
) -> tuple[Mapping[str, str], StoredRun]:
    """A run of six hours with these decisions (when, before, after, evidence) and moments."""
    place = folder / "-".join(labels.values())
    place.mkdir()
    rows = [
        {"t_s": at_s, "workers_before": before, "workers_after": after, "evidence": json.dumps(evidence)}
        for at_s, before, after, evidence in decisions
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=DECISIONS), place / "decisions.parquet")
    pq.write_table(pa.Table.from_pylist(list(ticks), schema=TICKS), place / "ticks.parquet")
    faults = [{"name": "worker-loss", "settings_text": {"at_s": at_s}} for at_s in faults_s]
    what = {"duration_s": HOURS * 3600.0, "subject": {"faults": faults}}
    document = {"what": what, "labels": labels}
    return labels, StoredRun(Identity("e", "c"), place, "finished", {"seed": 0, **(numbers or {})}, document, None)


def gathered(folder: Path, runs: Sequence[tuple[Mapping[str, str], StoredRun]]) -> PlanResults:
    return PlanResults(name="plan", about="Why?", folder=folder, runs=runs, missing=0, lacks=[])


def found(scores: Sequence[TableScore], table: str, quantity: str) -> dict[str, float | None]:
    [score] = [one for one in scores if one.table == table and one.quantity.title == quantity]
    return {claim.row: claim.found.mean if claim.found else None for claim in score.claims}


def test_the_shares_that_the_document_tells_follow_from_the_workers_that_it_tells() -> None:
    rows = read_published(TABLES / "evaluation.csv")
    workers = {}
    for row in rows:
        job = row["job"] if row["engine"] == "flink" else row["engine"]
        workers[job, row["approach"]] = float(row["avg_workers"])
    for row in read_published(TABLES / "savings.csv"):
        if (theirs := workers.get((row["job"], row["against"]))) is not None:
            saved = 100 * (1 - workers[row["job"], "daedalus"] / theirs)
            assert saved == pytest.approx(float(row["percent"]), abs=0.7), row


@pytest.mark.parametrize("plan", ["averages", "recovery-target"])
def test_every_job_runs_under_its_own_load(plan: str) -> None:
    matrix = multiply(read_plan(FOLDER / f"{plan}.yaml"))
    loads = {case.labels["model"]: case.labels["workload"] for case in matrix.cases}
    assert loads["WordCount"] == "sine"
    assert {("Yahoo", "ads"), ("Traffic", "cars"), ("WordCount", "sine")} >= set(loads.items())


def test_a_load_that_is_not_there_is_left_out_with_the_reason(tmp_path: Path) -> None:
    for name in ("common", "averages"):
        text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
        (tmp_path / f"{name}.yaml").write_text(text.replace("../shared", "nowhere"), encoding="utf-8")
    matrix = multiply(read_plan(tmp_path / "averages.yaml"))
    assert {case.labels["model"] for case in matrix.cases} == {"WordCount"}
    assert [one.what for one in matrix.left_out if "there is no recording" in one.why] == ["ads", "cars"]


def test_whatever_the_skew_twelve_workers_are_just_enough_for_the_peak() -> None:
    cases = {case.labels["model"]: case for case in multiply(read_plan(FOLDER / "hpa-and-skew.yaml")).cases}
    assert len(cases) == 7
    for case in cases.values():
        model = set_up_simulation(case.experiment).model
        flood = Simulation(model, parse_workload("constant(300k)"), policies.build("fixed", {}), name="fixed",
                           duration_s=60.0, tick_s=5.0)  # fmt: skip
        # What waits in buffers of workers that are not the busiest is worked through besides.
        did_rps = flood.run([]).summary.mean_committed_rps
        assert did_rps == pytest.approx(1.05 * 40_000, rel=0.02), case.labels["model"]


def test_so_they_are_on_kafka_streams_however_partitions_fall_to_them() -> None:
    for case in multiply(read_plan(FOLDER / "kafka-streams-skew.yaml")).cases:
        model = set_up_simulation(case.experiment).model
        assert isinstance(model, DataflowModel)
        # Flooded, others go on when the first is full: what counts is when that is.
        busiest = max(loads(model.logs[0], 12))
        assert model.operators[0].rate_rps / busiest == pytest.approx(1.05 * 40_000, rel=0.001), case.labels["model"]


def test_workers_fail_every_hour_while_the_job_runs() -> None:
    back_s, times_h = set(), set()
    for case in multiply(read_plan(FOLDER / "failures.yaml")).cases:
        subject = case.experiment.subject
        assert isinstance(subject, SimulatedModel)
        model = build_model(subject)
        assert isinstance(model, DataflowModel)
        back_s.add((case.labels["model"], model.restart.loss_s))
        times_h.add(tuple(fault.settings["at_s"] / 3600 for fault in subject.faults))
    assert back_s == {("back after 30 s", 30.0), ("back after 90 s", 90.0)}
    assert times_h == {(), (0.5, 1.5, 2.5, 3.5, 4.5, 5.5)}


def moments(*, until_s: int = 600) -> list[Moment]:
    """10,000 records/s; from 100 to 130 s the job stands still, then it does 15,000 each second until nothing waits."""
    backlog, looks = 0.0, [Moment(0.0, 0.0, 10_000.0)]
    for at_s in range(5, until_s, 5):
        rate_rps = 10_000.0 if 100 < at_s <= 130 else -5_000.0
        backlog = max(0.0, backlog + 5 * rate_rps)
        looks.append(Moment(float(at_s), backlog, 10_000.0))
    return looks


def test_a_recovery_is_over_when_throughput_follows_the_load_again_and_in_truth_when_nothing_waits() -> None:
    [one] = measure_recoveries(moments(), [(100.0, 80.0)])
    # From the first abnormal look to the last, and from the change until 300,000 records were worked off.
    assert one == Recovery(predicted_s=80.0, measured_s=85.0, true_s=90.0)


def test_a_recovery_that_the_next_change_overtakes_has_no_end() -> None:
    first, second = measure_recoveries(moments(), [(100.0, 80.0), (150.0, 60.0)])
    assert first == Recovery(predicted_s=80.0, measured_s=None, true_s=None)
    assert second == Recovery(predicted_s=60.0, measured_s=35.0, true_s=40.0)


def test_a_change_for_which_nothing_was_predicted_ends_the_one_before_it_all_the_same() -> None:
    [first] = measure_recoveries(moments(), [(100.0, 80.0), (150.0, None)])
    assert first.true_s is None


def test_a_failure_counts_as_recovered_from_only_within_the_target(tmp_path: Path) -> None:
    rows: list[Row] = [{"t_s": one.t_s, "backlog": one.backlog} for one in moments()]
    late: list[Row] = [{"t_s": one.t_s, "backlog": 9e9 if one.t_s > 100 else 0.0} for one in moments()]
    labels = {"model": "m", "faults": "every hour"}
    runs = [
        stored(tmp_path, {**labels, "policy": "Daedalus"}, ticks=rows, faults_s=[100.0]),
        stored(tmp_path, {**labels, "policy": "HPA-80"}, ticks=late, faults_s=[100.0]),
    ]
    scores = score_failures(gathered(tmp_path, runs))
    within = found(scores, "Failures, recovered from within 600 s", "share of cases")
    assert within == {"Daedalus, m": 1.0, "HPA-80, m": 0.0}
    assert found(scores, "Failures, longest recovery", "s") == {"Daedalus, m": 90.0, "HPA-80, m": None}


def test_what_was_set_or_put_into_the_models_is_not_scored(tmp_path: Path) -> None:
    ticks: list[Row] = [
        {"t_s": 0.0, "delay_p95_s": 1.0},
        {"t_s": 5.0, "delay_p95_s": None},
        {"t_s": 10.0, "delay_p95_s": 3.0},
    ]
    runs = [
        stored(tmp_path, {"model": "WordCount", "policy": policy}, ticks=ticks, numbers={"mean_wanted": workers})
        for policy, workers in (("static 12", 12.0), ("Daedalus", 6.0))
    ]
    scores = score_averages(gathered(tmp_path, runs))
    assert {one.table for one in scores} == {"Section 4.5.1, word count"}
    latency = "p95 of latency, mean over time, s"
    assert found(scores, "Section 4.5.1, word count", latency)["Daedalus"] == 2.0
    saved = found(scores, "Section 4.5.1, word count", "share of workers that Daedalus saves")
    assert saved == {"against static 12": 0.5, "against HPA-80": None, "against HPA-85": None}
    scored = [claim.row for one in scores for claim in one.counted]
    assert scored == ["Daedalus", "Daedalus", "against static 12"]


def test_phoebes_profile_is_counted_as_if_it_had_been_made_before_the_run(tmp_path: Path) -> None:
    profiling = {"profiling": 18, "profiling_worker_h": 0.0}
    chosen = {"by_recovery": 10, "profiling_worker_h": 30.0}
    runs = [
        stored(tmp_path, {"model": "Yahoo", "policy": "Phoebe"},
               decisions=[(0, 12, 18, profiling), (7200, 18, 10, chosen)]),
        stored(tmp_path, {"model": "Yahoo", "policy": "Daedalus"}, decisions=[(0, 12, 16, {}), (7200, 16, 8, {})]),
    ]  # fmt: skip
    scores = score_phoebe(gathered(tmp_path, runs))
    saved = found(scores, "Section 4.7, Phoebe", "share of workers that Daedalus saves")
    # 8 of 10 while sizes are chosen; and 30 worker-hours over six hours are 5 workers more.
    assert saved == pytest.approx({"against Phoebe": 1 - 8 / 10, "against phoebe with its profiling": 1 - 8 / 15})
    reasons = [claim.reason for one in scores for claim in one.claims if "profiling" in claim.row]
    assert reasons == ["53% there means 55 worker-hours of profiling; made in place it takes 30.0"]


def test_an_estimate_is_compared_with_what_that_size_does_when_it_is_flooded(tmp_path: Path) -> None:
    flood = [stored(tmp_path, {"model": "m", "start": "4", "policy": "fixed"},
                    ticks=[{"t_s": 0.0, "committed_rps": 1.0}, {"t_s": 10.0, "committed_rps": 1000.0}])]  # fmt: skip
    told = [(0.0, 4, 4, {"capacity_rps/workers": 1.0}), (60.0, 4, 6, {"capacity_rps/workers": 1040.0}),
            (90.0, 6, 4, {"capacity_rps/workers": 1.0}), (120.0, 4, 3, {"capacity_rps/workers": 980.0}),
            (180.0, 4, 3, {"capacity_rps/workers": 1060.0})]  # fmt: skip
    ours = [stored(tmp_path, {"model": "m", "policy": "Daedalus"}, decisions=told)]
    scores = score_capacity(gathered(tmp_path, flood), [gathered(tmp_path, ours)])
    assert [claim.found.mean for one in scores for claim in one.claims if claim.found] == [pytest.approx(2 / 3), 0.0]

"""Kanis' published evaluation: what the thesis did not run stands beside what it did, and what it asks for is told."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.page import make_page
from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import TableScore
from elastream.experiments.replication.text import make_text
from elastream.experiments.replication.unscored import tabulate
from elastream.experiments.statistics import ConfidenceInterval
from elastream.experiments.store.folder import StoredRun
from elastream.experiments.store.identity import Identity
from elastream.experiments.store.tables import TICKS
from experiments.kanis.__main__ import PLANS
from experiments.kanis.asked import find_least, tabulate_convergence, tabulate_improvements, tabulate_sizes
from experiments.kanis.rest import score_convergence
from experiments.kanis.tables import LATENCY, TABLES, WORKERS, score_queries, score_workloads

FOLDER = TABLES.parent
Labelled = tuple[Mapping[str, str], StoredRun]


def stored(labels: Mapping[str, str], **numbers: float) -> Labelled:
    """A run of which nothing but its numbers is asked."""
    document = {"what": {"duration_s": 8400.0}, "labels": labels}
    return labels, StoredRun(Identity("e", "c"), Path(), "finished", numbers, document, None)


def moving(folder: Path, labels: Mapping[str, str], sizes: Sequence[tuple[float, int]], end_s: float) -> Labelled:
    """A run that wants these sizes from these moments on."""
    place = folder / "-".join(labels.values())
    place.mkdir()
    moments = []
    for number in range(int(end_s / 60)):
        past = [workers for at_s, workers in sizes if at_s <= number * 60]
        moments.append({"t_s": number * 60.0, "wanted": past[-1], "actions": len(past) - 1})
    pq.write_table(pa.Table.from_pylist(moments, schema=TICKS), place / "ticks.parquet")
    document = {"what": {"duration_s": end_s}, "labels": labels}
    return labels, StoredRun(Identity("e", "c"), place, "finished", {}, document, None)


def gathered(*runs: Labelled) -> PlanResults:
    return PlanResults(name="plan", about="Why?", folder=Path("there"), runs=runs, missing=0, lacks=[])


def cells(scores: Sequence[TableScore], table: str, quantity: str) -> dict[str, tuple[float | None, float | None]]:
    [score] = [one for one in scores if one.table == table and one.quantity.title == quantity]
    return {one.row: (one.told, one.found.mean if one.found else None) for one in score.claims}


@pytest.mark.parametrize(
    ("plan", "repetitions"),
    [("parameter-optimisation", 5), ("workloads", 5), ("queries", 5), ("convergence", 5), ("improvements", 3)],
)
def test_what_is_scored_runs_five_times_and_every_policy_under_the_same_seeds(plan: str, repetitions: int) -> None:
    cases = multiply(read_plan(FOLDER / f"{plan}.yaml")).cases
    seeds: dict[str, set[int]] = {}
    for case in cases:
        seeds.setdefault(case.labels["policy"], set()).add(case.experiment.seed)
    assert set(map(frozenset, seeds.values())) == {frozenset(range(repetitions))}


def test_every_plan_beside_the_evaluation_has_its_chapter() -> None:
    assert {file.stem for file in FOLDER.glob("*.yaml")} - {"common"} == set(PLANS)


def test_autoscalers_that_the_thesis_did_not_run_stand_below_those_that_it_did() -> None:
    runs = [
        stored({"model": "Q3", "workload": "cosine of Q3", "policy": "DS2"}, mean_wanted=9.0),
        stored({"model": "Q8", "workload": "cosine of Q3", "policy": "Dhalion"}, mean_wanted=7.0),
    ]
    scores = score_queries(gathered(*runs))
    workers = cells(scores, "Table 7.18: Q3", "task managers, mean")
    assert list(workers) == ["Dhalion", "HPA-CPU", "HPA-Varga", "DS2"]
    assert workers["DS2"] == (None, 9.0)
    assert cells(scores, "Table 7.18: Q8", "task managers, mean")["Dhalion"] == (None, 7.0)
    assert not [claim for score in scores for claim in score.counted]


def test_on_q11_varga_and_dhalion_are_shown_where_the_thesis_left_them_out() -> None:
    labels = {"model": "Q11", "workload": "decreasing"}
    runs = [stored({**labels, "policy": policy}, mean_wanted=20.0) for policy in ("Dhalion", "HPA-Varga", "DS2")]
    workers = cells(score_workloads(gathered(*runs)), "Table 7.16: Q11, decreasing", "task managers, mean")
    assert workers == {"DS2": (14.4, 20.0), "HPA-CPU": (23.8, None), "Dhalion": (None, 20.0), "HPA-Varga": (None, 20.0)}


def test_who_did_not_run_in_the_convergence_table_is_neither_right_nor_wrong(tmp_path: Path) -> None:
    run = moving(tmp_path, {"model": "Q11", "policy": "Dhalion"}, [(0, 3)], 5400)
    table = "Table 7.19: Q11, 2 million records/s"
    rests = cells(score_convergence(gathered(run)), table, "comes to rest within 40 minutes (share of runs)")
    assert rests["Dhalion"] == (None, 1.0)
    assert rests["DS2"] == (0.0, None)


def test_a_table_has_the_rows_that_were_asked_for_and_a_table_stands_for_each_situation() -> None:
    runs = [
        stored({"model": model, "policy": policy, "workload": "cosine"}, mean_wanted=workers)
        for model, policy, workers in (("Q1", "a", 1.0), ("Q1", "a", 3.0), ("Q1", "b", 4.0), ("Q11", "a", 9.0))
    ]
    scores = tabulate(gathered(*runs), {WORKERS: "mean_wanted", LATENCY: "age_sample_mean_s"})
    assert [score.table for score in scores] == ["Q1", "Q1", "Q11", "Q11"]
    assert cells(scores, "Q1", WORKERS.title) == {"a": (None, 2.0), "b": (None, 4.0)}
    assert cells(scores, "Q11", WORKERS.title) == {"a": (None, 9.0)}
    by_model = tabulate(gathered(*runs), {WORKERS: "mean_wanted"}, rows=("model",))
    assert cells(by_model, "a", WORKERS.title) == {"Q1": (None, 2.0), "Q11": (None, 9.0)}


def test_where_nothing_was_told_page_and_text_have_no_column_for_it() -> None:
    results = gathered(stored({"model": "Q1", "policy": "a"}, mean_wanted=2.0))
    chapter = Chapter(
        title="Asked", told=["Once."], results=[results], scores=tabulate(results, {WORKERS: "mean_wanted"})
    )
    account = Account(document="A thesis", about="Again.", command="python -m x", chapters=[chapter])
    text, page = make_text(account), make_page(account)
    assert "Q1" not in text
    assert "plan: task managers, mean\n    a  2" in text
    assert "not run by the document" not in text + page
    assert "published" not in page
    assert "cells agree" not in text + page


def test_an_improvement_is_held_against_the_run_without_it_that_had_the_same_load_and_seed() -> None:
    def run(policy: str, seed: int, workers: float, model: str = "Q1") -> Labelled:
        labels = {"model": model, "workload": "cosine", "policy": policy}
        _, found = stored(labels, mean_wanted=workers)
        return labels, replace(found, document={"what": {"seed": seed}, "labels": labels})

    runs = [run("DS2", 0, 10.0), run("DS2", 1, 20.0), run("DS2, lag", 0, 5.0), run("DS2, lag", 1, 30.0)]
    scores = tabulate_improvements(gathered(*runs, run("DS2", 0, 1.0, "Q11"), run("DS2, lag", 0, 1.0, "Q11")))
    # A half and one and a half; of means it would be 35 over 30.
    assert cells(scores, "Q1", "task managers, mean, over those that it took as it ran") == {"DS2, lag": (None, 1.0)}
    assert cells(scores, "Q1", WORKERS.title) == {"DS2": (None, 15.0), "DS2, lag": (None, 17.5)}


def test_the_interval_of_a_share_stays_between_none_and_all() -> None:
    runs = [stored({"model": "Q1", "policy": "a"}, mean_cpu=share) for share in (0.0, 1.0, 1.0)]
    [score] = tabulate(gathered(*runs), {PublishedNumber(title="share", most=1.0): "mean_cpu"})
    [claim] = score.claims
    assert claim.found is not None
    assert claim.found.interval == ConfidenceInterval(0.0, 1.0)


def test_the_smallest_size_that_keeps_a_rate_is_found_among_those_that_ran() -> None:
    runs = [
        stored({"model": part, "workload": "2 million/s", "start": str(start)}, throughput_ratio=kept)
        for part, start, kept in (("Q1 map", 4, 0.8), ("Q1 map", 5, 0.9999), ("Q1 map", 6, 1.0), ("Q1 sink", 1, 0.5))
    ]
    sizes = gathered(*runs)
    assert find_least(sizes, "Q1 map", "2 million/s") == 5
    assert find_least(sizes, "Q1 sink", "2 million/s") is None
    needed = cells(tabulate_sizes(sizes), "2 million/s", "fewest instances that keep the rate")
    assert needed == {"Q1 map": (None, 5.0), "Q1 sink": (None, None)}


def test_long_convergence_is_told_by_stage_beside_the_fewest_workers_that_keep_the_rate(tmp_path: Path) -> None:
    labels = {"model": "Q1", "policy": "DS2"}
    settled = moving(tmp_path, labels, [(0, 3), (1200, 12), (15_600, 6)], 29_400)
    restless = moving(tmp_path, {"model": "Q11", "policy": "DS2"}, [(0, 3), (14_700, 20)], 29_400)
    sizes = gathered(*(
        stored({"model": f"Q1 {part}", "workload": "2 million/s", "start": str(start)}, throughput_ratio=1.0)
        for part, start in (("source", 1), ("map", 5), ("sink", 4))
    ))  # fmt: skip
    scores = tabulate_convergence(gathered(settled, restless), sizes)
    assert cells(scores, "Q1, 2 million/s", "workers in the last hour") == {
        "DS2": (None, 12.0),
        "the fewest that keep the rate": (None, 10.0),
    }
    minutes = "minutes to rest, of runs that come to it"
    assert cells(scores, "Q1, 2 million/s", minutes) == {"DS2": (None, 10.0)}
    assert cells(scores, "Q1, 1 million/s", minutes) == {"DS2": (None, 10.0)}
    assert cells(scores, "Q11, 2 million/s", "share of runs that come to rest") == {"DS2": (None, 0.0)}
    assert list(cells(scores, "Q11, 2 million/s", "workers in the last hour")) == ["DS2"]

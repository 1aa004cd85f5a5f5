"""DS2's published evaluation: what its plans run is what the paper ran, and what is scored is what can be."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.core.quantity import parse_quantity
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.replication.published import read_published
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.store.folder import StoredRun
from elastream.experiments.store.identity import Identity
from elastream.experiments.store.tables import DECISIONS, TICKS
from elastream.simulator.published import published
from experiments.ds2.convergence import MAIN, parse_path, score_convergence, score_drawn
from experiments.ds2.live import score_live
from experiments.ds2.numbers import PUT_IN, TABLES
from experiments.ds2.word_count import score_dynamic, score_skew

FOLDER = TABLES.parent
SizesInTime = Sequence[tuple[float, Mapping[str, int]]]


def stored(
    folder: Path,
    labels: Mapping[str, str],
    path: SizesInTime,
    *,
    load_s: tuple[float, float] = (0, 1200),
    done: float = 1.0,
) -> tuple[Mapping[str, str], StoredRun]:
    """A run of 20 minutes with these sizes, of which a share of what was offered was worked through."""
    place = folder / "-".join(labels.values())
    place.mkdir()
    rows = [
        {"t_s": at_s, "pools": [{"pool": pool, "workers": workers} for pool, workers in sizes.items()]}
        for at_s, sizes in path
    ]
    moments = [
        {
            "t_s": float(at_s),
            "offered_rps": 10.0,
            "arrived_rps": 10.0 * (load_s[0] <= at_s <= load_s[1]),
            "backlog": 20.0,
        }
        for at_s in range(0, 1201, 10)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=DECISIONS), place / "decisions.parquet")
    pq.write_table(pa.Table.from_pylist(moments, schema=TICKS), place / "ticks.parquet")
    document = {"what": {"duration_s": 1200.0}, "labels": labels}
    return labels, StoredRun(Identity("e", "c"), place, "finished", {"records": 12_000 * done}, document, None)


def gathered(folder: Path, runs: Sequence[tuple[Mapping[str, str], StoredRun]]) -> PlanResults:
    return PlanResults(name="plan", about="Why?", folder=folder, runs=runs, missing=0, lacks=[])


def cells(scores: Sequence[TableScore], table: str, quantity: str) -> dict[str, Claim]:
    [score] = [one for one in scores if one.table == table and one.quantity.title == quantity]
    return {claim.row: claim for claim in score.claims}


def found(scores: Sequence[TableScore], table: str, quantity: str) -> dict[str, float | None]:
    return {row: claim.found.mean if claim.found else None for row, claim in cells(scores, table, quantity).items()}


@pytest.mark.parametrize("plan", ["convergence", "timely"])
def test_every_query_runs_at_the_rate_of_table_3(plan: str) -> None:
    told: dict[str, float] = {}
    for row in read_published(TABLES / "source-rates.csv"):
        told[row["query"]] = told.get(row["query"], 0.0) + float(row["timely" if plan == "timely" else "flink"])
    cases = multiply(read_plan(FOLDER / f"{plan}.yaml")).cases
    rates = {case.labels["model"]: parse_quantity(case.experiment.workload).value for case in cases}
    assert rates == told


def test_a_cell_without_an_arrow_is_one_step_or_none() -> None:
    assert parse_path(8, "12>16") == [8, 12, 16]
    assert parse_path(12, "16") == [12, 16]
    assert parse_path(16, "16") == [16]


def test_table_4_is_scored_by_steps_and_not_by_the_sizes_that_were_put_into_the_models(tmp_path: Path) -> None:
    runs = [
        stored(tmp_path, {"model": "Q2", "start": "8"}, [(0, {"filter": 8}), (180, {"filter": 14})]),
        stored(tmp_path, {"model": "Q2", "start": "16"},
               [(0, {"filter": 16}), (180, {"filter": 13}), (390, {"filter": 14})]),
    ]  # fmt: skip
    scores = score_convergence(gathered(tmp_path, runs))
    steps = cells(scores, "Table 4: Q2", "changes of size until rest")
    assert (steps["from 8"].told, steps["from 16"].told, steps["from 20"].found) == (3, 2, None)
    assert steps["from 8"].reason.startswith("there 8 instances seemed to do 1/11 of the load each, and 14 did 1/14")
    assert found(scores, "Table 4: Q2", "instances after the first change")["from 16"] == 13
    ends = cells(scores, "Table 4, from every start", "instances in the end")
    assert ends["Q2"].found is not None
    assert {claim.doubt for claim in ends.values()} == {PUT_IN}
    assert not [claim for claim in ends.values() if claim.counts]


def test_who_goes_on_changing_takes_a_fourth_step_or_overshoots_is_told(tmp_path: Path) -> None:
    restless = [
        (0.0, {"map": 8}),
        (180.0, {"map": 18}),
        (390.0, {"map": 17}),
        (600.0, {"map": 15}),
        (810.0, {"map": 16}),
    ]
    runs = [
        stored(tmp_path, {"model": "Q1", "start": "8"}, restless),
        stored(tmp_path, {"model": "Q1", "start": "12"}, [(0, {"map": 12}), (180, {"map": 16})]),
    ]
    assert found(
        score_drawn(gathered(tmp_path, runs)), "Section 5.4 in words, whatever nobody tells", "share of runs"
    ) == {
        "comes to rest": 0.5,
        "takes at most three changes": 0.5,
        "from below, never larger than in the end": 0.5,
        "ends at the same size from every start": 1.0,
    }


def test_changes_of_a_rate_that_halves_are_compared_in_their_phase_and_from_its_beginning(tmp_path: Path) -> None:
    path: SizesInTime = [
        (at_s, {"flatmap": flatmap, "count": count})
        for at_s, flatmap, count in ((0, 10, 5), (40, 13, 9), (110, 18, 11), (200, 19, 11), (810, 7, 5))
    ]
    scores = score_dynamic(gathered(tmp_path, [stored(tmp_path, {"model": "power law"}, path)]))
    assert found(scores, "Section 5.3: power law", "changes of size until rest") == {"phase 1": 3, "phase 2": 1}
    when = found(scores, "Section 5.3: power law", "when, s after the rate changed")
    assert list(when.values()) == [40, 110, 10, None]
    sizes = cells(scores, "Section 5.3: power law", "instances of flatmap")
    assert [claim.found.mean for claim in sizes.values() if claim.found] == [13, 19, 7, 7]
    assert [claim.counts for claim in sizes.values()] == [True, False, True, False]


def test_under_skew_the_target_is_what_the_same_run_does_without_it(tmp_path: Path) -> None:
    end = {"flatmap": 10, "count": 20}
    runs = [
        stored(tmp_path, {"model": "full", "policy": "a"}, [(0, end)], done=0.9),
        stored(tmp_path, {"model": "full 20 %", "policy": "a"}, [(0, end)], done=0.895),
        stored(tmp_path, {"model": "full 50 %", "policy": "a"}, [(0, end), (900, {**end, "count": 30})], done=0.2),
    ]
    scores = score_skew(gathered(tmp_path, runs))
    assert found(scores, "Section 4.2.3, full rates", "share of runs") == {
        "ends where it ends without skew": 0.5,
        "does less than without skew, where the target is met": 0.5,
        "changes nothing in the second half": 0.5,
    }
    steps = {"20 %, a": 0, "50 %, a": 1, "70 %, a": None}
    assert found(scores, "Section 4.2.3, full rates", "changes of size until rest") == steps


def test_on_spark_only_what_happens_under_the_load_counts(tmp_path: Path) -> None:
    """Before it executors are waited for, and after it there is nothing to do."""
    path: SizesInTime = [(at_s, {"executors": size}) for at_s, size in ((0, 6), (50, 1), (200, 3), (1150, 1))]
    run = stored(tmp_path, {"policy": "DS2", "start": "1"}, path, load_s=(100, 1100))
    scores = score_live(gathered(tmp_path, [run]))
    for table, quantity, told in (
        ("steps", "changes of size under the load", 1),
        ("sizes", "executors in the end", 3),
        ("at rest after at most three changes", "share of runs", 1),
        ("what waits", "what waits in the end, in seconds of the load", 2),
    ):
        assert found(scores, f"Sections 5.4 and 5.5 on Spark: {table}", quantity) == {"DS2, from 1": told}


def test_the_operators_of_table_4_are_those_of_the_models() -> None:
    """Each has a pool that is resized; sources have not."""
    for query, pool in MAIN.items():
        pools = published(f"ds2-nexmark-{query.lower()}").pools
        assert [name for name, one in pools.items() if one.min_workers < one.max_workers] == [pool]

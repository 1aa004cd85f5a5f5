"""Time that can be matched with no operator, and what is shown then."""

from dataclasses import replace

import pytest

from elastream.spark.jvm.snapshot import PlanMatch, PlanNode, StageSeen
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.operator_totals import WHOLE, OperatorTotals

PLAN = {1: (PlanNode(0, "MicroBatchScan", "columns [1]"),)}


def stage(seconds: float, *, matched: bool, lost_s: float = 0.0) -> StageSeen:
    raw = parse_snapshot('{"at_ms": 1, "stages": [{"stage": 1, "attempt": 0, "tasks": 2, "read": 10}]}').stages[0]
    matches = (PlanMatch(1, True, frozenset({0})),) if matched else ()
    return replace(raw, run_s=seconds, lost_s=lost_s, matches=matches)


def shown(*stages: StageSeen) -> tuple[OperatorTotals, list[str], float]:
    works = OperatorTotals()
    for one in stages:
        works.take(one, PLAN)
    work = works.work(works.with_live((), PLAN), (), None, 5.0)
    return works, [one.name for one in work], sum(one.busy_s.value for one in work if one.busy_s)


def test_a_fifth_of_unmatched_time_is_shown_beside_the_operators() -> None:
    works, names, busy_s = shown(stage(8.0, matched=True), stage(2.0, matched=False))
    assert names == ["read-0"]
    assert busy_s == pytest.approx(8.0)
    assert works.unmatched_s == pytest.approx(2.0)


def test_above_a_fifth_the_query_is_shown_as_a_whole_with_all_of_its_time() -> None:
    works, names, busy_s = shown(stage(8.0, matched=True), stage(2.1, matched=False))
    assert names == [WHOLE]
    assert busy_s == pytest.approx(10.1)
    assert [one.name for one in works.topology({}, (), None).operators] == [WHOLE]


def test_a_strange_first_batch_is_forgotten_after_some_more() -> None:
    works, _, _ = shown(stage(5.0, matched=False))
    assert works.is_whole
    for _ in range(12):
        works.batch_ended()
        works.take(stage(1.0, matched=True), PLAN)
    assert not works.is_whole


def test_tasks_that_were_lost_are_other_time_and_cast_no_doubt_on_the_rest() -> None:
    works, names, _ = shown(stage(3.0, matched=True, lost_s=20.0))
    assert names == ["read-0"]
    assert works.unmatched_s == pytest.approx(20.0)


def test_tasks_of_a_running_stage_count_at_once_and_only_once() -> None:
    works = OperatorTotals()
    running = stage(1.0, matched=True)
    assert works.with_live((running,), PLAN)["read-0"].useful_s == pytest.approx(1.0)
    works.take(running, PLAN)
    assert works.with_live((), PLAN)["read-0"].useful_s == pytest.approx(1.0)


def test_a_record_counts_once_in_a_batch_however_often_it_is_read_and_its_time_as_often_as_it_takes() -> None:
    works = OperatorTotals()
    for batch in (0, 0, 1, 1):
        works.take(replace(stage(1.0, matched=True), batch=batch), PLAN)
    running = replace(stage(1.0, matched=True), batch=1)
    found = works.with_live((running,), PLAN)["read-0"]
    assert found.records_in == 20
    assert found.useful_s == pytest.approx(5.0)


def test_a_batch_that_comes_again_after_a_restart_is_done_again() -> None:
    works = OperatorTotals()
    works.take(replace(stage(1.0, matched=True), batch=7), PLAN)
    works.restart()
    works.take(replace(stage(1.0, matched=True), batch=7), PLAN)
    assert works.with_live((), PLAN)["read-0"].records_in == 20

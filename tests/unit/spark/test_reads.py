"""Which sources an operator reads, and how many slots that can use: of a union, of files, of what stands alone."""

import json
from dataclasses import replace

import pytest

from elastream.core.guards.partition_ceiling import widest_stage
from elastream.core.observation import Query
from elastream.spark.jvm.snapshot import PlanMatch, PlanNode, QuerySeen, Snapshot, SourceSeen, StageSeen
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from tests.unit.spark.reading import fold, observing

LOG = SourceSeen(kind="com.example.Log", table="log")
OTHER = SourceSeen(kind="com.example.Log", table="other")
FILES = SourceSeen(kind="org.apache.spark.sql.execution.streaming.runtime.FileStreamSource")
ALONE = (PlanNode(0, "WriteToDataSourceV2", ""), PlanNode(1, "MicroBatchScan", "columns [1]"))
UNION = (
    PlanNode(0, "WriteToDataSourceV2", ""),
    PlanNode(1, "Union", ""),
    PlanNode(2, "MicroBatchScan", "columns [1]"),
    PlanNode(2, "MicroBatchScan", "columns [7]"),
)


def seen(sources: tuple[SourceSeen, ...], leaves: tuple[int, ...]) -> QuerySeen:
    offsets = tuple({"offset": 10} for _ in sources)
    return QuerySeen(
        id="q", run="r1", name="q", trigger="ProcessingTimeTrigger(0)", active=True, message="Processing new data",
        trigger_active=True, data_available=True, error=None, batch=1, constructed=True, triggered_s=100.0,
        watermark_s=None, committed=offsets, available=offsets, latest=offsets, sources=sources, leaves=leaves,
    )  # fmt: skip


def stage(tasks: int, shape: int, nodes: set[int]) -> StageSeen:
    raw = parse_snapshot('{"at_ms": 1, "stages": [{"stage": 1, "attempt": 0, "read": 10}]}').stages[0]
    matched = (PlanMatch(shape, True, frozenset(nodes)),)
    return replace(raw, query="q", batch=0, tasks=tasks, run_s=1.0, submitted_s=99.0, ended_s=100.0, matches=matched)


def look(
    plan: tuple[PlanNode, ...], sources: tuple[SourceSeen, ...], leaves: tuple[int, ...], *stages: StageSeen
) -> Snapshot:
    empty = parse_snapshot(json.dumps({"at_ms": 100_500, "application": "a"}))
    return replace(empty, queries=(seen(sources, leaves),), stages=stages, shapes={1: plan})


def observed(*looks: Snapshot) -> Query:
    known = observing()
    for place, one in enumerate(looks):
        now = fold(known, one, 50.0 + place)
    return now.queries[0]


def test_an_operator_names_the_sources_that_it_reads() -> None:
    query = observed(look(UNION, (LOG, OTHER), (0, 1), stage(6, 1, {2, 3})))
    assert [operator.reads for operator in query.topology.operators] == [("source-0", "source-1")]
    assert {source.name for source in query.sources} == {"source-0", "source-1"}


def test_an_operator_that_reads_what_others_made_reads_no_source() -> None:
    plan = (ALONE[0], PlanNode(1, "Exchange", ""), PlanNode(2, "MicroBatchScan", "columns [1]"))
    query = observed(look(plan, (LOG,), (0,), stage(6, 1, {2})))
    assert [operator.reads for operator in query.topology.operators] == [(), ("source-0",)]


def test_the_sources_of_a_union_have_no_more_slots_to_use_than_the_stage_that_reads_them() -> None:
    query = observed(look(UNION, (LOG, OTHER), (0, 1), stage(6, 1, {2, 3})))
    assert [source.partitions for source in query.sources] == [6, 6]


@pytest.mark.parametrize("sources", [(LOG, FILES), (FILES, LOG), (FILES, FILES)])
def test_a_union_with_files_has_no_ceiling_since_files_are_cut_to_the_slots(sources: tuple[SourceSeen, ...]) -> None:
    query = observed(look(UNION, sources, (0, 1), stage(2, 1, {2, 3})))
    pool = fold(observing(), look(UNION, sources, (0, 1)), 50.0).pools[0]
    assert [operator.partitions for operator in query.topology.operators] == [None]
    assert [work.tasks for work in query.operators] == [None]
    assert [source.partitions for source in query.sources] == [None, None]
    assert widest_stage(query, pool) is None


def test_files_that_are_read_twice_have_no_ceiling_either() -> None:
    plan = (
        PlanNode(0, "WriteToDataSourceV2", ""),
        PlanNode(1, "Union", ""),
        PlanNode(2, "Exchange", ""),
        PlanNode(3, "MicroBatchScan", "columns [1]"),
        PlanNode(2, "Exchange", ""),
        PlanNode(3, "MicroBatchScan", "columns [7]"),
    )
    query = observed(look(plan, (FILES,), (0, 0), stage(2, 1, {3}), replace(stage(2, 1, {5}), id=2)))
    reading = [operator for operator in query.topology.operators if operator.reads]
    assert [(operator.reads, operator.partitions) for operator in reading] == [(("source-0",), None)] * 2


def test_a_table_beside_a_source_is_no_source() -> None:
    query = observed(look(UNION, (LOG,), (0, -1), stage(6, 1, {2, 3})))
    assert [operator.reads for operator in query.topology.operators] == [("source-0",)]
    assert [source.partitions for source in query.sources] == [6]


def test_a_source_of_a_union_that_has_run_dry_is_still_read_by_it() -> None:
    dry = (PlanNode(0, "WriteToDataSourceV2", ""), PlanNode(1, "MicroBatchScan", "columns [7]"))
    first = look(UNION, (LOG, OTHER), (0, 1), stage(6, 1, {2, 3}))
    later = replace(first, stages=(replace(stage(3, 2, {1}), id=2, batch=1),), shapes={2: dry})
    query = observed(first, later)
    assert [operator.reads for operator in query.topology.operators] == [("source-0", "source-1")]


def test_a_query_shown_as_a_whole_reads_all_its_sources() -> None:
    unmatched = replace(stage(6, 1, set()), run_s=9.0, matches=())
    query = observed(look(UNION, (LOG, OTHER), (0, 1), stage(6, 1, {2, 3}), replace(unmatched, id=2)))
    assert [(one.name, one.reads) for one in query.topology.operators] == [("query", ("source-0", "source-1"))]

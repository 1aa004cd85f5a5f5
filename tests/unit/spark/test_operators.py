"""Operators keep their names whatever Spark makes of the plan."""

from collections.abc import Sequence
from dataclasses import replace

from elastream.spark.jvm.snapshot import PlanMatch, PlanNode, StageSeen
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.operators import Operators, parts_of

AGGREGATE = (
    PlanNode(0, "WriteToDataSourceV2", ""),
    PlanNode(1, "StateStoreSave", "state 0"),
    PlanNode(2, "Exchange", ""),
    PlanNode(3, "HashAggregate", ""),
    PlanNode(4, "MicroBatchScan", "columns [1, 2]"),
)
UNION = (
    PlanNode(0, "WriteToDataSourceV2", ""),
    PlanNode(1, "Project", ""),
    PlanNode(2, "Exchange", ""),
    PlanNode(3, "Union", ""),
    PlanNode(4, "Exchange", ""),
    PlanNode(5, "MicroBatchScan", "columns [1, 2]"),
    PlanNode(4, "Exchange", ""),
    PlanNode(5, "MicroBatchScan", "columns [7, 8]"),
)


def stage(*matches: PlanMatch) -> StageSeen:
    raw = parse_snapshot('{"at_ms": 1, "stages": [{"stage": 1, "attempt": 0}]}').stages[0]
    return replace(raw, matches=matches)


def name(
    operators: Operators, shape: int, nodes: Sequence[PlanNode], places: set[int], *, root: bool = True
) -> str | None:
    place = operators.of(stage(PlanMatch(shape, root, frozenset(places))), {shape: nodes})
    return None if place is None else place.operator


def test_a_plan_is_cut_at_its_exchanges() -> None:
    assert [part.nodes for part in parts_of(AGGREGATE)] == [
        ["WriteToDataSourceV2", "StateStoreSave"],
        ["HashAggregate", "MicroBatchScan"],
    ]


def test_state_is_named_by_its_number_in_the_checkpoint_and_reads_by_their_source() -> None:
    operators = Operators()
    assert name(operators, 1, AGGREGATE, {1, 2}) == "aggregate-0"
    assert name(operators, 1, AGGREGATE, {2, 4}) == "read-0"
    operators.restart()
    later = (*AGGREGATE[:-1], PlanNode(4, "MicroBatchScan", "columns [91, 92]"))
    assert name(operators, 2, later, {1}) == "aggregate-0"
    assert name(operators, 2, later, {4}) == "read-0"


def test_a_stage_that_only_reads_an_exchange_belongs_to_what_follows_it() -> None:
    operators = Operators()
    assert name(operators, 1, UNION, {2}) == name(operators, 1, UNION, {1})


def test_names_stay_when_a_source_dries_up_and_vanishes_from_the_plan() -> None:
    operators = Operators()
    operators.describe((0, 1))
    last, second = name(operators, 1, UNION, {1}), name(operators, 1, UNION, {7})
    assert second == "read-1"
    without_first = (*UNION[:3], PlanNode(3, "MicroBatchScan", "columns [7, 8]"))
    assert name(operators, 2, without_first, {3}) == "read-1"
    assert name(operators, 2, without_first, {1}) == last
    assert [part.name for part in operators.parts] == [part.name for part in operators.parts if part.name]
    assert len(operators.parts) == 4


def test_a_union_read_by_one_stage_keeps_its_name_when_one_of_its_sources_has_nothing() -> None:
    both = (
        PlanNode(0, "Exchange", ""),
        PlanNode(1, "Union", ""),
        PlanNode(2, "MicroBatchScan", "columns [1]"),
        PlanNode(2, "MicroBatchScan", "columns [7]"),
    )
    operators = Operators()
    assert name(operators, 1, both, {2, 3}) == "read-0-1"
    assert name(operators, 2, (both[0], PlanNode(1, "MicroBatchScan", "columns [7]")), {1}) == "read-0-1"
    assert [part.name for part in operators.parts] == ["work-0", "read-0-1"]


def test_a_table_belongs_to_who_reads_it_and_its_rows_are_no_records() -> None:
    joined = (
        PlanNode(0, "StateStoreSave", "state 0"),
        PlanNode(1, "Exchange", ""),
        PlanNode(2, "BroadcastHashJoin", ""),
        PlanNode(3, "MicroBatchScan", "columns [1]"),
        PlanNode(3, "BroadcastExchange", ""),
        PlanNode(4, "Exchange", ""),
        PlanNode(5, "Range", "columns [7]"),
    )
    operators = Operators()
    operators.describe((0, -1))
    assert operators.of(stage(PlanMatch(1, True, frozenset({6}))), {1: joined}) == ("read-0", False)
    assert operators.of(stage(PlanMatch(1, True, frozenset({3}))), {1: joined}) == ("read-0", True)
    assert [part.name for part in operators.parts] == ["aggregate-0", "read-0"]


def test_adaptive_execution_changes_no_name() -> None:
    operators = Operators()
    before = name(operators, 1, UNION, {1})
    wrapped = [PlanNode(0, "AdaptiveSparkPlan", ""), PlanNode(1, "ResultQueryStage", "")]
    for node in UNION:
        shift = 2 if node.depth < 2 else 4
        if node == UNION[2]:
            wrapped += [PlanNode(4, "AQEShuffleRead", ""), PlanNode(5, "ShuffleQueryStage", "")]
        wrapped.append(PlanNode(node.depth + shift, node.name, node.mark))
    place = next(place for place, node in enumerate(wrapped) if node.name == "Project")
    assert name(operators, 2, wrapped, {place}) == before


def test_actions_of_foreach_batch_are_named_by_what_they_are_and_a_cached_batch_adds_time_alone() -> None:
    root = (PlanNode(0, "MicroBatchScan", "columns [1]"),)
    action = (PlanNode(0, "Execute Insert", ""), PlanNode(1, "Exchange", ""), PlanNode(2, "InMemoryTableScan", ""))
    operators = Operators()
    shapes = {1: root, 2: action}
    cached = operators.of(stage(PlanMatch(1, True, frozenset()), PlanMatch(2, False, frozenset({2}))), shapes)
    assert cached is not None
    assert (cached.operator, cached.counts) == ("read-0", False)
    assert name(operators, 2, action, {0, 1}, root=False) == "sink-work-1"


def test_a_stage_without_a_plan_belongs_to_none() -> None:
    assert Operators().of(stage(), {}) is None
    assert Operators().of(stage(PlanMatch(9, True, frozenset({1}))), {}) is None

"""Shuffle partitions that a first batch would freeze, beside the slots that a query may have."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from elastream.launch.partitions import SETTING, advise, keeps_state, warning


@dataclass
class Node:
    """A node of a logical plan, as py4j shows one; streams are what stands on a stream."""

    name: str
    below: tuple[Node, ...] = ()

    def nodeName(self) -> str:
        return self.name

    def isStreaming(self) -> bool:
        return self.name == "StreamingRelationV2" or any(node.isStreaming() for node in self.below)

    def children(self) -> Any:
        return SimpleNamespace(apply=self.below.__getitem__, size=self.below.__len__)


STREAM, TABLE = Node("StreamingRelationV2"), Node("LocalRelation")
COUNTS = Node("Aggregate", (Node("EventTimeWatermark", (STREAM,)),))


def writer(plan: Node, partitions: int, given: str = "200") -> Any:
    execution = SimpleNamespace(analyzed=lambda: plan)
    session = SimpleNamespace(
        conf={SETTING: str(partitions)}, sparkContext=SimpleNamespace(getConf=lambda: {SETTING: given})
    )
    return SimpleNamespace(_spark=session, _df=SimpleNamespace(_jdf=SimpleNamespace(queryExecution=lambda: execution)))


@pytest.mark.parametrize(
    ("partitions", "slots", "is_far"),
    [(200, 8, True), (4, 32, True), (33, 8, True), (32, 8, False), (8, 8, False), (4, 8, False), (3, 8, True)],
)
def test_many_times_the_slots_or_less_than_half_of_them_is_far(partitions: int, slots: int, is_far: bool) -> None:
    assert (advise(partitions, slots) is not None) == is_far


@pytest.mark.parametrize(
    ("plan", "has_state"),
    [
        (COUNTS, True),
        (Node("Project", (Node("Deduplicate", (STREAM,)),)), True),
        (Node("Join", (STREAM, STREAM)), True),
        (Node("Join", (STREAM, Node("Aggregate", (TABLE,)))), False),
        (Node("Filter", (STREAM,)), False),
    ],
)
def test_state_is_what_stands_on_a_stream(plan: Node, has_state: bool) -> None:
    assert keeps_state(plan) == has_state


def test_the_line_to_set_it_is_told_before_the_first_batch_freezes_it() -> None:
    told = warning(writer(COUNTS, 200), slots=8)
    assert told is not None
    assert told.startswith("spark.sql.shuffle.partitions is 200, and a query with state keeps for good what its first")
    assert told.endswith("set it now: --conf spark.sql.shuffle.partitions=8")


def test_what_the_script_sets_in_its_session_is_to_be_set_there() -> None:
    told = warning(writer(COUNTS, 4), slots=32)
    assert told is not None
    assert told.endswith('set it now: spark.conf.set("spark.sql.shuffle.partitions", 32) in the script')


def test_a_query_without_state_is_not_warned_of() -> None:
    assert warning(writer(Node("Filter", (STREAM,)), 200), slots=8) is None

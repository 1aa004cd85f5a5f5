"""The shuffle partitions that a query with state is about to freeze in its checkpoint, beside the slots it may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

SETTING = "spark.sql.shuffle.partitions"
# Every task of a batch costs time of its own; twice or three times the slots is usual, to even out keys.
MOST_PER_SLOT = 4
# With fewer than half as many partitions as slots, most executors that a backlog asks for would find no work.
LEAST_PER_SLOT = 0.5

_STATEFUL = frozenset({
    "Aggregate", "Deduplicate", "DeduplicateWithinWatermark", "Distinct", "FlatMapGroupsInPandasWithState",
    "FlatMapGroupsWithState", "TransformWithState", "TransformWithStateInPandas", "TransformWithStateInPySpark",
})  # fmt: skip
"""Nodes of a logical plan that keep state where they are fed by a stream."""


class JavaNodes(Protocol):
    """A `Seq` of the JVM."""

    def size(self) -> int: ...

    def apply(self, place: int) -> JavaPlan: ...


class JavaPlan(Protocol):
    """A node of a logical plan, as far as it is called."""

    def nodeName(self) -> str: ...  # noqa: N802 (Java's name)

    def isStreaming(self) -> bool: ...  # noqa: N802 (Java's name)

    def children(self) -> JavaNodes: ...


def advise(partitions: int, slots: int) -> str | None:
    """What is wrong with so many partitions for at most so many slots, or None."""
    if partitions > MOST_PER_SLOT * slots:
        return f"each batch would be {partitions} tasks at least, on at most {slots} slots"
    if partitions < LEAST_PER_SLOT * slots:
        return f"no more than {partitions} of at most {slots} slots could work on its state"
    return None


def keeps_state(plan: JavaPlan) -> bool:
    """Whether a streaming query with this logical plan has state."""
    for node in _nodes(plan):
        name, children = str(node.nodeName()), list(_children(node))
        if name in _STATEFUL and node.isStreaming():
            return True
        if name == "Join" and all(child.isStreaming() for child in children):
            return True
    return False


def warning(writer: DataStreamWriter, slots: int) -> str | None:
    """What to tell before a DataStreamWriter starts its query, in a sentence; None where nothing is wrong."""
    session = writer._spark
    partitions = int(session.conf.get(SETTING) or "200")
    wrong = advise(partitions, slots)
    if wrong is None or not keeps_state(writer._df._jdf.queryExecution().analyzed()):
        return None
    # Set by the script in the running session, it wins over every option.
    is_late = session.sparkContext.getConf().get(SETTING, "200") != str(partitions)
    remedy = f'spark.conf.set("{SETTING}", {slots}) in the script' if is_late else f"--conf {SETTING}={slots}"
    return (
        f"{SETTING} is {partitions}, and a query with state keeps for good what its first batch had: {wrong}; for a "
        f"query without a checkpoint yet, set it now: {remedy}"
    )


def _nodes(plan: JavaPlan) -> Iterator[JavaPlan]:
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += _children(node)


def _children(node: JavaPlan) -> Iterator[JavaPlan]:
    children = node.children()
    return (children.apply(place) for place in range(children.size()))

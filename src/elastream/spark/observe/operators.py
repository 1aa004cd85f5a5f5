"""Operators from physical plans: what lies between two exchanges runs as one stage, and has the same name always.

Stage numbers and their order are no identity, and plans change from batch to batch: a source without new data becomes
an empty table or vanishes from a union, adaptive execution wraps and replaces nodes while a batch runs, and every
action inside foreachBatch has a plan of its own. So a part of a plan is named by what stays: state by the number that
it has in the checkpoint, a read by the place of its source, other work by its order in the plan that was seen first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from elastream.spark.jvm.snapshot import PlanMatch, PlanNode, StageSeen

_WRAPPERS = re.compile(
    r"WholeStageCodegen|InputAdapter|AdaptiveSparkPlan|\w*QueryStage|AQEShuffleRead|ColumnarToRow|RowToColumnar"
)
# The first that occurs in a part gives it its name.
_STATEFUL = {
    "SymmetricHashJoin": "join",
    "SessionWindowStateStore": "session",
    "StateStoreSave": "aggregate",
    "Deduplicate": "deduplicate",
    "WithState": "state",
    "StreamingGlobalLimit": "limit",
    "StateStore": "state",
}
_MAX_SHAPES = 512


class StagePlace(NamedTuple):
    """The operator of a stage, and whether what the stage read counts as that operator's records."""

    operator: str
    counts: bool


@dataclass(slots=True)
class PlanPart:
    """One operator of a plan."""

    name: str = ""
    feeds: PlanPart | None = None
    nodes: list[str] = field(default_factory=list)
    places: set[int] = field(default_factory=set)
    """Its nodes, by their number in the plan."""
    reads: set[int] = field(default_factory=set)
    """The exchanges that it reads."""
    leaves: set[int] = field(default_factory=set)
    """Leaves of the plan in it."""
    below: set[int] = field(default_factory=set)
    """Leaves of the plan in it or under it."""
    state: int | None = None
    reused: bool = False
    is_sink: bool = False
    """Whether it belongs to an action inside foreachBatch."""
    is_cached: bool = False
    """Whether it begins with what foreachBatch has cached."""
    is_table: bool = False
    """Whether nothing but tables lie under it that are no streams."""
    height: int = 0

    @property
    def stateful(self) -> bool:
        return self.state is not None


def parts_of(nodes: Sequence[PlanNode]) -> list[PlanPart]:
    """Cuts a plan at its exchanges; the part that writes comes first. Parts are not named yet."""
    parts, leaf = [PlanPart()], 0
    above: list[tuple[int, PlanPart]] = [(-1, parts[0])]
    for place, node in enumerate(nodes):
        while above[-1][0] >= node.depth:
            above.pop()
        part = above[-1][1]
        if node.name.endswith("Exchange"):
            part.reads.add(place)
            part = PlanPart(feeds=part, reused=part.reused or node.name.startswith("Reused"))
            parts.append(part)
        else:
            part.places.add(place)
            if not _WRAPPERS.match(node.name):
                part.nodes.append(node.name)
            if node.state is not None:
                part.state = node.state if part.state is None else min(part.state, node.state)
            if place + 1 == len(nodes) or nodes[place + 1].depth <= node.depth:
                if not part.reused:
                    part.leaves.add(leaf)
                leaf += 1
        above.append((node.depth, part))
    for part in reversed(parts):
        part.below |= part.leaves
        if part.feeds is not None:
            part.feeds.below |= part.below
            part.feeds.height = max(part.feeds.height, part.height + 1)
    return [part for part in parts if not part.reused]


def _fullness(parts: Sequence[PlanPart]) -> tuple[int, int]:
    return len(parts), sum(len(part.leaves) for part in parts)


def _columns(nodes: Sequence[PlanNode]) -> Iterator[frozenset[int]]:
    """Numbers of the columns that each leaf gives."""
    for place, node in enumerate(nodes):
        if place + 1 == len(nodes) or nodes[place + 1].depth <= node.depth:
            yield node.columns


class Operators:
    """The operators of one query, with names that stay."""

    def __init__(self) -> None:
        self.parts: tuple[PlanPart, ...] = ()
        """Of the fullest plan of this run; empty before the first."""
        self.sinks: dict[str, PlanPart] = {}
        """Parts of plans inside foreachBatch that have run, by name."""
        self._named: dict[tuple[int, bool], list[PlanPart]] = {}
        self._work: list[tuple[str, list[str], frozenset[int]]] = []
        self._reads: set[frozenset[int]] = set()
        self._scans: dict[str, frozenset[int]] = {}
        """By operator the leaves that it reads, also those that a plan may lack when they have run dry."""
        self._leaf_columns: dict[int, set[int]] = {}
        self._sources: tuple[int, ...] = ()

    def restart(self) -> None:
        """A new run: numbers of columns begin anew, names stay."""
        self._leaf_columns.clear()
        self._named.clear()
        self._sources = ()
        self.parts = ()
        self.sinks.clear()

    def describe(self, sources: Sequence[int]) -> None:
        """For every leaf of the logical plan the place of its source, or -1."""
        self._sources = tuple(sources)

    def of(self, stage: StageSeen, shapes: Mapping[int, Sequence[PlanNode]]) -> StagePlace | None:
        """Where a stage belongs, or None."""
        part = self._part(stage.matches, shapes)
        if part is None:
            return None
        if part.is_cached:
            # It goes on with what the query's own last operator made. Spark counts blocks there, not records.
            return StagePlace(self.parts[0].name, False) if self.parts else None
        if part.is_sink:
            self.sinks.setdefault(part.name, part)
        # A table is read again in every batch, for who needs it: its rows are no records that arrive.
        reader = part
        while reader.is_table and reader.feeds is not None:
            reader = reader.feeds
        return StagePlace(reader.name, reader is part)

    def sources_of(self, operator: str) -> tuple[int, ...]:
        """Places of the sources that an operator reads."""
        places = {self._place(leaf) for leaf in self._scans.get(operator, ())}
        return tuple(sorted(place for place in places if place is not None))

    def readers_of(self, source: int, *, of_nothing_else: bool = False) -> list[str]:
        """Operators that read a source; `of_nothing_else`: what they read is that source, once."""
        return [
            name
            for name, leaves in self._scans.items()
            if source in self.sources_of(name) and (len(leaves) == 1 or not of_nothing_else)
        ]

    def _part(self, matches: Sequence[PlanMatch], shapes: Mapping[int, Sequence[PlanNode]]) -> PlanPart | None:
        for match in matches:
            parts = self._parts(match, shapes)
            found = max(parts, key=lambda part: len(match.nodes & part.places), default=None)
            if found is not None and match.nodes & found.places:
                return found
        # A stage that only reads an exchange and hands it on shows by that alone.
        for match in matches:
            for part in self._parts(match, shapes):
                if match.nodes & part.reads:
                    return part
        return None

    def _parts(self, match: PlanMatch, shapes: Mapping[int, Sequence[PlanNode]]) -> list[PlanPart]:
        key = match.shape, match.root
        if key not in self._named:
            nodes = shapes.get(match.shape)
            if nodes is None:
                return []
            if len(self._named) >= _MAX_SHAPES:
                self._named.clear()
            self._named[key] = self._name(nodes) if match.root else self._name_sink(nodes)
        return self._named[key]

    def _name(self, nodes: Sequence[PlanNode]) -> list[PlanPart]:
        parts = parts_of(nodes)
        leaves = self._leaves(list(_columns(nodes)))
        taken: set[str] = set()
        # From the leaves up, so that work is numbered in the order data reaches it.
        for part in reversed(parts):
            part.leaves = {leaves[leaf] for leaf in part.leaves}
            part.below = {leaves[leaf] for leaf in part.below}
            part.is_table = part.feeds is not None and bool(part.below) and all(map(self._is_table, part.below))
            if part.is_table:
                continue
            name = self._name_of(part, taken)
            while name in taken:
                name += "'"
            part.name = name
            taken.add(name)
            if part.leaves:
                self._scans[name] = self._scans.get(name, frozenset()) | part.leaves
        operators = tuple(part for part in parts if not part.is_table)
        if _fullness(operators) >= _fullness(self.parts):
            self.parts = operators
        return parts

    def _name_of(self, part: PlanPart, taken: set[str]) -> str:
        if part.state is not None:
            kinds = (kind for mark, kind in _STATEFUL.items() if any(mark in node for node in part.nodes))
            return f"{next(kinds, 'state')}-{part.state}"
        if part.leaves:
            return self._name_of_read(frozenset(part.leaves), taken)
        below = frozenset(part.below)
        for name, nodes, leaves in self._work:
            if name not in taken and nodes == part.nodes and below <= leaves:
                return name
        name = f"work-{len(self._work)}"
        self._work.append((name, part.nodes, below))
        return name

    def _name_of_read(self, leaves: frozenset[int], taken: set[str]) -> str:
        # In a union that is read by one stage, the sources that have something to read are still that operator.
        whole = max((known for known in self._reads if leaves <= known), key=len, default=leaves)
        name = "-".join(["read", *(self._source(leaf) for leaf in sorted(whole))])
        if name in taken:
            return "-".join(["read", *(self._source(leaf) for leaf in sorted(leaves))])
        self._reads.add(whole)
        return name

    def _source(self, leaf: int) -> str:
        """A leaf is named by the place of its source; tables that are read together with one by their own place."""
        place = self._place(leaf)
        return f"table{leaf}" if place is None else str(place)

    def _place(self, leaf: int) -> int | None:
        """The place of its source; None: it is a table. Before leaves are described, each is taken for a source."""
        if self._is_table(leaf):
            return None
        return self._sources[leaf] if leaf < len(self._sources) else leaf

    def _is_table(self, leaf: int) -> bool:
        return leaf < len(self._sources) and self._sources[leaf] < 0

    def _leaves(self, columns: Sequence[frozenset[int]]) -> list[int]:
        """Which leaf of the whole plan each leaf of this one is: one that has run dry may be missing."""
        if len(columns) >= max(len(self._leaf_columns), len(self._sources)):
            for leaf, numbers in enumerate(columns):
                self._leaf_columns.setdefault(leaf, set()).update(numbers)
            return list(range(len(columns)))
        found = []
        for leaf, numbers in enumerate(columns):
            alike = {known: len(numbers & theirs) for known, theirs in self._leaf_columns.items() if known not in found}
            best = max(alike, key=lambda known: alike[known], default=leaf)
            found.append(best if alike.get(best) else next(n for n in range(len(columns) + 9) if n not in found))
        return found

    def _name_sink(self, nodes: Sequence[PlanNode]) -> list[PlanPart]:
        """Actions come and go, so their parts are named by what they are, and those alike are one operator."""
        parts = parts_of(nodes)
        for part in parts:
            part.is_sink = True
            part.is_cached = any(node.startswith("InMemoryTableScan") for node in part.nodes)
            part.name = f"sink-work-{part.height}" if part.height else "sink-read"
        return parts

"""What the operators of one query have done, from the stages that belong to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from elastream.core.observation import OperatorWork, Reading
from elastream.core.topology import Edge, Operator, Topology
from elastream.spark.jvm.snapshot import PlanNode, StageSeen
from elastream.spark.observe.operators import Operators, PlanPart
from elastream.spark.observe.pool_tracker import POOL
from elastream.spark.observe.source_tracker import SourceTracker, source_name

WHOLE = "query"
"""The one operator that a query is shown as when its time cannot be told apart."""
MOST_UNMATCHED = 0.2
# Less than this is the noise of a first batch.
_LEAST_JUDGED_S = 1.0
# What could not be matched in a strange first batch is forgotten after some ten more.
_KEPT_PER_BATCH = 0.8

Shapes = Mapping[int, Sequence[PlanNode]]


@dataclass(slots=True)
class OperatorTotal:
    """Totals of one operator's stages."""

    tasks: int | None = None
    records_in: float = 0.0
    records_out: float = 0.0
    useful_s: float = 0.0
    batch: int | None = None
    """The last one that records were counted of."""
    batch_in: float = 0.0
    batch_out: float = 0.0

    def add(self, stage: StageSeen, *, counts: bool) -> None:
        """A stage's time, and what it did.

        Every action inside foreachBatch runs the plan again, and so does who samples before sorting: a record counts
        once in a batch, whichever stage of the operator has it. Else a slot would seem to do twice the work that it
        does, and half of the slots needed would seem enough.
        """
        self.useful_s += stage.useful_s
        if not counts:
            return
        if stage.batch is None or stage.batch != self.batch:
            self.batch, self.batch_in, self.batch_out = stage.batch, 0.0, 0.0
        more_in = max(0.0, stage.records_in - self.batch_in)
        more_out = max(0.0, stage.records_out - self.batch_out)
        self.records_in += more_in
        self.records_out += more_out
        self.batch_in += more_in
        self.batch_out += more_out
        self.tasks = stage.tasks or self.tasks


class OperatorTotals:
    """Totals per operator, and of what belongs to none. They go on when the query is restarted."""

    def __init__(self) -> None:
        self.operators = Operators()
        self.unmatched_s = 0.0
        """Slot-seconds that could be matched with no operator, or whose work was lost."""
        self._ended: dict[str, OperatorTotal] = {}
        self._lately_matched_s = 0.0
        self._lately_unmatched_s = 0.0
        self._read = 0.0

    def take(self, stage: StageSeen, shapes: Shapes) -> None:
        """A stage has ended: give it to an operator, or for good to none."""
        place = self.operators.of(stage, shapes)
        if place is None:
            self.unmatched_s += stage.useful_s
            self._lately_unmatched_s += stage.useful_s
        else:
            self._ended.setdefault(place.operator, OperatorTotal()).add(stage, counts=place.counts)
            self._lately_matched_s += stage.useful_s
        # What is lost held slots for no operator. Many tasks are lost when a query is stopped: no doubt about the rest.
        self.unmatched_s += stage.lost_s
        self._read += stage.read

    def restart(self) -> None:
        """A new run, in which a batch may come again: what it did is then done again."""
        self.operators.restart()
        for work in self._ended.values():
            work.batch = None

    def batch_ended(self) -> None:
        """What lies further back says less about how well stages are matched."""
        self._lately_matched_s *= _KEPT_PER_BATCH
        self._lately_unmatched_s *= _KEPT_PER_BATCH

    def read_in(self, place: int, batch: int) -> float | None:
        """Records that a batch has read from a source, each once; None where no stage was matched with it."""
        for name in self.operators.readers_of(place, of_nothing_else=True):
            if (work := self._ended.get(name)) is not None and work.batch == batch:
                return work.batch_in
        return None

    def tasks_reading(
        self, place: int, totals: Mapping[str, OperatorTotal], inputs: Sequence[SourceTracker]
    ) -> int | None:
        """Tasks of the widest stage that reads a source, which it may share with others: the most slots it can use."""
        names = self.operators.readers_of(place)
        if any(self._is_cut_to_slots(name, inputs) for name in names):
            return None
        widths = [tasks for name in names if name in totals and (tasks := totals[name].tasks) is not None]
        return max(widths, default=None)

    def _is_cut_to_slots(self, operator: str, inputs: Sequence[SourceTracker]) -> bool:
        """Whether it reads files, which Spark packs into as many tasks as it has slots: their number is no ceiling."""
        return any(inputs[place].is_files for place in self.operators.sources_of(operator) if place < len(inputs))

    @property
    def is_whole(self) -> bool:
        """Whether too much of the time belongs to no operator for figures per operator to mean anything."""
        total_s = self._lately_matched_s + self._lately_unmatched_s
        return total_s >= _LEAST_JUDGED_S and self._lately_unmatched_s > MOST_UNMATCHED * total_s

    def with_live(self, stages: Sequence[StageSeen], shapes: Shapes) -> dict[str, OperatorTotal]:
        """Totals by operator, with the ended tasks of stages that run."""
        totals = {name: replace(work) for name, work in self._ended.items()}
        for stage in stages:
            # What is not matched yet may still become so.
            if (place := self.operators.of(stage, shapes)) is not None:
                totals.setdefault(place.operator, OperatorTotal()).add(stage, counts=place.counts)
        return totals

    def _parts(self) -> list[PlanPart]:
        return [*self.operators.parts, *self.operators.sinks.values()]

    def topology(
        self, totals: Mapping[str, OperatorTotal], inputs: Sequence[SourceTracker], state_partitions: int | None
    ) -> Topology:
        """Empty until the first batch has run."""
        if self.is_whole:
            stateful = any(part.stateful for part in self._parts())
            sources = tuple(source_name(place) for place in range(len(inputs)))
            return Topology(operators=(Operator(name=WHOLE, pool=POOL, stateful=stateful, reads=sources),))
        parts = self._parts()
        names = {part.name for part in parts}
        edges = [Edge(part.name, part.feeds.name) for part in parts if part.feeds and part.feeds.name in names]
        # What an action in foreachBatch begins with, it has from the query's own last operator.
        if self.operators.parts:
            fed = {edge.downstream for edge in edges}
            last = self.operators.parts[0].name
            edges += [Edge(last, name) for name in self.operators.sinks if name not in fed]

        def partitions(part: PlanPart) -> int | None:
            if part.stateful and state_partitions is not None:
                return state_partitions
            if self._is_cut_to_slots(part.name, inputs):
                return None
            return totals[part.name].tasks if part.name in totals else None

        return Topology(
            operators=tuple(
                Operator(
                    name=part.name,
                    pool=POOL,
                    partitions=partitions(part),
                    stateful=part.stateful,
                    reads=tuple(map(source_name, self.operators.sources_of(part.name))),
                )
                for part in parts
            ),
            edges=tuple(dict.fromkeys(edge for edge in edges if edge.upstream != edge.downstream)),
        )

    def work(
        self, totals: Mapping[str, OperatorTotal], inputs: Sequence[SourceTracker], sunk: float | None, at_s: float
    ) -> tuple[OperatorWork, ...]:
        """What every operator has done by now; `sunk` is what the sink was given, if it says."""
        if self.is_whole:
            return (self._whole(totals, inputs, sunk, at_s),)
        parts = self._parts()
        last = self.operators.parts[0].name if self.operators.parts else None
        found = []
        for part in parts:
            work = totals.get(part.name, OperatorTotal())
            out: float | None = work.records_out
            if part.name == last and not self.operators.sinks and not work.records_out:
                out = sunk
            found.append(
                OperatorWork(
                    name=part.name,
                    tasks=None if self._is_cut_to_slots(part.name, inputs) else work.tasks,
                    records_in=Reading(work.records_in, at_s),
                    records_out=None if out is None else Reading(out, at_s),
                    busy_s=Reading(work.useful_s, at_s),
                )
            )
        return tuple(found)

    def _whole(
        self, totals: Mapping[str, OperatorTotal], inputs: Sequence[SourceTracker], sunk: float | None, at_s: float
    ) -> OperatorWork:
        """All of the query as one operator, from its sources on."""
        rows = known_sum([one.rows for one in inputs]) if inputs else None
        return OperatorWork(
            name=WHOLE,
            records_in=Reading(self._read if rows is None else rows, at_s),
            records_out=None if sunk is None else Reading(sunk, at_s),
            busy_s=Reading(self.unmatched_s + sum(work.useful_s for work in totals.values()), at_s),
        )


def known_sum(numbers: Sequence[float | None]) -> float | None:
    """All of them, or None if one is unknown."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None

"""The operators of a job, from the plan that Spark really runs: names, edges, and what each does with a few events.

The names are those that policies see, since the same code makes them: the same in every batch and after a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elastream.core.observation import OperatorWork
from elastream.core.topology import Topology
from elastream.jobs.inputs import embedded, sound, stream_options
from elastream.jobs.job import Job, build_query
from elastream.jobs.output import writer
from elastream.jobs.running import events_to_come, run_to_the_end
from elastream.spark.jvm.listener import JvmListener
from elastream.spark.observe.operator_totals import OperatorTotals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from elastream.spark.jvm.listener import JvmListener
    from elastream.spark.jvm.snapshot import SourceSeen
    from elastream.spark.observe.operators import PlanPart

FEW = {"workload": "constant(200)", "rows": "4000", "rowsPerBatch": "1000", "start": "0", "partitions": "2"}
"""Twenty seconds of events in four batches."""
# A machine that is busy with other things may take a minute for it.
_PATIENCE_S = 300.0
_EMPTY = "LocalTableScan"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTopology:
    """What a job is on Spark."""

    topology: Topology
    work: tuple[OperatorWork, ...]
    """What each operator has done with all of the events."""
    nodes: Mapping[str, tuple[str, ...]]
    """By operator, what Spark does in it, in the order in which data passes."""
    reads: Mapping[str, tuple[str, ...]]
    """By operator, the streams that it reads."""


def topology_of(spark: SparkSession, job: Job, folder: Path) -> JobTopology:
    """Run the job on some events and look on, as an autoscaler does."""
    # What waits for a watermark is to come out too.
    options = {**job.result.flush, **FEW}
    watch = JvmListener.install(spark, asks_kafka=False)
    try:
        looking = _Looking(watch)
        streams = sound(embedded(spark, job, options))
        query = writer(build_query(job, streams), job.result, "noop", name="topology", folder=folder).start()
        run_to_the_end(
            query, events_to_come(job, options), patience_s=_PATIENCE_S, show=lambda read: looking.look(query.id)
        )
        looking.look(query.id)
    finally:
        watch.remove()
    return looking.found(job, options)


class _Looking:
    """Folds what is seen of one query."""

    def __init__(self, watch: JvmListener) -> None:
        self._watch = watch
        self._works = OperatorTotals()
        self._sources: Sequence[SourceSeen] = ()
        self._nodes: dict[str, tuple[str, ...]] = {}

    def look(self, query: str) -> None:
        look = self._watch.look()
        for seen in look.queries:
            if seen.id == query and seen.sources is not None:
                self._works.operators.describe(seen.leaves)
                self._sources = seen.sources
        for stage in look.stages:
            if stage.query == query and stage.ended_s is not None:
                self._works.take(stage, look.shapes)
        for part in self._parts():
            # In a batch without data, an empty table stands where the source was.
            if part.name not in self._nodes or _EMPTY in self._nodes[part.name]:
                self._nodes[part.name] = tuple(reversed(part.nodes))

    def found(self, job: Job, options: Mapping[str, str]) -> JobTopology:
        works = self._works
        totals = works.with_live([], {})
        return JobTopology(
            topology=works.topology(totals, [], None),
            work=works.work(totals, [], None, 0.0),
            nodes=dict(self._nodes),
            reads={part.name: self._streams(part.name, job, options) for part in self._parts()},
        )

    def _parts(self) -> list[PlanPart]:
        return [*self._works.operators.parts, *self._works.operators.sinks.values()]

    def _streams(self, operator: str, job: Job, options: Mapping[str, str]) -> tuple[str, ...]:
        names = [_stream(source, job, options) for source in self._sources]
        return tuple(names[place] for place in self._works.operators.sources_of(operator) if place < len(names))


def _stream(source: SourceSeen, job: Job, options: Mapping[str, str]) -> str:
    """Which stream a source is: sources stand in the order of the plan, and not of the job."""
    seen = {key.lower(): value for key, value in (source.options or {}).items()}
    given = stream_options(job, options)
    for stream in job.streams:
        wanted = {**given[stream.name], "payload": "json" if stream.is_json else "columns"}
        if seen == {key.lower(): value for key, value in wanted.items()}:
            return stream.name
    return "?"

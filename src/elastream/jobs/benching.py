"""How fast a job is on this machine, and how long its records and results take, on Spark inside this process.

First all events have arrived before the query starts, and it works through them batch by batch: throughput and state.
Then the same job gets them at a rate that it can stand: delay and result latency.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING

from elastream.jobs.batches import Batch, count_late
from elastream.jobs.inputs import embedded, sound, stream_options
from elastream.jobs.job import Job, build_query, query_name
from elastream.jobs.judging import Circumstances, Verdict, answered, count_events, inputs_of, judge_rows
from elastream.jobs.latency import Latency, ResultLatency, delay, result_latency, sources_of
from elastream.jobs.output import told, writer
from elastream.jobs.running import events_to_come, run_to_the_end, run_until_it_ends
from elastream.jobs.settings import BATCHES, read_limit
from elastream.jobs.topic_judging import consumed, has_run_again, judge_run, topic_run
from elastream.jobs.topic_names import Topics
from elastream.jobs.topic_rows import find_written
from elastream.jobs.topics import Held, read_topics, write_rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

EVENTS_RPS = 10_000.0
"""Of the events' own time: a million of them are a hundred seconds of it, enough for windows to come and go."""
PACED_S = 15.0
LOAD = 0.5
"""Share of the throughput that events arrive with in the second part: more, and what is measured is a queue."""
# Far more than any job here takes for it, on a machine that does other things too.
_LEAST_RPS = 200.0
_PATIENCE_S = 300.0
# Events begin when the query has been made, or they would wait for that.
_AHEAD_S = 1.0

Show = Callable[[str, float], None]
"""Is told which part a run is in, and how far that has come, from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class BenchPlan:
    """What to measure."""

    job: Job
    events: int
    sink: str = "parquet"
    """Kafka, if there is a topic for results."""
    rate_rps: float | None = None
    """Of the second part; None: half of the throughput that was measured."""
    paced_s: float = PACED_S
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Of the events."""
    topics: Topics | None = None
    """Where events come from and results go to, if that is Kafka."""

    @property
    def _common(self) -> dict[str, str]:
        return {**self.job.result.flush, "seed": str(self.seed)}

    @property
    def all_at_once(self) -> dict[str, str]:
        """Options of events that have arrived long before the query starts."""
        return {
            **self._common,
            "workload": f"constant({EVENTS_RPS:g})",
            "rowsPerBatch": str(-(-self.events // BATCHES)),
            **own_pace(self.job, EVENTS_RPS),
            **self.options,
            "rows": str(self.events),
            "start": "0",
        }

    def paced(self, rate_rps: float, start_s: float) -> dict[str, str]:
        """Options of events that arrive at a rate."""
        given = {**own_pace(self.job, rate_rps), **self.options}
        factor = float(given.get("timeFactor", "1"))
        return {
            **self._common,
            "workload": f"constant({rate_rps:.0f})",
            "rowsPerBatch": str(read_limit(rate_rps)),
            **given,
            # Of the workload's time, which may pass faster.
            "duration": f"{self.paced_s * factor:g}s",
            "start": f"{start_s:.3f}",
        }


def own_pace(job: Job, rate_rps: float) -> dict[str, str]:
    """The option that lets events' own time pass so fast that their rate in it is what it should be, if it matters.

    Lanes that report once a second do so at any load: with many reports of a lane in a second, a join by lane and
    second would be another job.
    """
    rates = [stream.per_s for stream in job.streams if stream.per_s is not None]
    return {"timeFactor": f"{rate_rps / sum(rates):g}"} if rates else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Events per second while there was always something to read."""

    events: int
    batches: int
    with_first_rps: float
    rps: float | None
    """Over the batches after the first, which compiles; None: there is no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSize:
    """The most that a query held."""

    rows: int
    bytes: int
    commit_s: float
    """Of a batch, all partitions together: the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """What came of it."""

    throughput: Throughput
    state: StateSize | None
    """None: the job keeps none."""
    rate_rps: float | None
    """Of the second part; None: there was none, for a topic holds what it holds."""
    delay: Latency | None
    results: ResultLatency | None
    """None: the sink is not one whose rows can be read again, or an answer tells no single rows."""
    verdicts: tuple[Verdict, ...]
    """Of both parts, if the rows can be read again."""
    late: int
    """Rows of both parts that came behind the watermark and were dropped."""


def bench(
    spark: SparkSession, plan: BenchPlan, folder: Path, show: Show = lambda part, done: None, held: Held | None = None
) -> BenchResult:
    """Run both parts; what they write is in the folder. Of topics, as they are held, there is the first part only."""
    if held is not None and plan.topics is not None and plan.topics.read:
        return _bench_topics(spark, plan, plan.topics, held, folder / "throughput", show)
    options = plan.all_at_once
    found, verdict = _run(spark, plan, options, folder / "throughput", show, at_once=True)
    throughput = throughput_of(found)
    rate_rps = plan.rate_rps or max(1.0, LOAD * (throughput.rps or throughput.with_first_rps))
    options = plan.paced(rate_rps, time.time() + _AHEAD_S)
    paced, another = _run(spark, plan, options, folder / "latency", show, at_once=False)
    sources = sources_of(plan.job, options)
    results = None
    if plan.sink == "parquet":
        right = answered(plan.job, inputs_of(plan.job, options))
        results = result_latency(plan.job, sources, paced, right, told(plan.job.result, folder / "latency"))
    return BenchResult(
        throughput=throughput,
        state=state_of(found),
        rate_rps=rate_rps,
        delay=delay(sources, paced),
        results=results,
        verdicts=tuple(one for one in (verdict, another) if one is not None),
        late=count_late([*found, *paced]),
    )


def _bench_topics(
    spark: SparkSession, plan: BenchPlan, topics: Topics, held: Held, folder: Path, show: Show
) -> BenchResult:
    """What the topics held when they were looked at, as fast as possible."""
    total = sum(held.end(topic) for _, topic in topics.read)
    before = total - sum(held.messages(topic) for _, topic in topics.read)
    limits = {topic: max(1, -(-held.messages(topic) // BATCHES)) for _, topic in topics.read}
    rows = build_query(plan.job, sound(read_topics(spark, plan.job, topics, held, limits=limits)))
    find = find_written(plan.sink, plan.job.result, folder, topics, rows)
    log = run_until_it_ends(
        _writing(plan, rows, folder, "throughput").trigger(availableNow=True).start(),
        total,
        patience_s=_PATIENCE_S + (total - before) / _LEAST_RPS,
        show=lambda read: show("throughput", max(read - before, 0) / (total - before)),
    )
    run = topic_run(folder, log.batches)
    if topics.rejected is not None:
        write_rejected(spark, plan.job, topics, consumed(topics, held, run))
    verdicts: tuple[Verdict, ...] = ()
    if find is not None or topics.rejected is not None:
        _, verdicts = judge_run(plan.job, topics, held, replace(run, may_repeat=has_run_again(spark)), find)
    return BenchResult(
        throughput=throughput_of(log.batches),
        state=state_of(log.batches),
        rate_rps=None,
        delay=None,
        results=None,
        verdicts=verdicts,
        late=count_late(log.batches),
    )


def throughput_of(batches: Sequence[Batch]) -> Throughput:
    """Up to the last batch that read something."""
    reading = [batch for batch in batches if batch.rows]
    first, last = reading[0], reading[-1]
    events = sum(batch.rows for batch in reading)
    after_s = last.committed_s - first.committed_s
    return Throughput(
        events=events,
        batches=len(reading),
        with_first_rps=events / (last.committed_s - first.began_s),
        rps=(events - first.rows) / after_s if len(reading) > 1 else None,
    )


def state_of(batches: Sequence[Batch]) -> StateSize | None:
    """The most rows and bytes, and what a commit takes."""
    states = [batch.state for batch in batches if batch.state is not None]
    if not states:
        return None
    return StateSize(
        rows=max(state.rows for state in states),
        bytes=max(state.bytes for state in states),
        commit_s=median(state.commit_s for state in states),
    )


def _run(
    spark: SparkSession, plan: BenchPlan, options: Mapping[str, str], folder: Path, show: Show, *, at_once: bool
) -> tuple[list[Batch], Verdict | None]:
    part = "throughput" if at_once else "latency"
    total = events_to_come(plan.job, options)
    rows = build_query(plan.job, sound(embedded(spark, plan.job, options)))
    find = find_written(plan.sink, plan.job.result, folder, plan.topics, rows)
    writing = _writing(plan, rows, folder, part)
    if at_once:
        writing = writing.trigger(availableNow=True)
    log = run_to_the_end(
        writing.start(),
        total,
        patience_s=_PATIENCE_S + total / _LEAST_RPS,
        show=lambda read: show(part, read / max(total, 1)),
    )
    if find is None:
        return log.batches, None
    tables = inputs_of(plan.job, options)
    again = plan.sink == "kafka" and has_run_again(spark)
    run = Circumstances(may_repeat=again, dropped=count_late(log.batches))
    return log.batches, judge_rows(plan.job.result, answered(plan.job, tables), count_events(tables), find(), run)


def _writing(plan: BenchPlan, rows: DataFrame, folder: Path, part: str) -> DataStreamWriter:
    # As the memory sink names its table.
    name = re.sub(r"\W", "_", f"{query_name(plan.job)} {part}")
    kafka = plan.topics.sink_options if plan.topics is not None else {}
    return writer(rows, plan.job.result, plan.sink, name=name, folder=folder, kafka=kafka)


def checked(plan: BenchPlan) -> BenchPlan:
    """The same plan; options of which the events cannot be made are told before anything starts."""
    for options in (plan.all_at_once, plan.paced(1.0, 0.0)):
        stream_options(plan.job, options)
        events_to_come(plan.job, options)
    return plan

"""The query of a live run: over a few events first, then until its input has ended, or for so long over topics."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from elastream.experiments.live_setup import LiveSetup
from elastream.jobs.batches import Batch
from elastream.jobs.checkpoint import read_checkpoint
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.job import build_query
from elastream.jobs.output import writer
from elastream.jobs.running import events_to_come, run_for, run_to_the_end, run_until_it_ends
from elastream.jobs.settings import BATCHES
from elastream.jobs.topic_judging import TopicRun, consumed, has_run_again, topic_run
from elastream.jobs.topic_names import Topics
from elastream.jobs.topic_rows import FindRows, count_ends, find_written
from elastream.jobs.topics import Held, read_topics, write_rejected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# A handful of small batches: the first loads classes and starts Python workers, and the next ones find them.
WARM_UP_RPS, WARM_UP_S = 100, 6.0
# Of a topic that holds much, if nobody says what the machine can stand.
_READ_LIMIT = 10_000
# Less than any job here does.
_LEAST_RPS = 200.0


Begin = Callable[[str], None]
"""Is told what goes on from now on."""


@dataclass(frozen=True, kw_only=True)
class QueryRun:
    """What a query has done."""

    batches: list[Batch]
    began_s: float
    find: FindRows | None
    """Finds its rows; None: the sink keeps none."""
    may_repeat: bool = False
    """Some rows may have been written to Kafka again."""
    over_topics: TopicRun | None = None


def warm_up(setup: LiveSetup, spark: SparkSession, folder: Path) -> None:
    """Load classes, plan, start Python workers: all that a first batch does and no other."""
    few = {**setup.options, "workload": f"constant({WARM_UP_RPS})", "duration": f"{WARM_UP_S * setup.scale.factor}s"}
    folder.mkdir()
    # What others read is none of its business.
    apart = replace(setup, sink="parquet" if setup.sink == "parquet" else "noop", topics=None)
    rows = _generated(apart, spark, few)
    writing = _writing(apart, rows, folder, name="warm-up").trigger(processingTime="1 second")
    run_to_the_end(writing.start(), events_to_come(setup.job, few), patience_s=180.0)
    shutil.rmtree(folder, ignore_errors=True)


def run_query(setup: LiveSetup, spark: SparkSession, folder: Path, begin: Begin) -> QueryRun:
    """Until all that comes is committed."""
    if setup.topics is not None and setup.held is not None and setup.reads_topics:
        return _run_over_topics(setup, setup.topics, setup.held, spark, folder, begin)
    rows = _generated(setup, spark, setup.options)
    find = find_written(setup.sink, setup.job.result, folder, setup.topics, rows)
    query = _paced(setup, _writing(setup, rows, folder, name=setup.name)).start()
    began_s = time.time()
    log = run_to_the_end(query, events_to_come(setup.job, setup.options), patience_s=_patience_s(setup))
    return QueryRun(batches=log.batches, began_s=began_s, find=find, may_repeat=has_run_again(spark))


def _run_over_topics(
    setup: LiveSetup, topics: Topics, held: Held, spark: SparkSession, folder: Path, begin: Begin
) -> QueryRun:
    """As long as the load lasts elsewhere; what has arrived by then is worked off."""
    rows = _read(setup, topics, held, spark)
    find = find_written(setup.sink, setup.job.result, folder, topics, rows)
    began_s = time.time()
    query = _paced(setup, _writing(setup, rows, folder, name=setup.name)).start()
    log = run_for(query, setup.experiment.duration_s, lambda: count_ends(topics), patience_s=_patience_s(setup))
    again = _finish(setup, topics, held, spark, folder, begin)
    run = topic_run(folder, log.batches)
    if topics.rejected is not None:
        begin(f"writing to {topics.rejected} what is no event of the job")
        write_rejected(spark, setup.job, topics, consumed(topics, held, run))
    may_repeat = again or has_run_again(spark)
    return QueryRun(
        batches=log.batches,
        began_s=began_s,
        find=find,
        may_repeat=may_repeat,
        over_topics=replace(run, may_repeat=may_repeat),
    )


def _finish(setup: LiveSetup, topics: Topics, held: Held, spark: SparkSession, folder: Path, begin: Begin) -> bool:
    """Whether the query had to run again: a batch that was begun when it was stopped may have written to a topic."""
    reached = read_checkpoint(folder)
    if topics.to is None or reached is None or reached.is_between:
        return False
    begin("finishing the batch that had begun")
    rows = _read(setup, topics, held, spark)
    query = _writing(setup, rows, folder, name=setup.name).trigger(availableNow=True).start()
    run_until_it_ends(query, 0, patience_s=_patience_s(setup))
    return True


def _generated(setup: LiveSetup, spark: SparkSession, events: Mapping[str, str]) -> DataFrame:
    # One time zero for all streams: their events belong together.
    options = {**events, "start": f"{time.time():.3f}"}
    return _job_over(setup, sound(embedded(spark, setup.job, options)))


def _read(setup: LiveSetup, topics: Topics, held: Held, spark: SparkSession) -> DataFrame:
    limit = setup.read_limit
    limits = {topic: limit or max(_READ_LIMIT, held.messages(topic) // BATCHES) for _, topic in topics.read}
    return _job_over(setup, sound(read_topics(spark, setup.job, topics, held, limits=limits)))


def _job_over(setup: LiveSetup, streams: Mapping[str, DataFrame]) -> DataFrame:
    if setup.capacity is not None:
        streams = {name: setup.capacity.limit(rows) for name, rows in streams.items()}
    return build_query(setup.job, streams)


def _writing(setup: LiveSetup, rows: DataFrame, folder: Path, *, name: str) -> DataStreamWriter:
    kafka = setup.topics.sink_options if setup.topics is not None else {}
    return writer(rows, setup.job.result, setup.sink, name=name, folder=folder, kafka=kafka)


def _paced(setup: LiveSetup, writing: DataStreamWriter) -> DataStreamWriter:
    if setup.trigger_s is None:
        return writing
    return writing.trigger(processingTime=f"{round(setup.trigger_s * 1000)} milliseconds")


def _patience_s(setup: LiveSetup) -> float:
    """Twice as long as the load lasts is more than any policy here needs for what is left, old messages apart."""
    history_s = 0.0
    if setup.topics is not None and setup.held is not None:
        held = sum(setup.held.messages(topic) for _, topic in setup.topics.read)
        history_s = held / (setup.capacity.rows_per_s if setup.capacity else _LEAST_RPS)
    return 2 * setup.experiment.duration_s + 120.0 + 2 * history_s

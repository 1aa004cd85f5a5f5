"""What a job has read from topics and written to one, read again without Spark: is the one the answer to the other?

Somebody's own topic comes without an answer, so that is computed from the topic itself: its messages are read, told
from what is no event of the job, and given to DuckDB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, ElastreamError
from elastream.development.kafka.topic_reader import Message, Places, TopicReader
from elastream.events.options import SourceOptions, parse_options
from elastream.jobs.batches import Batch
from elastream.jobs.inputs import stream_options
from elastream.jobs.job import Job, Result, Stream
from elastream.jobs.json_rows import read_events, read_results
from elastream.jobs.judging import Circumstances, Verdict, answered, count_events, judge_rows
from elastream.jobs.output import newest
from elastream.jobs.topics import Held, Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FindRows: TypeAlias = Callable[[], pa.Table | None]
"""Finds what came out; None: nothing did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInputs:
    """What a job has read, by stream."""

    tables: Mapping[str, pa.Table]
    """Its events."""
    rejected: Mapping[str, Sequence[Message]]
    """Messages that are no events."""


def judge_topics(
    job: Job, topics: Topics, inputs: TopicInputs, batches: Sequence[Batch], find: FindRows, *, may_repeat: bool
) -> Verdict:
    """Compute the answer from what the committed batches have read, and compare every row that came out."""
    answer = answered(job, inputs.tables)
    events = count_events(inputs.tables)
    watermarks = [batch.watermark for batch in batches if batch.watermark is not None]
    run = Circumstances(
        events=_in_words([topic for _, topic in topics.read], sum(map(len, inputs.rejected.values()))),
        answer="an answer that DuckDB made from the topic",
        goes_on=True,
        watermark=max(watermarks, default=None),
        dropped=sum(batch.dropped for batch in batches),
        may_repeat=may_repeat,
    )
    return judge_rows(job.result, answer, events, find(), run)


def judge_rejected(topics: Topics, inputs: TopicInputs, since: Places, *, may_repeat: bool) -> Verdict:
    """Compare what was written to the topic of those that are no events, byte by byte."""
    assert topics.rejected is not None
    named = dict(topics.read)
    wanted = Counter(
        (named[stream], one.partition, one.offset, one.value)
        for stream, some in inputs.rejected.items()
        for one in some
    )
    found = Counter(map(_origin, _since(topics, topics.rejected, since)))
    if found == wanted or (may_repeat and found.keys() == wanted.keys()):
        return Verdict(True, f"all {wanted.total():,} messages that are no events are in topic {topics.rejected}")
    return Verdict(
        False,
        f"topic {topics.rejected} is wrong: {(wanted - found).total():,} messages are missing,"
        f" {(found - wanted).total():,} should not be there",
    )


def _origin(message: Message) -> tuple[str, int, int, bytes | None]:
    """Where a message that is no event was found, and what it is."""
    headers = dict(message.headers)
    return headers["topic"].decode(), int(headers["partition"]), int(headers["offset"]), message.value


def _in_words(topics: Sequence[str], others: int) -> str:
    names = f"topic{'s' * (len(topics) > 1)} {', '.join(topics)}"
    return f"events in {names}" + f" (and {others:,} messages that are none)" * bool(others)


def consumed(topics: Topics, held: Held, batches: Sequence[Batch]) -> dict[str, Places]:
    """What the committed batches have read of each topic."""
    ends = {topic: parts for span in (batches[-1].spans if batches else ()) for topic, parts in span.ends.items()}
    return {
        topic: {number: (held.places[topic].get(number, (0, 0))[0], end) for number, end in ends.get(topic, {}).items()}
        for _, topic in topics.read
    }


def read_inputs(job: Job, topics: Topics, read: Mapping[str, Places]) -> TopicInputs:
    """Read the same messages again."""
    streams = {stream.name: stream for stream in job.streams}
    given = stream_options(job, {"workload": "constant(1)"})
    tables, rejected = {}, {}
    with TopicReader(topics.bootstrap) as reader:
        for name, topic in topics.read:
            parsed = parse_options(given[name])
            parts = [_sound(streams[name], parsed, some) for some in reader.read(topic, read[topic])]
            tables[name] = pa.concat_tables([_schema(parsed).empty_table(), *(table for table, _ in parts)])
            rejected[name] = [message for _, others in parts for message in others]
    return TopicInputs(tables=tables, rejected=rejected)


def look_at_end(topics: Topics, topic: str) -> Places:
    """Where a topic ends now: what is written later is behind that."""
    with TopicReader(topics.bootstrap) as reader:
        return reader.places(topic, reader.topics().get(topic, []))


def read_output(topics: Topics, topic: str, since: Places, schema: pa.Schema, result: Result) -> pa.Table:
    """The rows that were written to a topic since then."""
    try:
        rows = read_results([message.value for message in _since(topics, topic, since)], schema)
    except (ValueError, pa.ArrowException) as wrong:
        raise ElastreamError(f"topic {topic!r}: holds what is no row of the job: {wrong}") from None
    return newest(rows, result)


def _since(topics: Topics, topic: str, since: Places) -> list[Message]:
    with TopicReader(topics.bootstrap) as reader:
        until = reader.places(topic, reader.topics().get(topic, []))
        places = {number: (since.get(number, (0, 0))[1], end) for number, (_, end) in until.items()}
        return [message for some in reader.read(topic, places) for message in some]


def has_run_again(spark: SparkSession) -> bool:
    """Whether a task of this application did not end well, and so may have written what another one wrote again."""
    context: Any = spark.sparkContext._jsc
    store = context.sc().statusStore()
    executors = store.executorList(False)
    ended = [executors.apply(n) for n in range(executors.length())]
    return any(one.totalTasks() > one.completedTasks() + one.activeTasks() for one in ended)


def _schema(parsed: SourceOptions) -> pa.Schema:
    nothing = np.empty(0, dtype=np.int64)
    made = parsed.generator.batch(nothing, nothing).schema
    return pa.schema([field.with_nullable(True) for field in made])


def _sound(stream: Stream, parsed: SourceOptions, messages: Sequence[Message]) -> tuple[pa.Table, list[Message]]:
    """The events among some messages, and the messages that are none."""
    rows = read_events([one.value for one in messages], _schema(parsed))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("rows", rows)
        e = parsed.timing.epoch_s
        in_time = f"epoch(event_time) BETWEEN {e} - 86400 AND {e} + 366*86400"
        try:
            found = connection.sql(f"SELECT coalesce(({stream.sound}) AND {in_time}, false) AS sound FROM rows")
            sound = found.to_arrow_table()["sound"]
        except duckdb.Error as wrong:
            raise BadInput(f"stream {stream.name}: {wrong}") from None
    usable = sound.to_pylist()
    return rows.filter(sound), [one for one, is_sound in zip(messages, usable, strict=True) if not is_sound]

"""What is in topics, as rows, read without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.core.errors import BadInput, ElastreamError
from elastream.development.kafka.topic_reader import Message, Places, TopicReader
from elastream.events.options import SourceOptions, parse_options
from elastream.jobs.event_times import in_time
from elastream.jobs.inputs import stream_options
from elastream.jobs.job import Job, Result, Stream
from elastream.jobs.json_rows import read_events, read_results
from elastream.jobs.output import arrow_schema, newest, written
from elastream.jobs.topic_names import Topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FindRows: TypeAlias = Callable[[], pa.Table | None]
"""Finds what came out; None: nothing did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInputs:
    """What a job has read, by stream."""

    tables: Mapping[str, pa.Table]
    """Its events."""
    rejected: Mapping[str, Sequence[Message]]
    """Messages that are no events."""
    arrivals: Mapping[str, NDArray[np.int64]]
    """Of every topic a row for each message: partition, offset, and its timestamp in milliseconds."""


def read_inputs(job: Job, topics: Topics, read: Mapping[str, Places]) -> TopicInputs:
    """Read the same messages again."""
    streams = {stream.name: stream for stream in job.streams}
    given = stream_options(job, {"workload": "constant(1)"})
    tables, rejected, arrivals = {}, {}, {}
    with TopicReader(topics.bootstrap) as reader:
        for name, topic in topics.read:
            parsed = parse_options(given[name])
            parts, places = [], [np.empty((0, 3), dtype=np.int64)]
            for some in reader.read(topic, read[topic]):
                parts.append(find_events(streams[name], parsed, some, topics.ahead_s))
                rows = [(one.partition, one.offset, one.stamp_ms) for one in some]
                places.append(np.array(rows, dtype=np.int64).reshape(-1, 3))
            tables[name] = pa.concat_tables([_schema(parsed).empty_table(), *(table for table, _ in parts)])
            rejected[name] = [message for _, others in parts for message in others]
            arrivals[topic] = np.concatenate(places)
    return TopicInputs(tables=tables, rejected=rejected, arrivals=arrivals)


def look_at_end(topics: Topics, topic: str) -> Places:
    """Where a topic ends now: what is written later is behind that."""
    with TopicReader(topics.bootstrap) as reader:
        return reader.places(topic, reader.topics().get(topic, []))


def count_ends(topics: Topics) -> int:
    """All offsets behind the last messages that the job is to read, added up: what its progress counts in."""
    return sum(end for _, topic in topics.read for _, end in look_at_end(topics, topic).values())


def find_written(sink: str, result: Result, folder: Path, topics: Topics | None, rows: DataFrame) -> FindRows | None:
    """How to find what will have been written from now on; None: the sink keeps nothing."""
    if topics is not None and topics.to is not None:
        to, since, schema = topics.to, look_at_end(topics, topics.to), arrow_schema(rows)
        return lambda: read_output(topics, to, since, schema, result)
    return (lambda: written(result, folder)) if sink == "parquet" else None


def read_output(topics: Topics, topic: str, since: Places, schema: pa.Schema, result: Result) -> pa.Table:
    """The rows that were written to a topic since then."""
    try:
        rows = read_results([message.value for message in read_since(topics, topic, since)], schema)
    except (ValueError, pa.ArrowException) as wrong:
        raise ElastreamError(f"topic {topic!r}: holds what is no row of the job: {wrong}") from None
    return newest(rows, result)


def read_since(topics: Topics, topic: str, since: Places) -> list[Message]:
    """The messages that were written to a topic since then."""
    with TopicReader(topics.bootstrap) as reader:
        until = reader.places(topic, reader.topics().get(topic, []))
        places = {number: (since.get(number, (0, 0))[1], end) for number, (_, end) in until.items()}
        return [message for some in reader.read(topic, places) for message in some]


def _schema(parsed: SourceOptions) -> pa.Schema:
    nothing = np.empty(0, dtype=np.int64)
    made = parsed.generator.batch(nothing, nothing).schema
    return pa.schema([field.with_nullable(True) for field in made])


def find_events(
    stream: Stream, parsed: SourceOptions, messages: Sequence[Message], ahead_s: float
) -> tuple[pa.Table, list[Message]]:
    """The events among some messages, and the messages that are none."""
    rows = read_events([one.value for one in messages], _schema(parsed))
    arrived = pa.array([one.stamp_ms * 1_000 for one in messages], pa.timestamp("us", "UTC"))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("event", rows.append_column("arrived", arrived))
        usable = f"({stream.sound}) AND {in_time('arrived', ahead_s)}"
        try:
            found = connection.sql(f"SELECT coalesce({usable}, false) AS sound FROM event")
            sound = found.to_arrow_table()["sound"]
        except duckdb.Error as wrong:
            raise BadInput(f"stream {stream.name}: {wrong}") from None
    return rows.filter(sound), [one for one, is_event in zip(messages, sound.to_pylist(), strict=True) if not is_event]

"""Topics that a job reads and writes: looked at before anything starts, read as its streams, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elastream.core.errors import BadInput, UnknownName
from elastream.development.kafka.topic_reader import Places, TopicReader
from elastream.development.kafka.topics import create_topic
from elastream.jobs.inputs import Input, checked, stream_options
from elastream.jobs.job import Job, jobs
from elastream.jobs.topic_names import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 4
"""Of a topic that is created for results, as of one that the producer creates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Topics as they were when they were looked at: by name, where their partitions begin and end."""

    places: Mapping[str, Places]

    def messages(self, topic: str) -> int:
        """How many there are at most."""
        return sum(end - first for first, end in self.places[topic].values())

    def end(self, topic: str) -> int:
        """All offsets behind the last ones, added up: what a query's progress counts in."""
        return sum(end for _, end in self.places[topic].values())


def look_at_topics(job: Job, topics: Topics, *, create: bool = False) -> Held:
    """Where all of them begin and end; BadInput if one is not there, or there is nothing to read in it."""
    with TopicReader(topics.bootstrap) as reader:
        known = reader.topics()
        places: dict[str, Places] = {}
        for stream, topic in topics.read:
            if topic not in known:
                raise UnknownName(f"--from: {topics.bootstrap} has no topic", topic, known)
            places[topic] = reader.places(topic, known[topic])
            if all(first == end for first, end in places[topic].values()):
                where = f"topic {topic!r} at {topics.bootstrap}"
                raise BadInput(f"--from: {where} is empty; {_filling(job, stream, topic)}")
        for flag, topic in topics.written:
            if topic in known:
                places[topic] = reader.places(topic, known[topic])
            elif create:
                create_topic(topics.bootstrap, topic, PARTITIONS)
                places[topic] = dict.fromkeys(range(PARTITIONS), (0, 0))
            else:
                raise BadInput(f"{flag}: {topics.bootstrap} has no topic {topic!r}; --create makes it")
    return Held(places=places)


def _filling(job: Job, stream: str, topic: str) -> str:
    source = jobs.name_of(job) if len(job.streams) == 1 else f"{jobs.name_of(job)}/{stream}"
    return f"fill it: elastream produce {source} --workload 1k --topic {topic}"


def read_topics(
    spark: SparkSession, job: Job, topics: Topics, held: Held, *, limits: Mapping[str, int]
) -> dict[str, Input]:
    """All streams of a job, from the first message that was there; so many of each topic in a batch."""
    given = stream_options(job, {"workload": "constant(1)"})
    inputs = {}
    streams = {stream.name: stream for stream in job.streams}
    for name, topic in topics.read:
        reading = {
            "kafka.bootstrap.servers": topics.bootstrap,
            "subscribe": topic,
            "startingOffsets": json.dumps({topic: {p: first for p, (first, _) in held.places[topic].items()}}),
            "maxOffsetsPerTrigger": str(limits[topic]),
        }
        frame = spark.readStream.format("kafka").options(**reading).load()
        inputs[name] = checked(frame, streams[name], given[name], ahead_s=topics.ahead_s)
    return inputs


def write_rejected(spark: SparkSession, job: Job, topics: Topics, read: Mapping[str, Places]) -> None:
    """Write what the job has left out of these messages, the bytes as they came.

    Headers tell topic, partition and offset. A query beside that of the job would take from what is measured, so the
    messages are read once more when it is over.
    """
    from pyspark.sql import functions as sf

    given = stream_options(job, {"workload": "constant(1)"})
    streams = {stream.name: stream for stream in job.streams}
    for name, topic in topics.read:
        reading = {
            "kafka.bootstrap.servers": topics.bootstrap,
            "assign": json.dumps({topic: list(read[topic])}),
            "startingOffsets": json.dumps({topic: {number: first for number, (first, _) in read[topic].items()}}),
            "endingOffsets": json.dumps({topic: {number: end for number, (_, end) in read[topic].items()}}),
        }
        frame = spark.read.format("kafka").options(**reading).load()
        left_out = checked(frame, streams[name], given[name], ahead_s=topics.ahead_s).rejected
        origin = {"topic": sf.lit(topic), "partition": sf.col("partition"), "offset": sf.col("offset")}
        headers = [
            sf.struct(sf.lit(key).alias("key"), value.cast("string").cast("binary").alias("value"))
            for key, value in origin.items()
        ]
        writing = left_out.select("value", sf.array(*headers).alias("headers")).write.format("kafka")
        writing.options(**{"kafka.bootstrap.servers": topics.bootstrap, "topic": topics.rejected}).save()

"""Topics that a job reads and writes: named by its user, looked at before anything starts, read as its streams."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elastream.core.errors import BadInput, UnknownName
from elastream.development.kafka.finder import read_bootstrap
from elastream.development.kafka.topic_reader import Places, TopicReader
from elastream.development.kafka.topics import create_topic
from elastream.jobs.inputs import Input, checked, stream_options
from elastream.jobs.job import Job, jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 4
"""Of a topic that is created for results, as of one that the producer creates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """What a job reads and writes in Kafka, as plain values."""

    bootstrap: str
    read: tuple[tuple[str, str], ...] = ()
    """The streams of the job, each with its topic; none: events are generated."""
    to: str | None = None
    """For its results; None: they go elsewhere."""
    rejected: str | None = None
    """For messages that are no events of the job; None: they are only counted."""

    @property
    def written(self) -> list[tuple[str, str]]:
        """Those that are written, each with the option that names it."""
        options = (("--to", self.to), ("--rejected", self.rejected))
        return [(flag, topic) for flag, topic in options if topic is not None]

    @property
    def sink_options(self) -> dict[str, str]:
        """Of Spark's Kafka sink, if that is where results go."""
        return {} if self.to is None else {"kafka.bootstrap.servers": self.bootstrap, "topic": self.to}


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


def parse_topics(
    job: Job, *, read: Sequence[str], to: str | None, rejected: str | None, bootstrap: str | None
) -> Topics | None:
    """What the options `--from`, `--to`, `--rejected` and `--bootstrap` say; None: no topic is named."""
    if not read and to is None:
        for flag, given in (("--rejected", rejected), ("--bootstrap", bootstrap)):
            if given is not None:
                raise BadInput(f"{flag} {given}: no topic is read or written; name one with --from or --to")
        return None
    if rejected is not None and not read:
        raise BadInput(f"--rejected {rejected}: generated events are never rejected; name a topic with --from")
    found = _streams(job, read)
    topics = Topics(bootstrap="", read=tuple(found.items()), to=to, rejected=rejected)
    named = [*(("--from", topic) for topic in found.values()), *topics.written]
    for number, (flag, topic) in enumerate(named):
        _check_name(flag, topic, named[:number])
    return replace(topics, bootstrap=read_bootstrap(bootstrap))


def _check_name(flag: str, topic: str, before: Sequence[tuple[str, str]]) -> None:
    if re.fullmatch(r"[\w.-]{1,249}", topic, re.ASCII) is None or topic in (".", ".."):
        raise BadInput(f"{flag}: {topic!r} is no name of a topic: letters, digits, '.', '_' and '-'")
    for another, name in before:
        if name == topic:
            raise BadInput(f"{flag} {topic}: {another} names that topic too; take another one")


def _streams(job: Job, texts: Sequence[str]) -> dict[str, str]:
    """A topic for every stream: in their order, or each as STREAM=TOPIC."""
    names, given = [stream.name for stream in job.streams], [text.rpartition("=") for text in texts]
    if not texts:
        return {}
    if all(not equals for _, equals, _ in given) and len(texts) == len(names):
        return dict(zip(names, texts, strict=True))
    found: dict[str, str] = {}
    for (stream, equals, topic), text in zip(given, texts, strict=True):
        if equals and stream not in names:
            raise UnknownName(f"--from {text}: the job has no stream", stream, names)
        if equals and stream in found:
            raise BadInput(f"--from {text}: stream {stream} has topic {found[stream]!r} already")
        if equals:
            found[stream] = topic
    if len(found) < len(names) or len(texts) != len(names):
        line = " ".join(f"--from {name}=TOPIC" for name in names) if len(names) > 1 else "--from TOPIC"
        streams = f"{len(names)} stream{'s' * (len(names) > 1)}"
        raise BadInput(f"--from: the job reads {streams}, and {len(texts)} topics are named so; write {line}")
    return {name: found[name] for name in names}


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


def read_topics(spark: SparkSession, job: Job, topics: Topics, held: Held, *, batches: int) -> dict[str, Input]:
    """All streams of a job, from the first message that was there, in so many batches what was there."""
    given = stream_options(job, {"workload": "constant(1)"})
    inputs = {}
    streams = {stream.name: stream for stream in job.streams}
    for name, topic in topics.read:
        reading = {
            "kafka.bootstrap.servers": topics.bootstrap,
            "subscribe": topic,
            "startingOffsets": json.dumps({topic: {p: first for p, (first, _) in held.places[topic].items()}}),
            "maxOffsetsPerTrigger": str(max(1, -(-held.messages(topic) // batches))),
        }
        frame = spark.readStream.format("kafka").options(**reading).load()
        inputs[name] = checked(frame, streams[name], given[name])
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
        left_out = checked(frame, streams[name], given[name]).rejected
        origin = {"topic": sf.lit(topic), "partition": sf.col("partition"), "offset": sf.col("offset")}
        headers = [
            sf.struct(sf.lit(key).alias("key"), value.cast("string").cast("binary").alias("value"))
            for key, value in origin.items()
        ]
        writing = left_out.select("value", sf.array(*headers).alias("headers")).write.format("kafka")
        writing.options(**{"kafka.bootstrap.servers": topics.bootstrap, "topic": topics.rejected}).save()

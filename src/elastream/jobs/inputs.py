"""The streams of a job, from the embedded source or from Kafka: the same events, and nothing but sound rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from elastream.events.options import parse_options
from elastream.jobs.job import Job, Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Of the whole job; every stream gets its part.
_COUNTED = ("rows", "rowsPerBatch")
# A time outside of this is no time of these events: one row from the far future would end every window at once.
_EARLIEST_S, _LATEST_S = 86_400, 366 * 86_400


@dataclass(frozen=True)
class Input:
    """A stream as it is read: what the job works on, and what it leaves out."""

    sound: DataFrame
    rejected: DataFrame
    """Messages as they were read, with their places in the topic. A query of its own writes them: see `rejected`."""


def stream_options(job: Job, options: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The options of each stream's events, from those of the whole job: load, seed, rows, duration and so on.

    An option is given to the streams whose generators have it; the job's own come before those of the caller.
    """
    return {stream.name: _options(stream, options) for stream in job.streams}


def embedded(spark: SparkSession, job: Job, options: Mapping[str, str]) -> dict[str, Input]:
    """All streams from `format("elastream")`."""
    from elastream.development.embedded_source import stream as read

    given = stream_options(job, options)
    frames = {}
    for stream in job.streams:
        payload = "json" if stream.is_json else "columns"
        frames[stream.name] = read(spark, **given[stream.name], payload=payload)
    return {stream.name: checked(frames[stream.name], stream, given[stream.name]) for stream in job.streams}


def sound(inputs: Mapping[str, Input]) -> dict[str, DataFrame]:
    """What a job works on, by the name of the stream: what its query takes."""
    return {name: given.sound for name, given in inputs.items()}


def rejected(inputs: Mapping[str, Input]) -> DataFrame:
    """What was left out of all streams, as one: `stream`, `partition`, `offset` and `value`, the bytes as they came."""
    from pyspark.sql import functions as sf

    every = [given.rejected.select(sf.lit(name).alias("stream"), "*") for name, given in inputs.items()]
    return reduce(lambda one, other: one.unionByName(other), every)


def checked(frame: DataFrame, stream: Stream, options: Mapping[str, str]) -> Input:
    """A frame as the embedded source or Kafka gives it: events as columns, or messages with JSON as their `value`.

    A message that Spark's `from_json` cannot read, that lacks what the job needs, or bears a time that cannot be, is
    rejected, and the query goes on. All messages and those rejected are counted in its progress, among the observed
    metrics, under the name of the stream.
    """
    from pyspark.sql import functions as sf

    parsed = parse_options(options)
    if _is_typed(frame, parsed.generator.schema):
        # Columns come from the generator itself, which makes nothing but sound rows.
        none = frame.where("false").select("partition", "offset", sf.lit(None).cast("binary").alias("value"))
        return Input(frame, none)
    event = sf.from_json(sf.col("value").cast("string"), parsed.generator.schema)
    usable = sf.expr(f"coalesce(({stream.sound}) AND {_in_time(parsed.timing.epoch_s)}, false)")
    message = sf.struct("partition", "offset", "value")
    read = frame.select(event.alias("event"), message.alias("message")).select("event.*", "message")
    # No condition moves below the counting, so the text of an event is read once, whatever is asked of it.
    counted = read.withColumn("sound", usable).observe(
        stream.name, sf.count(sf.lit(1)).alias("rows"), sf.count_if(~sf.col("sound")).alias("rejected")
    )
    return Input(counted.where("sound").drop("sound", "message"), counted.where(~sf.col("sound")).select("message.*"))


def _options(stream: Stream, options: Mapping[str, str]) -> dict[str, str]:
    from elastream.events.generators import GENERATORS, maker
    from elastream.events.options import OPTIONS

    known = {name.lower() for name in (*OPTIONS, *maker(stream.generator).options)}
    elsewhere = {option.lower() for name in GENERATORS for option in maker(name).options}
    # One that no generator has is left in, to be refused with the nearest name.
    given = {key: value for key, value in options.items() if key.lower() in known or key.lower() not in elsewhere}
    for key in given:
        if key.lower() in (name.lower() for name in _COUNTED):
            given[key] = str(round(int(given[key]) * stream.share))
    if stream.share != 1.0:
        given["workload"] = f"({given['workload']}) * {stream.share!r}"
    return {**given, **stream.options, "generator": stream.generator}


def _in_time(epoch_s: int) -> str:
    earliest, latest = f"timestamp_seconds({epoch_s - _EARLIEST_S})", f"timestamp_seconds({epoch_s + _LATEST_S})"
    return f"event_time BETWEEN {earliest} AND {latest}"


def _is_typed(frame: DataFrame, schema: str) -> bool:
    from pyspark.sql.types import StructType

    names: list[str] = StructType.fromDDL(schema).fieldNames()  # type: ignore[attr-defined]
    return frame.columns == names

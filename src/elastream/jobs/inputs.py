"""The streams of a job, from the embedded source or from Kafka: the same events, and nothing but sound rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from elastream.core.errors import UnknownName
from elastream.events.generators import maker, per_turn, whole
from elastream.events.options import OPTIONS, parse_options
from elastream.jobs.event_times import AHEAD_S, in_time
from elastream.jobs.job import Job, Stream, jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What JSON has: Spark takes more by itself, and calls a number what no other reader does.
_STRICTLY = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}


@dataclass(frozen=True)
class Input:
    """A stream as it is read: what the job works on, and what it leaves out."""

    sound: DataFrame
    rejected: DataFrame
    """Messages as they were read, with their places in the topic. A query of its own writes them: see `rejected`."""


def stream_options(job: Job, options: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The options of each stream's events, from those of the whole job: load, seed, rows, duration and so on.

    An option is given to the streams whose generators have it; the job's own come before those of the caller. One that
    no stream has is refused.
    """
    _check_known(job, options)
    parts = shares(job, options)
    # Parts of a whole number that add up to it.
    ends = pairwise(accumulate(parts.values(), initial=0.0))
    return {
        stream.name: _options(stream, options, parts[stream.name], part)
        for stream, part in zip(job.streams, ends, strict=True)
    }


def shares(job: Job, options: Mapping[str, str]) -> dict[str, float]:
    """Each stream's part of the load, by its name.

    Streams without a share of their own take turns, as often as their generators say with these options.
    """
    told = {stream.name: stream.share for stream in job.streams if stream.share is not None}
    turns = {
        stream.name: per_turn(stream.generator, _own(stream, options))
        for stream in job.streams
        if stream.share is None
    }  # fmt: skip
    left, whole_turn = 1.0 - sum(told.values()), sum(turns.values())
    found = {**told, **{name: left * turn / whole_turn for name, turn in turns.items()}}
    return {stream.name: found[stream.name] for stream in job.streams}


def embedded(spark: SparkSession, job: Job, options: Mapping[str, str]) -> dict[str, Input]:
    """All streams from `format("elastream")`."""
    from elastream.development.embedded_source import stream as read

    given = stream_options(job, options)
    frames = {}
    for stream in job.streams:
        payload = "json" if stream.is_json else "columns"
        frames[stream.name] = read(spark, **given[stream.name], payload=payload)
    # What is made here bears the time that its options say, also if that is still to come.
    return {
        stream.name: _told_apart(frames[stream.name], stream, given[stream.name], "event_time IS NOT NULL")
        for stream in job.streams
    }


def sound(inputs: Mapping[str, Input]) -> dict[str, DataFrame]:
    """What a job works on, by the name of the stream: what its query takes."""
    return {name: given.sound for name, given in inputs.items()}


def rejected(inputs: Mapping[str, Input]) -> DataFrame:
    """What was left out of all streams, as one: `stream`, `partition`, `offset` and `value`, the bytes as they came."""
    from pyspark.sql import functions as sf

    every = [given.rejected.select(sf.lit(name).alias("stream"), "*") for name, given in inputs.items()]
    return reduce(lambda one, other: one.unionByName(other), every)


def checked(frame: DataFrame, stream: Stream, options: Mapping[str, str], *, ahead_s: float = AHEAD_S) -> Input:
    """A frame of messages with JSON as their `value`, or of events as columns: see `Input`.

    A message that Spark's `from_json` cannot read, that lacks what the job needs, or bears a time too far ahead of its
    arrival, is rejected, and the query goes on. All messages and those rejected are counted in its progress, among the
    observed metrics, under the name of the stream. A message has arrived when its `timestamp` says, as Kafka's do, and
    otherwise when its batch began.
    """
    arrival = "message.timestamp" if "timestamp" in frame.columns else "current_timestamp()"
    return _told_apart(frame, stream, options, in_time(arrival, ahead_s))


def _told_apart(frame: DataFrame, stream: Stream, options: Mapping[str, str], timely: str) -> Input:
    from pyspark.sql import functions as sf

    parsed = parse_options(options)
    if _is_typed(frame, parsed.generator.schema):
        # Columns come from the generator itself, which makes nothing but sound rows.
        none = frame.where("false").select("partition", "offset", sf.lit(None).cast("binary").alias("value"))
        return Input(frame, none)
    event = sf.from_json(sf.col("value").cast("string"), parsed.generator.schema, _STRICTLY)
    arrived = ["timestamp"] if "timestamp" in frame.columns else []
    message = sf.struct("partition", "offset", "value", *arrived)
    read = frame.select(event.alias("event"), message.alias("message")).select("event.*", "message")
    # No condition moves below the counting, so the text of an event is read once, whatever is asked of it.
    # The name by which a condition may call an event, if a word of it means something else to one of both engines.
    counted = (
        read.alias("event")
        .withColumn("sound", sf.expr(f"coalesce(({stream.sound}) AND {timely}, false)"))
        .observe(stream.name, sf.count(sf.lit(1)).alias("rows"), sf.count_if(~sf.col("sound")).alias("rejected"))
    )
    left_out = counted.where(~sf.col("sound")).select("message.partition", "message.offset", "message.value")
    return Input(counted.where("sound").drop("sound", "message"), left_out)


def _check_known(job: Job, options: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in known_options(job)}
    for name in options:
        if name.lower() not in known:
            raise UnknownName(f"job {jobs.name_of(job)}: its events have no option", name, known.values())


def known_options(job: Job) -> tuple[str, ...]:
    """Every option that some stream of a job has."""
    return (*OPTIONS, *dict.fromkeys(name for stream in job.streams for name in maker(stream.generator).options))


def _own(stream: Stream, options: Mapping[str, str]) -> dict[str, str]:
    """Those that a stream has, by their own names, with what the job itself says of it."""
    known = {name.lower(): name for name in (*OPTIONS, *maker(stream.generator).options)}
    given = {known[name.lower()]: value for name, value in options.items() if name.lower() in known}
    return {**given, **stream.options, "generator": stream.generator}


def _options(stream: Stream, options: Mapping[str, str], share: float, part: tuple[float, float]) -> dict[str, str]:
    given, first, end = _own(stream, options), *part
    lower = {name.lower(): value for name, value in given.items()}
    if "rows" in given:
        rows = whole(lower, "rows", "", least=0)
        given["rows"] = str(round(rows * end) - round(rows * first))
    if "rowsPerBatch" in given:
        # A stream of which a batch may read nothing would never end.
        given["rowsPerBatch"] = str(max(1, round(whole(lower, "rowsPerBatch", "", least=1) * share)))
    if share != 1.0 and "workload" in given:
        given["workload"] = f"({given['workload']}) * {share!r}"
    return given


def _is_typed(frame: DataFrame, schema: str) -> bool:
    from pyspark.sql.types import StructType

    names: list[str] = StructType.fromDDL(schema).fieldNames()  # type: ignore[attr-defined]
    return frame.columns == names

"""Messages that are no events, among those that are: the query goes on, counts them, and can write them elsewhere."""

import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.events.options import events, parse_options
from elastream.events.wire import MESSAGES, messages
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import Input, checked, rejected, sound, stream_options
from elastream.jobs.job import Job, Result
from elastream.jobs.judging import inputs_of, judge
from elastream.jobs.output import writer, written

pytestmark = pytest.mark.needs("spark")

OPTIONS = {"workload": "constant(300)", "rows": "3000", "partitions": "1", "seed": "5"}
# Far enough apart to be in every batch, close enough to be all inside of the shortest stream.
APART = 25
NO_EVENTS = [
    None,
    b"",
    b"null",
    b"{}",
    b"not JSON",
    b"[1, 2]",
    b'"text"',
    b"\x00",
    b"\xff\xfe\xfd",
    b'{"a":' * 3_000,
    b"[" * 3_000,
]
"""Whatever the stream."""
NEEDED = {
    "ads": ["ad_id", "event_type"],
    "vehicles": ["vehicle", "latitude", "longitude", "speed_kmh"],
    "rides": ["pickup_latitude", "pickup_longitude"],
    "flow": ["id", "lane", "flow"],
    "speed": ["id", "lane", "speed_kmh"],
    "roads": ["id", "flow", "speed_kmh"],
    "sentences": ["line"],
    "events": ["offset"],
    "bids": ["auction", "bidder", "price"],
}
"""Fields without which the job can do nothing, by stream."""
OTHERS = ("aggregation", "deduplicate", "nexmark-q5", "taxi", "traffic", "wordcount")
NO_NUMBERS = ["NaN", "12", "many", 10**30, {"a": 1}, [5], True]
NO_TIMES: list[object] = [
    "1970-01-01T00:00:00Z",
    "2120-01-01T00:00:00Z",
    "999999999-01-01T00:00:00Z",
    "yesterday",
    5,
    10**40,
    None,
]


def spoilt(good: bytes, needed: Sequence[str]) -> list[bytes | None]:
    """A good message in many ways that no job can use."""
    event = json.loads(good)
    bad: list[dict[str, object]] = [{**event, "event_time": time} for time in NO_TIMES]
    for name in ("event_time", *needed):
        bad += [{key: value for key, value in event.items() if key != name}, {**event, name: None}]
        if isinstance(event[name], int | float):
            bad += [{**event, name: value} for value in NO_NUMBERS]
    for name in {"speed_kmh", "flow", "latitude", "pickup_longitude", "price"} & set(needed):
        bad += [{**event, name: -1_000}, {**event, name: 10**18}]
    return [*NO_EVENTS, good[:-1], good[: len(good) // 2], *(json.dumps(row).encode() for row in bad)]


def sent(options: Mapping[str, str], needed: Sequence[str], folder: Path) -> list[bytes | None]:
    """All messages of a stream with bad ones among them, in three files; returns the bad ones."""
    parsed = parse_options(options)
    (batch,) = events(options, 0, parsed.total or 0).combine_chunks().to_batches()
    values: list[bytes | None] = list(messages(batch, parsed.generator.key_column).values)
    bad = spoilt(bytes(values[0] or b""), needed)
    for place, message in enumerate(bad):
        values.insert(1 + place * APART, message)
    write_files(values, folder)
    return bad


def write_files(values: Sequence[bytes | None], folder: Path) -> None:
    """Messages of one partition, in three files."""
    folder.mkdir()
    part = -(-len(values) // 3)
    for number in range(3):
        some = values[number * part : (number + 1) * part]
        offsets = pa.array(range(number * part, number * part + len(some)))
        columns = [pa.nulls(len(some), pa.binary()), pa.array(some, pa.binary()), pa.array([0] * len(some), pa.int32())]
        table = pa.table([*columns, offsets], names=["key", "value", "partition", "offset"])
        pq.write_table(table, folder / f"{number}.parquet")


def ran(spark: Any, rows: Any, result: Result, folder: Path) -> list[Any]:
    """The progress of all batches of a query that has read everything."""
    query = writer(rows, result, "parquet", name="job", folder=folder).trigger(availableNow=True).start()
    query.awaitTermination()
    return list(query.recentProgress)


def read(spark: Any, job: Job, options: Mapping[str, str], folder: Path) -> dict[str, Input]:
    """The streams of a job from files that are shaped as Kafka's messages, one file a batch."""
    given = stream_options(job, options)
    inputs = {}
    for stream in job.streams:
        files = spark.readStream.schema(MESSAGES).option("maxFilesPerTrigger", 1).parquet(str(folder / stream.name))
        inputs[stream.name] = checked(files, stream, given[stream.name])
    return inputs


@pytest.mark.parametrize(
    "name",
    [
        "enrichment",
        "yahoo",
        "nexmark-q1",
        *(pytest.param(name, marks=pytest.mark.full) for name in OTHERS),
    ],
)
def test_bad_messages_change_no_answer_are_counted_and_can_be_kept(name: str, spark: Any, tmp_path: Path) -> None:
    job = jobs.build(name)
    options = {**OPTIONS, **job.result.flush}
    given = stream_options(job, options)
    bad = {stream: sent(given[stream], NEEDED[stream], tmp_path / stream) for stream in given}
    inputs = read(spark, job, options, tmp_path)

    progress = ran(spark, job.query(sound(inputs)), job.result, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence
    for stream, messages_ in bad.items():
        metrics = [batch.observedMetrics[stream] for batch in progress]
        assert sum(found["rejected"] for found in metrics) == len(messages_)
        assert sum(found["rows"] for found in metrics) == (parse_options(given[stream]).total or 0) + len(messages_)

    ran(spark, rejected(inputs), Result(), tmp_path / "side")
    kept = written(Result(), tmp_path / "side")
    assert kept is not None
    found = sorted((row["stream"], row["offset"], row["value"]) for row in kept.to_pylist())
    assert found == sorted((stream, 1 + APART * n, value) for stream in bad for n, value in enumerate(bad[stream]))


@pytest.mark.parametrize("name", ["yahoo", pytest.param("nexmark-q5", marks=pytest.mark.full)])
def test_an_event_from_the_future_is_left_out_before_it_ends_a_window(name: str, spark: Any, tmp_path: Path) -> None:
    job = jobs.build(name)
    # They end an hour ago, but for the one that lets out what waits.
    options = {**OPTIONS, "workload": "constant(50)", "epoch": str(int(time.time()) - 3_660), "flush": "30m"}
    (stream,) = job.streams
    given = stream_options(job, options)[stream.name]
    parsed = parse_options(given)
    (batch,) = events(given, 0, parsed.total or 0).combine_chunks().to_batches()
    values = list(messages(batch, parsed.generator.key_column).values)
    ahead = {**json.loads(values[0]), "event_time": f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"}
    write_files([json.dumps(ahead).encode(), *values], tmp_path / stream.name)

    # Nobody says to those who read when the events began.
    progress = ran(spark, job.query(sound(read(spark, job, OPTIONS, tmp_path))), job.result, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence
    assert sum(one.observedMetrics[stream.name]["rejected"] for one in progress) == 1


def test_events_that_come_as_columns_are_never_rejected(spark: Any) -> None:
    job = jobs.build("pass")
    (stream,) = job.streams
    options = stream_options(job, OPTIONS)[stream.name]
    given = checked(spark.createDataFrame(events(options, 0, 10)), stream, options)
    assert given.sound.count() == 10
    assert rejected({"events": given}).count() == 0

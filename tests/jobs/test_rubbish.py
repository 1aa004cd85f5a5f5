"""Absurd values in every field of every message: no job dies of them, and what it makes of the rest is right."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from elastream.development.kafka.topic_reader import Message
from elastream.events.options import parse_options
from elastream.jobs.catalogue import jobs
from elastream.jobs.event_times import AHEAD_S
from elastream.jobs.inputs import checked, sound, stream_options
from elastream.jobs.job import Job, Stream
from elastream.jobs.judging import differences, judge
from elastream.jobs.topic_rows import find_events
from tests.jobs.rubbish import arrived, every_field, good, odd_spellings, rubbish, spell_all
from tests.spark.driving import INTERPRETED

pytestmark = pytest.mark.needs("spark")

# A smaller case would cost a query for each that is tried; what failed is told with its input.
FEW = settings(
    max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=set(Phase) - {Phase.shrink}
)
MANY = settings(FEW, max_examples=20)
LOAD = {"workload": "constant(10)"}
OURS = [name for name in jobs.names() if name not in jobs.presets()]
# Spark cannot run it over a table.
IN_BATCHES_ALONE = "deduplicate"
NAMES = [name for name in OURS if name != IN_BATCHES_ALONE]
STREAMS: dict[str, tuple[Job, Stream]] = {
    stream.name: (jobs.build(name), stream) for name in OURS for stream in jobs.build(name).streams
}


@pytest.fixture(scope="module", autouse=True)
def interpreted(spark: Any) -> None:
    """For so few rows compiling a query takes longer than running it."""
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    # Starts what a processor's state asks for, which no table does.
    assert spark.streams.active == []


def frame(spark: Any, some_messages: Sequence[Message]) -> Any:
    """As Kafka's source has them."""
    columns = {
        "value": pa.array([one.value for one in some_messages], pa.binary()),
        "partition": pa.array([one.partition for one in some_messages], pa.int32()),
        "offset": pa.array([one.offset for one in some_messages], pa.int64()),
        "timestamp": pa.array([one.stamp_ms * 1_000 for one in some_messages], pa.timestamp("us", "UTC")),
    }
    return spark.createDataFrame(pa.table(columns))


def check_rows(spark: Any, job: Job, values: Mapping[str, list[bytes]]) -> None:
    """The job gives the rows that DuckDB gives of the events that another reader finds among the messages."""
    options, inputs, tables = stream_options(job, LOAD), {}, {}
    for stream in job.streams:
        sent, given_options = arrived(values[stream.name]), options[stream.name]
        inputs[stream.name] = checked(frame(spark, sent), stream, given_options)
        tables[stream.name], _ = find_events(stream, parse_options(given_options), sent, AHEAD_S)
    verdict = judge(job, tables, job.query(sound(inputs)).toArrow())
    assert verdict.right, verdict.sentence


@pytest.mark.parametrize("name", NAMES)
def test_absurd_values_in_every_field_kill_no_job_and_change_no_other_row(name: str, spark: Any) -> None:
    job = jobs.build(name)
    options = stream_options(job, LOAD)
    values = {}
    for stream in job.streams:
        events = good(options[stream.name], 40)
        values[stream.name] = [*spell_all(events), *every_field(events)]
    check_rows(spark, job, values)


@FEW
@given(name=some.sampled_from(NAMES), data=some.data())
def test_whatever_comes_the_rows_are_those_of_the_events_in_it(name: str, data: Any, spark: Any) -> None:
    job = jobs.build(name)
    options = stream_options(job, LOAD)
    check_rows(spark, job, {stream.name: data.draw(rubbish(options[stream.name], 80)) for stream in job.streams})


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
@MANY
@given(data=some.data())
def test_whatever_comes_every_job_is_right(name: str, data: Any, spark: Any) -> None:
    job = jobs.build(name)
    options = stream_options(job, LOAD)
    check_rows(spark, job, {stream.name: data.draw(rubbish(options[stream.name], 100)) for stream in job.streams})


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_rejected_is_what_another_reader_rejects(name: str, spark: Any) -> None:
    job, stream = STREAMS[name]
    options = stream_options(job, LOAD)[name]
    events = good(options, 40)
    sent = arrived([*spell_all(events), *every_field(events), *odd_spellings(events[0])])
    read = checked(frame(spark, sent), stream, options)
    rows, others = find_events(stream, parse_options(options), sent, AHEAD_S)
    assert sorted(read.rejected.toArrow()["offset"].to_pylist()) == [one.offset for one in others]
    assert differences(rows, read.sound.toArrow()) == (0, 0)
    # None of those that are sound, and every one whose time cannot be.
    assert others[0].offset >= 40
    assert len(others) >= 20

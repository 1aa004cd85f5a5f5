import json
import math
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from elastream.core.errors import BadInput, UnknownName
from elastream.events.options import events
from elastream.events.wire import message_batch, messages

WAVE = {"workload": "cosine(1k..9k, period=60s, noise=500)", "seed": "7", "hotShare": "0.2", "partitions": "3"}


def batch_of(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def spelt(row: dict[str, Any]) -> dict[str, Any]:
    """A row of Arrow as its JSON is to read."""
    return {
        name: value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value
        for name, value in row.items()
    }


def test_a_value_is_the_event_as_one_json_object() -> None:
    made = events(WAVE, 40_000, 45_000)
    (batch,) = made.combine_chunks().to_batches()
    keys, values = messages(batch, "key")
    assert [json.loads(value) for value in values] == [spelt(row) for row in made.to_pylist()]
    assert keys == [str(key).encode() for key in made.column("key").to_pylist()]
    assert all(list(json.loads(value)) == made.schema.names for value in values[:10])
    assert 80 <= sum(map(len, values)) / len(values) <= 110


def test_messages_as_columns_are_the_same_bytes_at_the_places_a_topic_would_have_them_at() -> None:
    offsets = range(1, 60, 3)
    (batch,) = events(WAVE, 0, 60).combine_chunks().to_batches()
    some = batch.take(pa.array(offsets))
    found = message_batch(some, "key", offsets, 3)
    assert found.column("value").to_pylist() == list(messages(some, "key").values)
    assert found.column("key").to_pylist() == list(messages(some, "key").keys)
    assert set(found.column("partition").to_pylist()) == {1}
    assert found.column("offset").to_pylist() == list(range(20))
    assert message_batch(some, None, offsets, 3).column("key").null_count == 20


def test_the_bytes_are_these() -> None:
    (batch,) = events({"workload": "constant(8)", "seed": "1"}, 3, 5).to_batches()
    assert messages(batch, "key").values == [
        b'{"offset":3,"partition":3,"event_time":"2020-01-01T00:00:00.500000Z","key":482,"value":729}',
        b'{"offset":4,"partition":0,"event_time":"2020-01-01T00:00:00.625000Z","key":295,"value":247}',
    ]


def test_the_bytes_of_an_event_do_not_depend_on_what_is_made_with_it() -> None:
    (many,) = events(WAVE, 0, 10_000).combine_chunks().to_batches()
    (few,) = events(WAVE, 7_000, 7_010).combine_chunks().to_batches()
    assert messages(few, "key").values == messages(many, "key").values[7_000:7_010]


def test_every_kind_of_column_reads_back() -> None:
    texts = ["plain", 'quo"te', "back\\slash", "line\nbreak \x01", "Grüße 你好", "", None, 'quo"te']
    batch = batch_of(
        text=pa.array(texts),
        number=pa.array([0.1, 1.0, -2.5e300, 1e-7, None, 3.0, 4.0, 5.0]),
        whole=pa.array([0, -1, 2**63 - 1, None, 4, 5, 6, 7]),
        small=pa.array(range(8), type=pa.int16()),
        flag=pa.array([True, False, None, True, True, True, True, True]),
        at=pa.array([datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=UTC), None, *[datetime(2026, 1, 2, tzinfo=UTC)] * 6]),
    )
    assert [json.loads(value) for value in messages(batch, None).values] == [spelt(row) for row in batch.to_pylist()]


def test_times_are_utc_with_microseconds_whatever_their_zone_and_unit() -> None:
    noon = 1_577_880_000
    batch = batch_of(
        seconds=pa.array([noon], type=pa.timestamp("s")),
        berlin=pa.array([noon * 1_000], type=pa.timestamp("ms", tz="Europe/Berlin")),
    )
    expected = "2020-01-01T12:00:00.000000Z"
    assert json.loads(messages(batch, None).values[0]) == {"seconds": expected, "berlin": expected}
    assert messages(batch, "berlin").keys == [expected.encode()]


def test_a_generator_without_a_key_gives_messages_without_one() -> None:
    assert messages(batch_of(a=pa.array([1, 2])), None).keys == [None, None]


def test_what_json_cannot_say_is_refused() -> None:
    with pytest.raises(BadInput, match="column 'a' holds a number that is not finite"):
        messages(batch_of(a=pa.array([1.0, math.nan])), None)
    with pytest.raises(BadInput, match="column 'a' is of type list"):
        messages(batch_of(a=pa.array([[1]])), None)
    with pytest.raises(UnknownName, match="the key is to be column 'kee'; did you mean 'key'"):
        messages(batch_of(key=pa.array([1])), "kee")

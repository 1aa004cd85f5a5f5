"""JSON text read without Spark."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from elastream.events.options import events, parse_options
from elastream.events.wire import messages
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import stream_options
from elastream.jobs.json_rows import read_events, read_results

FIELDS = pa.schema(
    {
        "id": pa.int64(),
        "small": pa.int32(),
        "price": pa.float64(),
        "name": pa.string(),
        "at": pa.timestamp("us", tz="UTC"),
        "sold": pa.bool_(),
    }
)
NOTHING = dict.fromkeys(FIELDS.names)


@pytest.mark.parametrize("name", [name for name in jobs.names() if name not in jobs.presets()])
def test_generated_events_are_read_as_they_were_made(name: str) -> None:
    for given in stream_options(jobs.build(name), {"workload": "constant(99)", "seed": "3"}).values():
        (batch,) = events(given, 0, 500).combine_chunks().to_batches()
        read = read_events(messages(batch, parse_options(given).generator.key_column).values, batch.schema)
        assert read.to_pylist() == batch.to_pylist()


@pytest.mark.parametrize(
    "value",
    [None, b"", b"null", b"{}", b"not JSON", b"[1, 2]", b'"text"', b"7", b"\xff\xfe", b'{"a":' * 3_000, b"[" * 100_000],
)
def test_what_is_no_object_is_a_row_of_nothing(value: bytes | None) -> None:
    assert read_events([value], FIELDS).to_pylist() == [NOTHING]


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("id", 2**63 - 1, 2**63 - 1),
        ("id", 2**63, None),
        ("id", "12", None),
        ("id", 1.0, None),
        ("id", True, None),
        ("id", {"a": 1}, None),
        ("small", 2**31, None),
        ("small", -(2**31), -(2**31)),
        ("price", 3, 3.0),
        ("price", 0.1, 0.1),
        ("price", "0.1", None),
        ("price", True, None),
        ("price", 10**400, float("inf")),
        ("name", "\u00e4 \u2028 \\", "\u00e4 \u2028 \\"),
        ("sold", True, True),
        ("sold", 1, None),
        ("at", "2026-03-01T12:00:00.000001Z", datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC)),
        ("at", "2026-03-01T12:00:00+02:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("at", "2026-03-01T12:00:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("at", 86_400, datetime(1970, 1, 2, tzinfo=UTC)),
        ("at", " 2026-3-1 9:5:7.1234567", datetime(2026, 3, 1, 9, 5, 7, 123456, tzinfo=UTC)),
        ("at", "2026-03", datetime(2026, 3, 1, tzinfo=UTC)),
        ("at", "2026-03-01T12:00:00GMT+1", datetime(2026, 3, 1, 11, tzinfo=UTC)),
        ("at", "2026-03-01T12:00:00 Etc/GMT-5", datetime(2026, 3, 1, 7, tzinfo=UTC)),
        ("at", "2026-03-01T12:00Z", None),
        ("at", "20260301T120000Z", None),
        ("at", "2026-W09-7", None),
        ("at", "2026-02-30", None),
        ("at", "2026-03-01T12:00:00+18:01", None),
        ("at", "2026-03-01T12:00:00Mars/Crater", None),
        ("at", "999999999-01-01T00:00:00Z", None),
        ("at", "yesterday", None),
        ("at", 10**40, None),
        ("at", True, None),
    ],
)
def test_a_value_of_another_type_is_none(name: str, value: object, read: object) -> None:
    row = {"id": 1, name: value}
    assert read_events([json.dumps(row).encode()], FIELDS).to_pylist() == [{**NOTHING, "id": 1, name: read}]


def test_a_number_that_is_too_large_is_text_as_java_has_it() -> None:
    values = [b'{"name": 1e400}', b'{"name": [-1e400]}']
    assert [row["name"] for row in read_events(values, FIELDS).to_pylist()] == ['"Infinity"', '["-Infinity"]']


def test_results_come_from_their_own_digits() -> None:
    schema = pa.schema(
        {
            "price": pa.decimal128(38, 6),
            "mean": pa.float64(),
            "count": pa.decimal128(38, 0),
            "until": pa.timestamp("us", tz="UTC"),
            "name": pa.string(),
            "sold": pa.bool_(),
        }
    )
    text = (
        b'{"price":123456789012345678901.123456,"mean":0.30000000000000004,"count":7,'
        b'"until":"2026-03-01T12:00:00.000001Z","name":null,"sold":false}'
    )
    assert read_results([text], schema).to_pylist() == [
        {
            "price": Decimal("123456789012345678901.123456"),
            "mean": 0.1 + 0.2,
            "count": Decimal(7),
            "until": datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC),
            "name": None,
            "sold": False,
        }
    ]


def test_results_may_hold_lists_and_structures() -> None:
    schema = pa.schema({"pairs": pa.list_(pa.struct({"id": pa.int64(), "mean": pa.float64()})), "n": pa.int64()})
    row = {"pairs": [{"id": 1, "mean": 0.5}, {"id": 2, "mean": None}], "n": 2}
    assert read_results([json.dumps(row).encode()], schema).to_pylist() == [row]


@pytest.mark.parametrize("text", [None, b"", b"null", b"[1]", b"{", b'{"n": "many"}'])
def test_what_is_no_result_is_an_error(text: bytes | None) -> None:
    with pytest.raises((ValueError, pa.ArrowException)):
        read_results([text], pa.schema({"n": pa.int64()}))

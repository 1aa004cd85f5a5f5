"""Events as the keys and values of Kafka messages: JSON text, whole batches at a time.

The same offsets give the same bytes: the fields stand in the order of the columns, numbers are written the shortest
way, times as ISO 8601 in UTC with microseconds.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, UnknownName

MESSAGES = "key BINARY, value BINARY, partition INT, offset BIGINT"
"""The columns of messages in Spark, named as the Kafka source names them."""

# What JSON does not allow inside of a text as it is.
_TO_ESCAPE = r'[\x00-\x1f"\\]'


class Messages(NamedTuple):
    """One batch, ready to be sent. Without keys there are no keys, not empty ones."""

    keys: Sequence[bytes] | Sequence[None]
    values: Sequence[bytes]


def messages(batch: pa.RecordBatch, key_column: str | None) -> Messages:
    """One JSON object per event, and its key as text."""
    if key_column is None:
        return Messages([None] * batch.num_rows, _listed(objects(batch)))
    if key_column not in batch.schema.names:
        raise UnknownName("wire: the key is to be column", key_column, batch.schema.names)
    return Messages(_listed(_key_text(batch, key_column)), _listed(objects(batch)))


def message_batch(batch: pa.RecordBatch, key_column: str | None, offsets: range, partitions: int) -> pa.RecordBatch:
    """The same as columns: what a reader of the topic would find, byte by byte."""
    count = batch.num_rows
    keys = pa.nulls(count, pa.binary()) if key_column is None else _key_text(batch, key_column).cast(pa.binary())
    numbers = np.arange(offsets.start, offsets.stop, offsets.step, dtype=np.int64)
    # Message m of a partition is event m * partitions + partition.
    columns = [keys, objects(batch).cast(pa.binary()), (numbers % partitions).astype(np.int32), numbers // partitions]
    return pa.RecordBatch.from_arrays(
        [pa.array(column) if isinstance(column, np.ndarray) else column for column in columns],
        names=["key", "value", "partition", "offset"],
    )


def objects(batch: pa.RecordBatch) -> pa.Array:
    """The JSON text of every row."""
    pieces: list[pa.Array | str] = []
    literal = "{"
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        before, text, after = _json_text(name, column)
        if column.null_count:
            # A null is a word: what stands around a value must not stand around it.
            before, text, after = "", pc.fill_null(_joined(before, text, after), "null"), ""
        # All that is the same in every row between two values is one piece: pieces are what a row costs.
        pieces += [f"{literal}{json.dumps(name)}:{before}", text]
        literal = f"{after},"
    return _joined(*pieces, f"{literal.removesuffix(',')}}}")


def _json_text(name: str, column: pa.Array) -> tuple[str, pa.Array, str]:
    """The values of a column as text, and what stands before and after each."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return '"', _iso_text(column), 'Z"'
    if pa.types.is_string(kind):
        return '"', _escaped(column), '"'
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(column), min_count=0).as_py():
        raise BadInput(f"wire: column {name!r} holds a number that is not finite; JSON has none")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return "", column.cast(pa.string()), ""
    raise BadInput(f"wire: column {name!r} is of type {kind}; known are numbers, booleans, text and times")


def _key_text(batch: pa.RecordBatch, name: str) -> pa.Array:
    column = batch.column(name)
    return _joined(_iso_text(column), "Z") if pa.types.is_timestamp(column.type) else column.cast(pa.string())


def _iso_text(column: pa.Array) -> pa.Array:
    """`2020-01-01T00:00:00.000000`. A cast is several times faster than strftime and always has six digits."""
    # A time without a zone is in UTC here, as everywhere in Elastream; a cast between the two keeps the number.
    return pc.utf8_replace_slice(column.cast(pa.timestamp("us")).cast(pa.string()), 10, 11, "T")


def _joined(*pieces: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*pieces, "")


def _escaped(column: pa.Array) -> pa.Array:
    """Text that needs no escaping, which is nearly all, is left alone; each different one that does is done once."""
    needs = pc.fill_null(pc.match_substring_regex(column, _TO_ESCAPE), False)
    if not pc.any(needs, min_count=0).as_py():
        return column
    found = pc.filter(column, needs).dictionary_encode()
    escaped = pa.array([json.dumps(text, ensure_ascii=False)[1:-1] for text in found.dictionary.to_pylist()])
    return pc.replace_with_mask(column, needs, escaped.take(found.indices))


def _listed(text: pa.Array) -> list[bytes]:
    listed: list[bytes] = text.cast(pa.binary()).to_pylist()
    return listed

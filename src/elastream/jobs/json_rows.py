"""Rows of JSON text, read without Spark: events as strictly as it reads them, and results as they were written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.errors import BadInput
from elastream.jobs.json_times import parse_time_us

_MICROSECONDS = 1_000_000


def read_events(values: Sequence[bytes | None], schema: pa.Schema) -> pa.Table:
    """A row for every message. What is no object, or no value of the field's type, is null."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    objects = [_object(decoder, value) for value in values]
    columns = []
    for field in schema:
        convert = _converter(field.name, field.type)
        given = (row.get(field.name) for row in objects)
        columns.append(pa.array([None if one is None else convert(one) for one in given], field.type))
    return pa.table(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))


def read_results(values: Sequence[bytes | None], schema: pa.Schema) -> pa.Table:
    """Rows as Spark's `to_json` writes them, without a loss: numbers and times come from their own digits.

    ValueError if one is not of that form.
    """
    is_flat = not any(pa.types.is_nested(field.type) for field in schema)
    objects = [json.loads(value or b"", parse_float=str if is_flat else None) for value in values]
    if not all(isinstance(row, dict) for row in objects):
        raise ValueError("it is no JSON object")
    columns = []
    for field in schema:
        given = [row.get(field.name) for row in objects]
        if pa.types.is_nested(field.type):
            columns.append(pa.array(given, field.type))
        else:
            columns.append(pa.array(list(map(_text, given)), pa.string()).cast(field.type))
    return pa.table(columns, schema=schema)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _object(decoder: json.JSONDecoder, value: bytes | None) -> dict[str, Any]:
    """What a message says, and nothing if it says nothing. Spark, too, reads no further than the first value."""
    try:
        found, _ = decoder.raw_decode((value or b"").decode("utf-8", "replace").lstrip(" \t\r\n"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _converter(name: str, kind: pa.DataType) -> Callable[[Any], Any]:
    """From a value of JSON to one of a column, or None if it is not of its type."""
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1)
        return lambda value: value if type(value) is int and -most <= value < most else None
    if pa.types.is_floating(kind):
        return lambda value: _float(value) if type(value) in (int, float) else None
    if pa.types.is_string(kind):
        # Spark takes whatever stands there as its text.
        return lambda value: _whole(value) if isinstance(value, str) else _written(value)
    if pa.types.is_boolean(kind):
        return lambda value: value if isinstance(value, bool) else None
    if pa.types.is_timestamp(kind):
        return _time_us
    raise BadInput(f"field {name}: values of type {kind} cannot be read from JSON")


def _whole(text: str) -> str:
    """Half of a sign is none."""
    return text.encode("utf-8", "replace").decode()


def _written(value: object) -> str:
    """JSON as Java writes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_written(name)}:{_written(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, str):
        return json.dumps(_whole(value), ensure_ascii=False)
    if isinstance(value, float) and math.isinf(value):
        # More than a number can be: Java has a word for it, and quotes that.
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if isinstance(value, float) and value and not 1e-3 <= abs(value) < 1e7:
        digits, _, exponent = f"{Decimal(repr(value)):E}".partition("E")
        return f"{digits if '.' in digits else f'{digits}.0'}E{int(exponent)}"
    return json.dumps(value)


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _time_us(value: object) -> int | None:
    """Text as Spark reads it; a whole number is seconds since 1970."""
    if isinstance(value, str):
        return parse_time_us(value)
    if type(value) is int and -(2**63) <= value * _MICROSECONDS < 2**63:
        return value * _MICROSECONDS
    return None

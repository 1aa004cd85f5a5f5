"""The kinds of values in a plan: each is read where it stands, and what is refused is an error of that place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from elastream.config.guards import guard_key, guard_setting
from elastream.core.bounds import parse_bounds
from elastream.core.callform import parse_call
from elastream.core.errors import BadInput
from elastream.core.observation import Trigger
from elastream.core.quantity import Quantity, parse_quantity
from elastream.core.slo import SHARE, Slo
from elastream.experiments.experiment import NamedSettings
from elastream.experiments.named_settings import choose_guards, parse_faults, parse_policy, read_arguments
from elastream.workloads import parse_workload

PROSE = {"type": "string"}


@dataclass(frozen=True, slots=True)
class One:
    """Of a field: a value that a function reads. What it refuses is an error of that place."""

    read: Callable[[object], object]
    kinds: tuple[str, ...] = ("string",)
    """As JSON calls them."""

    def validate(self, value: object) -> object:
        """What was read."""
        try:
            return self.read(value)
        except BadInput as wrong:
            raise ValueError(str(wrong)) from None

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        return {"type": list(self.kinds)}


@dataclass(frozen=True, slots=True)
class Axis:
    """Of a field: one value, a list of them, or a mapping that names them; read as label -> value.

    With `sets`, a value is itself a list, so that a list is one value and only a mapping names several.
    """

    one: One
    sets: bool = False

    def spread(self, value: object) -> dict[str, object]:
        """Label -> value as it is written."""
        if isinstance(value, Mapping):
            found = {str(label): part for label, part in value.items()}
        elif self.sets:
            found = {", ".join(map(label_of, value if isinstance(value, list) else [value])) or "none": value}
        else:
            items = value if isinstance(value, list) else [value]
            found = {label_of(item): item for item in items}
            if len(found) < len(items):
                raise ValueError("a value stands twice in it")
        if not found:
            raise ValueError("it is empty; leave the key out, or name at least one")
        return found

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        value = core_schema.no_info_plain_validator_function(self.one.validate)
        labelled = core_schema.no_info_before_validator_function(
            self.spread, core_schema.dict_schema(core_schema.str_schema(), value)
        )
        return core_schema.no_info_after_validator_function(_refuse_equal, labelled)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        one: dict[str, object] = {"type": list(self.one.kinds)}
        several: dict[str, object] = {"type": "array", "items": one}
        value = {"anyOf": [one, several]} if self.sets else one
        named = {"type": "object", "additionalProperties": value, "minProperties": 1}
        return {"anyOf": [one, several, named]}


def _refuse_equal(found: dict[str, object]) -> dict[str, object]:
    """Two labels for one value would be one experiment that counts twice."""
    for (first, value), (second, other) in combinations(found.items(), 2):
        if value == other:
            raise ValueError(f"{first} and {second} are the same; leave one of them out")
    return found


def label_of(value: object) -> str:
    """How a value that nobody has named is called: as it was written."""
    if isinstance(value, bool):
        return str(value).lower()
    return "..".join(map(str, value)) if isinstance(value, list) else " ".join(str(value).split())


def read_text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"found {value!r}; it must be a text")
    return value.strip()


def read_duration(value: object) -> float:
    """Seconds, from `90s`, `2h` or a plain number."""
    return _read_above_0(value, "%", "a duration longer than 0, such as 90s, 140m or 2h")


def read_share(value: object) -> float:
    """A share above 0, from `80%` or 0.8."""
    return _read_above_0(value, "s", "a share above 0, such as 80% or 0.8")


def _read_above_0(value: object, other_unit: str, wanted: str) -> float:
    quantity = None
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        with suppress(BadInput):
            quantity = parse_quantity(str(value))
    if quantity is None or quantity.unit == other_unit or quantity.value <= 0:
        raise BadInput(f"found {value!r}; it must be {wanted}")
    return quantity.value


def read_count(value: object) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(f"found {value!r}; it must be a whole number of at least 1")
    return value


def read_factor(value: object) -> float:
    """A number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise BadInput(f"found {value!r}; it must be a number above 0")
    return float(value)


def read_capacity(value: object) -> float | None:
    """Rows/s that a slot is limited to; None for `real`, where work is not limited."""
    if value == "real":
        return None
    try:
        return read_factor(value)
    except BadInput:
        raise BadInput(f"found {value!r}; it must be a number above 0, or real") from None


def read_slo(value: object) -> Slo:
    """`30s`, or `95% within 30s`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Slo(delay_s=read_duration(value))
    share, within, delay = read_text(value).rpartition("within")
    promised = read_share(share.strip()) if within else SHARE
    if promised > 1:
        raise BadInput(f"found {value!r}; a share is at most 100%")
    return Slo(delay_s=read_duration(delay.strip()), share=promised)


def read_trigger(value: object) -> Trigger:
    """Time between batches, or `asap`."""
    return Trigger(interval_s=None if value == "asap" else read_duration(value))


def read_bounds(value: object) -> tuple[int, int]:
    """`1..12`."""
    return parse_bounds(value, "executors")


def read_range(value: object) -> tuple[float, float]:
    """`0.5..1`, the ends of what a value is drawn from."""
    low, sign, high = str(value).partition("..")
    try:
        ends = parse_quantity(low), parse_quantity(high)
    except BadInput:
        ends = None
    if not sign or ends is None or not ends[0].value < ends[1].value:
        raise BadInput(f"found {value!r}; it must be a range such as 0.5..1")
    return ends[0].value, ends[1].value


@dataclass(frozen=True, slots=True)
class SettingSpace:
    """Where a setting is looked for: between two ends, or among choices."""

    ends: tuple[Quantity, Quantity] | None = None
    choices: tuple[str | int | float | bool, ...] = ()


def read_space(value: object) -> SettingSpace:
    """`10s..120s`, or a list of choices."""
    if isinstance(value, list):
        if len(value) < 2 or not all(isinstance(one, str | int | float) for one in value):
            raise BadInput(f"found {value!r}; it must be a range such as 10s..120s, or a list of two values or more")
        if len({str(one) for one in value}) < len(value):
            raise BadInput("a value stands twice in it")
        return SettingSpace(choices=tuple(value))
    low, sign, high = str(value).partition("..")
    try:
        ends = parse_quantity(low), parse_quantity(high)
    except BadInput:
        ends = None
    if not sign or ends is None or ends[0].unit != ends[1].unit or not ends[0].value < ends[1].value:
        raise BadInput(f"found {value!r}; it must be a range such as 10s..120s, or a list of two values or more")
    return SettingSpace(ends=ends)


def read_policy(value: object) -> NamedSettings:
    """`ds2(headroom=1.2)`."""
    return parse_policy(read_text(value))


def read_faults(value: object) -> tuple[NamedSettings, ...]:
    """What goes wrong in one run."""
    return parse_faults(_texts(value))


def read_guards(value: object) -> tuple[NamedSettings, ...]:
    """What stands around the policy in one run."""
    found: dict[str, dict[str, object]] = {}
    for text in _texts(value):
        call = parse_call(text, what="guard")
        if guard_key(call.name) in found:
            raise BadInput(f"guard {call.name} is given twice")
        pairs = read_arguments(call).items()
        found[guard_key(call.name)] = dict(guard_setting(call.name, key, setting) for key, setting in pairs)
    return choose_guards(found)


def read_workload(value: object) -> str:
    """A load as text, of which the files need not be there."""
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else read_text(value)
    parse_workload(text)
    return text


def _texts(value: object) -> list[str]:
    return [read_text(item) for item in (value if isinstance(value, list) else [value])]


Texts = Annotated[
    list[str],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [PROSE, {"type": "array", "items": PROSE}]}),
]
"""One text, or a list of them."""

Duration = Annotated[float, One(read_duration, ("string", "number"))]
Share = Annotated[float, One(read_share, ("string", "number"))]
Factor = Annotated[float, One(read_factor, ("number",))]
Capacity = Annotated[float | None, One(read_capacity, ("number", "string"))]
Count = Annotated[int, One(read_count, ("integer",))]
ValueRange = Annotated[tuple[float, float], One(read_range)]
Space = Annotated[SettingSpace, One(read_space, ("string", "array"))]
Bounds = Annotated[tuple[int, int], One(read_bounds, ("string", "integer"))]
TriggerTime = Annotated[Trigger, One(read_trigger, ("string", "number"))]
Promise = Annotated[Slo, One(read_slo, ("string", "number"))]

TextAxis = Annotated[dict[str, str], Axis(One(read_text))]
WorkloadAxis = Annotated[dict[str, str], Axis(One(read_workload, ("string", "number")))]
SloAxis = Annotated[dict[str, Slo], Axis(One(read_slo, ("string", "number")))]
PolicyAxis = Annotated[dict[str, NamedSettings], Axis(One(read_policy))]
FaultsAxis = Annotated[dict[str, tuple[NamedSettings, ...]], Axis(One(read_faults), sets=True)]
GuardsAxis = Annotated[dict[str, tuple[NamedSettings, ...]], Axis(One(read_guards), sets=True)]
BoundsAxis = Annotated[dict[str, tuple[int, int]], Axis(One(read_bounds, ("string", "integer")))]
CountAxis = Annotated[dict[str, int], Axis(One(read_count, ("integer",)))]
TriggerAxis = Annotated[dict[str, Trigger], Axis(One(read_trigger, ("string", "number")))]
DurationAxis = Annotated[dict[str, float], Axis(One(read_duration, ("string", "number")))]

Labels = Annotated[
    dict[str, list[str]],
    BeforeValidator(lambda value: _read_labels(value)),
    WithJsonSchema({"type": "object", "minProperties": 1}),
]
"""Axis -> one label of it, or several."""


def _read_labels(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    several = {key: found if isinstance(found, list) else [found] for key, found in value.items()}
    return {str(key): [label_of(item) for item in found] for key, found in several.items()}

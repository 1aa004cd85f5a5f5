"""A published model with other numbers: `heron-wordcount(count-hot_share=50%, restart-grow=10s)`.

A setting is the name of a part, a dash, and what is other about it. Parts are operators, pools and logs by their names,
`restart`, `measuring` and `places`. Where an operator and its pool share a name, who has such a setting is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from elastream.core.callform import Call, Range
from elastream.core.errors import BadInput, UnknownName
from elastream.registry import read_settings
from elastream.registry.hints import hints, is_sequence
from elastream.registry.settings import field_named
from elastream.simulator.continuous.model import (
    DataflowModel,
    LogModel,
    MeasuringModel,
    OperatorModel,
    PlacesModel,
    RestartModel,
)
from elastream.simulator.pool_model import PoolModel


class ModelPart(NamedTuple):
    """Something in a model that has settings."""

    name: str
    cls: type
    value: Any


def change_model(model: DataflowModel, call: Call, text: str) -> DataflowModel:
    """The model with what a call says, named by the text that says it; BadInput where it makes no sense."""
    label = f"model {model.name}"
    changes: dict[tuple[str, type], dict[str, object]] = {}
    for argument in call.arguments:
        if argument.key is None:
            raise BadInput(f"{label}: column {argument.column}: a value without a name; write it as part-setting=value")
        if isinstance(argument.value, Range | Call):
            raise BadInput(f"{label}: {argument.key}: it must be one value")
        part, setting = _find(model, argument.key, label)
        value: object = argument.value
        if isinstance(value, str) and is_sequence(hints(part.cls)[setting]):
            value = [item.strip() for item in value.split(",")]
        changes.setdefault((part.name, part.cls), {})[setting] = value
    found = model
    for part in _parts(model):
        if given := changes.get((part.name, part.cls)):
            found = _put(found, part, replace(part.value, **read_settings(part.cls, given, f"{label}: {part.name}")))
    return replace(found, name=" ".join(text.split()))


def _parts(model: DataflowModel) -> Iterator[ModelPart]:
    yield from (ModelPart(operator.name, OperatorModel, operator) for operator in model.operators)
    yield from (ModelPart(name, PoolModel, pool) for name, pool in model.pools.items())
    yield from (ModelPart(log.name, LogModel, log) for log in model.logs)
    yield ModelPart("restart", RestartModel, model.restart)
    yield ModelPart("measuring", MeasuringModel, model.measuring)
    if model.places is not None:
        yield ModelPart("places", PlacesModel, model.places)


def _find(model: DataflowModel, key: str, label: str) -> tuple[ModelPart, str]:
    """The part that a setting belongs to, and what it is called there."""
    parts = [part for part in _parts(model) if key.startswith(f"{part.name}-")]
    if not parts:
        raise UnknownName(f"{label} has no part", key.partition("-")[0], [part.name for part in _parts(model)])
    wrong: UnknownName | None = None
    for part in sorted(parts, key=lambda part: -len(part.name)):
        setting = key.removeprefix(f"{part.name}-")
        try:
            return part, field_named(part.cls, setting, f"{label}: {part.name}")
        except UnknownName as error:
            wrong = wrong or error
    assert wrong is not None
    raise wrong


def _put(model: DataflowModel, part: ModelPart, value: Any) -> DataflowModel:
    if part.cls is OperatorModel:
        return replace(model, operators=tuple(value if one.name == part.name else one for one in model.operators))
    if part.cls is PoolModel:
        return replace(model, pools={**model.pools, part.name: value})
    if part.cls is LogModel:
        return replace(model, logs=tuple(value if one.name == part.name else one for one in model.logs))
    return replace(model, **{part.name: value})

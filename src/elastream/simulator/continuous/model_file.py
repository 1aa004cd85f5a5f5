"""Models of continuous jobs from YAML. The keys are the fields of `dag`; a file with `operators` is such a job.

name: words
logs: [{name: sentences, partitions: 12}]
operators:
  - {name: split, after: sentences, rate_rps: 20k}
  - {name: count, after: {split: 20}, rate_rps: 200k, buffer: 100k, hot_share: 0.1}
pool: {min_workers: 1, max_workers: 36}
restart: {grow: 30s, shrink: 15s, checkpoint: 10s}
base_latency: 1s
slo: 30s
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from elastream.core.errors import BadInput
from elastream.registry import read_settings
from elastream.registry.settings import construct
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    MeasuringModel,
    OperatorModel,
    PlacesModel,
    RestartModel,
)
from elastream.simulator.pool_model import PoolModel
from elastream.simulator.yaml_fields import as_mapping, built, check_keys, named_items, read_slo

_PARTS = {"restart": RestartModel, "measuring": MeasuringModel, "places": PlacesModel}
_PLAIN = ("cluster_workers", "base_latency", "base_latency_s", "step", "step_s", "stops_sources_until")
_KEYS = ("name", "doc", "logs", "operators", "pool", "pools", "slo", *_PARTS, *_PLAIN)


def dataflow(content: Mapping[str, object], where: str, name: str) -> DataflowModel:
    """The job that the content of a file describes, or BadInput that says where it goes wrong."""
    check_keys(content, _KEYS, where)
    operators = tuple(_operator(*one) for one in named_items(content.get("operators"), where, "operator"))
    parts: dict[str, Any] = {
        key: built(cls, content[key], f"{where}: {key}") for key, cls in _PARTS.items() if key in content
    }
    if content.get("slo") is not None:
        parts["slo"] = read_slo(content["slo"], f"{where}: slo")
    plain = read_settings(DataflowModel, {key: content[key] for key in _PLAIN if key in content}, where)
    logs = tuple(built(LogModel, *one) for one in named_items(content.get("logs"), where, "log"))
    pools = _pools(content, operators, where)
    try:
        return DataflowModel(
            name=str(content.get("name") or name),
            doc=str(content.get("doc") or ""),
            logs=logs,
            operators=operators,
            pools=pools,
            **{**plain, **parts},
        )
    except BadInput as wrong:
        raise BadInput(f"{where}: {wrong}") from None


def _operator(item: object, where: str) -> OperatorModel:
    given = dict(as_mapping(item, where, "an operator has a name and settings"))
    after = given.pop("after", None)
    settings = read_settings(OperatorModel, given, where)
    return construct(OperatorModel, {**settings, "after": _feeds(after, where)}, where)


def _feeds(after: object, where: str) -> tuple[Feed, ...]:
    """`split`, `[split, parse]`, or `{split: 20}` where 20 records come for each one."""
    if isinstance(after, str):
        return (Feed(after),)
    if isinstance(after, list) and all(isinstance(name, str) for name in after):
        return tuple(Feed(name) for name in after)
    if isinstance(after, Mapping) and all(isinstance(number, (int, float)) for number in after.values()):
        return tuple(Feed(str(name), float(number)) for name, number in after.items())
    raise BadInput(f"{where}: after: found {after!r}; it must be a name, a list of names, or names with records each")


def _pools(content: Mapping[str, object], operators: tuple[OperatorModel, ...], where: str) -> dict[str, PoolModel]:
    """`pool` is what all pools are like, `pools` is what is different about some of them."""
    common = as_mapping(content.get("pool") or {}, f"{where}: pool", "settings are written as 'name: value'")
    each = as_mapping(content.get("pools") or {}, f"{where}: pools", "pools are written as 'name: settings'")
    names = dict.fromkeys(operator.pool_name for operator in operators)
    check_keys(each, list(names), f"{where}: pools")
    return {name: _pool({**common, **(each.get(name) or {})}, f"{where}: pool {name}") for name in names}


def _pool(given: Mapping[str, object], where: str) -> PoolModel:
    for bound in ("min_workers", "max_workers"):
        if given.get(bound) is None:
            raise BadInput(f"{where} has no {bound}; a pool needs both bounds, min_workers and max_workers")
    settings = read_settings(PoolModel, given, where)
    try:
        return replace(WARM, **settings)  # type: ignore[arg-type]
    except BadInput as wrong:
        raise BadInput(f"{where}: {wrong}") from None

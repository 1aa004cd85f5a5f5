"""Models from YAML files. The keys are the fields of `model`, quantities are written as people write them.

name: clicks
pool: {min_workers: 1, max_workers: 8, slots_per_worker: 2}
queries:
  - name: count
    trigger: 10s
    slo: 30s
    sources: [{name: clicks, partitions: 16}]
    stages:
      - {name: parse, after: clicks, partitions: 16, slot_s_per_record: 50e-6}
      - {name: count, after: parse, partitions: 16, slot_s_per_record: 0.00004, stateful: true}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from elastream.core.errors import BadInput, UnknownName, suggestion
from elastream.core.observation import Slo, Trigger
from elastream.core.quantity import parse_quantity
from elastream.registry import read_settings
from elastream.registry.settings import construct
from elastream.simulator.model import (
    POOL,
    ApplicationModel,
    PoolModel,
    QueryModel,
    SourceModel,
    StageModel,
    StateModel,
)

T = TypeVar("T")

_APART = ("sources", "stages", "trigger", "slo", "state")
"""Settings of a query that are not plain values."""


def read_model(path: Path) -> ApplicationModel:
    """The model that a file describes, or BadInput that says where it goes wrong."""
    where = str(path)
    content = _mapping(_loaded(path), where, "a model is written as 'name: value'")
    _known_keys(content, ("name", "doc", "pool", "queries"), where)
    queries = tuple(_query(item, place) for item, place in _items(content.get("queries"), f"{where}: queries", "query"))
    pool = _pool(content.get("pool"), f"{where}: pool")
    name, doc = str(content.get("name") or path.stem), str(content.get("doc") or "")
    try:
        return ApplicationModel(name=name, queries=queries, pool=pool, doc=doc)
    except BadInput as wrong:
        raise BadInput(f"{where}: {wrong}") from None


def read_trigger(value: object, where: str) -> Trigger:
    """`10s`, or `asap` for as fast as possible."""
    if value == "asap":
        return Trigger(interval_s=None)
    return Trigger(interval_s=_seconds(value, where, "an interval such as 10s, or asap"))


def _query(item: object, where: str) -> QueryModel:
    given = dict(_mapping(item, where, "a query has a name, sources and stages"))
    _known_keys(given, [f.name for f in fields(QueryModel)], where)
    parts: dict[str, Any] = {
        "sources": tuple(_built(SourceModel, *one) for one in _items(given.get("sources"), where, "source")),
        "stages": tuple(_stage(*one) for one in _items(given.get("stages"), where, "stage")),
    }
    if "trigger" in given:
        parts["trigger"] = read_trigger(given["trigger"], f"{where}: trigger")
    if given.get("slo") is not None:
        parts["slo"] = Slo(p95_s=_seconds(given["slo"], f"{where}: slo", "a duration such as 30s"))
    if "state" in given:
        parts["state"] = _built(StateModel, given["state"], f"{where}: state")
    plain = {key: value for key, value in given.items() if key not in _APART}
    query = construct(QueryModel, {**read_settings(QueryModel, plain, where), **parts}, where)
    try:
        query.topology().levels()
    except BadInput as wrong:
        raise BadInput(f"{where}: {wrong}") from None
    return query


def _stage(item: object, where: str) -> StageModel:
    given = dict(_mapping(item, where, "a stage has a name and settings"))
    # Spark has one pool, so that naming it is allowed and needless; another one would be no pool at all.
    pool = given.pop("pool", POOL)
    if pool != POOL:
        raise BadInput(f"{where} is in no pool: {pool!r} does not exist{suggestion(str(pool), [POOL])}")
    if isinstance(given.get("after"), str):
        given["after"] = [given["after"]]
    return _built(StageModel, given, where)


def _pool(item: object, where: str) -> PoolModel:
    given = _mapping(item, where, "a pool has at least min_workers and max_workers")
    pool = _built(PoolModel, given, where)
    for bound in ("min_workers", "max_workers"):
        # The bounds are what an autoscaler is given; a default would be a guess about somebody's cluster.
        if given.get(bound) is None:
            raise BadInput(f"{where} has no {bound}; a pool needs both bounds, min_workers and max_workers")
    return pool


def _built(cls: type[T], item: object, where: str) -> T:
    given = _mapping(item, where, "settings are written as 'name: value'")
    return construct(cls, read_settings(cls, given, where), where)


def _items(found: object, where: str, kind: str) -> list[tuple[object, str]]:
    """The items of a list, each with a place that names it."""
    if not isinstance(found, list) or not found:
        told = "nothing" if found in (None, []) else f"a {type(found).__name__}"
        raise BadInput(f"{where}: found {told}; a list of at least one {kind} is needed")
    place = where.removesuffix(": queries")
    return [(item, f"{place}: {kind} {_name(item) or f'number {i}'}") for i, item in enumerate(found, 1)]


def _name(item: object) -> str | None:
    return str(item["name"]) if isinstance(item, Mapping) and item.get("name") else None


def _known_keys(given: Mapping[str, object], known: Any, where: str) -> None:
    for key in given:
        if key not in known:
            raise UnknownName(f"{where} has no setting", str(key), known)


def _mapping(found: object, where: str, hint: str) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        raise BadInput(f"{where}: found {'nothing' if found is None else repr(found)}; {hint}")
    return found


def _seconds(value: object, where: str, what: str) -> float:
    try:
        quantity = parse_quantity(str(value))
    except BadInput:
        raise BadInput(f"{where}: found {value!r}; it must be {what}") from None
    if quantity.unit == "%" or quantity.value <= 0:
        raise BadInput(f"{where}: found {value!r}; it must be {what}, longer than 0")
    return quantity.value


def _loaded(path: Path) -> object:
    try:
        import yaml
    except ImportError:
        raise BadInput(f"{path}: reading YAML needs PyYAML: pip install 'elastream[cli]'") from None
    try:
        text = path.read_text(encoding="utf-8")
        return yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadInput(f"{path}: cannot be read: {getattr(wrong, 'strerror', None) or wrong}") from None
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise BadInput(f"{path}{line}: {getattr(wrong, 'problem', None) or wrong}") from None

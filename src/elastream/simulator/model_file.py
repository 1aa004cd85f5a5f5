"""Models in YAML files. The keys are the fields of `model`, quantities are written as people write them.

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

from dataclasses import fields
from pathlib import Path
from typing import Any

from elastream.config.yaml_file import load_yaml
from elastream.core.errors import BadInput, suggestion
from elastream.core.observation import Trigger
from elastream.registry import read_settings
from elastream.registry.settings import construct
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.continuous.model_file import dataflow
from elastream.simulator.microbatch.model import POOL, ApplicationModel, QueryModel, SourceModel, StageModel, StateModel
from elastream.simulator.pool_model import PoolModel
from elastream.simulator.yaml_fields import as_mapping, built, check_keys, named_items, read_slo, seconds

_APART = ("sources", "stages", "trigger", "slo", "state")
"""Settings of a query that are not plain values."""


def read_model(path: Path) -> ApplicationModel | DataflowModel:
    """The model that a file describes, or BadInput that says where it goes wrong."""
    where = str(path)
    content = as_mapping(load_yaml(path), where, "a model is written as 'name: value'")
    if "operators" in content:
        return dataflow(content, where, path.stem)
    check_keys(content, ("name", "doc", "pool", "queries"), where)
    queries = tuple(_query(*one) for one in named_items(content.get("queries"), where, "query", key="queries"))
    pool = _pool(content.get("pool"), f"{where}: pool")
    name, doc = str(content.get("name") or path.stem), str(content.get("doc") or "")
    try:
        return ApplicationModel(name=name, queries=queries, pool=pool, doc=doc)
    except BadInput as wrong:
        raise BadInput(f"{where}: {wrong}") from None


def written_model(model: ApplicationModel) -> str:
    """The text of a file that says the same; what is as usual is left out."""
    import yaml

    queries = []
    for query in model.queries:
        told = _told(query)
        told["trigger"] = "asap" if query.trigger.interval_s is None else f"{query.trigger.interval_s:g}s"
        told["sources"] = [_told(source) for source in query.sources]
        told["stages"] = [_told(stage) for stage in query.stages]
        if query.slo is not None:
            told["slo"] = {"delay": f"{query.slo.delay_s:g}s", "share": query.slo.share}
        if query.state != StateModel():
            told["state"] = _told(query.state)
        queries.append(told)
    bounds = {"min_workers": model.pool.min_workers, "max_workers": model.pool.max_workers}
    content = {"name": model.name, "doc": model.doc, "pool": {**_told(model.pool), **bounds}, "queries": queries}
    return yaml.safe_dump(content, sort_keys=False, width=120)


def _told(part: Any) -> dict[str, object]:
    """Plain values that differ from their defaults, numbers to four digits: more was not measured."""
    told: dict[str, object] = {}
    for item in fields(part):
        value = getattr(part, item.name)
        if item.name in _APART or value == item.default:
            continue
        if isinstance(value, float):
            value = float(f"{value:.4g}")
        told[item.name] = list(value) if isinstance(value, tuple) else value
    return told


def read_trigger(value: object, where: str) -> Trigger:
    """`10s`, or `asap` for as fast as possible."""
    if value == "asap":
        return Trigger(interval_s=None)
    return Trigger(interval_s=seconds(value, where, "an interval such as 10s, or asap"))


def _query(item: object, where: str) -> QueryModel:
    given = dict(as_mapping(item, where, "a query has a name, sources and stages"))
    check_keys(given, [f.name for f in fields(QueryModel)], where)
    parts: dict[str, object] = {
        "sources": tuple(built(SourceModel, *one) for one in named_items(given.get("sources"), where, "source")),
        "stages": tuple(_stage(*one) for one in named_items(given.get("stages"), where, "stage")),
    }
    if "trigger" in given:
        parts["trigger"] = read_trigger(given["trigger"], f"{where}: trigger")
    if given.get("slo") is not None:
        parts["slo"] = read_slo(given["slo"], f"{where}: slo")
    if "state" in given:
        parts["state"] = built(StateModel, given["state"], f"{where}: state")
    plain = {key: value for key, value in given.items() if key not in _APART}
    query = construct(QueryModel, {**read_settings(QueryModel, plain, where), **parts}, where)
    try:
        query.topology().levels()
    except BadInput as wrong:
        raise BadInput(f"{where}: {wrong}") from None
    return query


def _stage(item: object, where: str) -> StageModel:
    given = dict(as_mapping(item, where, "a stage has a name and settings"))
    # Spark has one pool, so that naming it is allowed and needless; another one would be no pool at all.
    pool = given.pop("pool", POOL)
    if pool != POOL:
        raise BadInput(f"{where} is in no pool: {pool!r} does not exist{suggestion(str(pool), [POOL])}")
    if isinstance(given.get("after"), str):
        given["after"] = [given["after"]]
    return built(StageModel, given, where)


def _pool(item: object, where: str) -> PoolModel:
    given = as_mapping(item, where, "a pool has at least min_workers and max_workers")
    pool = built(PoolModel, given, where)
    for bound in ("min_workers", "max_workers"):
        # The bounds are what an autoscaler is given; a default would be a guess about somebody's cluster.
        if given.get(bound) is None:
            raise BadInput(f"{where} has no {bound}; a pool needs both bounds, min_workers and max_workers")
    return pool

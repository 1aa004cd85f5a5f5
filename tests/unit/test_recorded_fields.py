"""Every field of an observation held against recordings of real queries: filled, or None for a reason."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest

from elastream.core.observation import Observation
from elastream.core.task_cost import TaskCost
from tests.recordings.replaying import FAST, FOREACH, JOIN, NAMES, UDF, WINDOW, looks


class Unknown(NamedTuple):
    """Why a field is None, or empty, in every look of a recording."""

    why: str


FILLED = "filled"
Entry = dict[str, str | Unknown]


def nowhere(why: str) -> Entry:
    return dict.fromkeys(NAMES, Unknown(why))


def only(*names: str, otherwise: str) -> Entry:
    return {name: FILLED if name in names else Unknown(otherwise) for name in NAMES}


NO_REPORT = "rate-micro-batch does not report its newest offset"
NO_STATE = "no stateful operator"
NO_DELAY = "needs the newest offsets of all sources, or files to list"
ONE_PART = "no exchange, so one operator"
NOT_RECORDED = "recorded before it was told"
NO_PROMISE = "the owner's promise, not Spark's"

NOT_EVERYWHERE: dict[str, Entry] = {
    "Observation.cluster_workers": nowhere("nobody asked for more than there was room for"),
    "Observation.lacks": nowhere("all executors ran on the host that was asked"),
    "Observation.troubles": nowhere("nothing was lost"),
    "Pool.worker_memory_bytes": nowhere("a setting of the application that was not recorded"),
    "Pool.system_s": nowhere(NOT_RECORDED),
    "Pool.page_faults": nowhere(NOT_RECORDED),
    "Pool.host_cpu": nowhere(NOT_RECORDED),
    "Worker.heap_bytes": nowhere(NOT_RECORDED),
    "FinishedBatch.cost": nowhere(NOT_RECORDED),
    **{f"TaskCost.{each.name}": nowhere(NOT_RECORDED) for each in fields(TaskCost)},
    "Query.event_utc_s": only(WINDOW, JOIN, otherwise="no watermark"),
    "Worker.delays_ms": nowhere("Spark measures no network"),
    "Query.state": only(WINDOW, JOIN, otherwise=NO_STATE),
    "Query.delay": only(FAST, JOIN, otherwise=NO_DELAY),
    "Query.slo": nowhere(NO_PROMISE),
    "Query.on_time": nowhere(NO_PROMISE),
    "Query.watermark_utc_s": only(WINDOW, JOIN, otherwise="no watermark"),
    "Query.error": only(FOREACH, otherwise="it did not fail"),
    "Topology.edges": only(FAST, WINDOW, JOIN, otherwise=ONE_PART),
    "Edge.upstream": only(FAST, WINDOW, JOIN, otherwise=ONE_PART),
    "Edge.downstream": only(FAST, WINDOW, JOIN, otherwise=ONE_PART),
    "Trigger.interval_s": only(FOREACH, WINDOW, JOIN, UDF, otherwise="as fast as possible"),
    "Source.arrived": only(FAST, JOIN, otherwise=NO_REPORT),
    "Source.arrived_from": only(FAST, JOIN, otherwise=NO_REPORT),
    "Source.backlog_age_s": only(FAST, JOIN, otherwise=NO_REPORT),
    "Source.problem": only(JOIN, otherwise="no log is asked, so none fails to answer"),
    "Source.partition_backlogs": nowhere("an offset is one number for all partitions"),
    "RunningBatch.last_task_s": only(FOREACH, FAST, WINDOW, JOIN, otherwise="a batch of one stage is over with it"),
    "OperatorWork.backpressure_s": nowhere("a stage waits for the whole of the one before, not for a buffer"),
    "OperatorWork.queue": nowhere("records wait in the log, not in front of stages"),
    "OperatorWork.queue_room": nowhere("there are no buffers between stages"),
    **{f"KeyedState.{name}": only(WINDOW, JOIN, otherwise=NO_STATE) for name in ("store", "rows", "bytes", "commit_s")},
    **{
        f"Delay.{name}": only(FAST, JOIN, otherwise=NO_DELAY)
        for name in ("at_s", "window_s", "records", "p50_s", "p95_s", "p99_s", "max_s")
    },
    **{
        name: nowhere("nobody asked anything of the loop")
        for name in ("Control.mode", "Control.bounds", "Control.size", "HeldSize.workers", "HeldSize.until_utc_s")
    },
    **{f"{name}": nowhere(NO_PROMISE) for name in ("Slo.delay_s", "Slo.share", "OnTime.records", "OnTime.within")},
}


def dataclasses_in(cls: type) -> Iterator[type]:
    """A dataclass and all that are in its fields."""
    yield cls
    for hint in get_type_hints(cls).values():
        for part in _types(hint):
            if is_dataclass(part):
                yield from dataclasses_in(part)


def _types(hint: Any) -> Iterator[type]:
    if isinstance(hint, type):
        yield hint
    for argument in get_args(hint):
        yield from _types(argument)


def filled_paths(value: Any) -> Iterator[str]:
    """Fields of a dataclass, and of all in it, that say something."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        for item in value:
            yield from filled_paths(item)
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            inner = getattr(value, each.name)
            if inner is not None and inner not in ((), {}):
                yield f"{type(value).__name__}.{each.name}"
                yield from filled_paths(inner)


ALL_FIELDS = {f"{cls.__name__}.{each.name}" for cls in dataclasses_in(Observation) for each in fields(cls)}


def test_the_table_speaks_of_no_field_that_does_not_exist() -> None:
    assert NOT_EVERYWHERE.keys() <= ALL_FIELDS


@pytest.mark.parametrize("name", NAMES)
def test_fields_are_filled_from_a_real_query_or_none_for_a_reason(name: str) -> None:
    found = {path for now in looks(name) for path in filled_paths(now)}
    expected = {path for path in ALL_FIELDS if NOT_EVERYWHERE.get(path, {}).get(name, FILLED) == FILLED}
    assert found - expected == set(), "filled, though the table says it cannot be"
    assert expected - found == set(), "never filled, though the table says it can be"

"""Looks with some signals unknown."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from elastream.core.observation import FinishedBatch, Observation, OperatorWork, Pool, Query, Source, Worker
from elastream.core.signals import Signal

FILLED_BY: dict[Signal, tuple[tuple[type, str], ...]] = {
    Signal.ARRIVED: ((Source, "arrived"),),
    Signal.COMMITTED: ((Source, "committed"),),
    Signal.BUSY_TIME: ((OperatorWork, "busy_s"), (FinishedBatch, "busy_s")),
    Signal.RECORDS_IN: ((OperatorWork, "records_in"),),
    Signal.RECORDS_OUT: ((OperatorWork, "records_out"),),
    Signal.BACKPRESSURE_TIME: ((OperatorWork, "backpressure_s"),),
    Signal.QUEUE: ((OperatorWork, "queue"),),
    Signal.BATCHES: ((Query, "batches"),),
    Signal.DELAY: ((Query, "delay"),),
    Signal.DRIVER_TIME: ((Query, "driver_s"),),
    Signal.STATE_BYTES: ((Query, "state"),),
    Signal.BUSY_SLOTS: ((Pool, "busy_slot_s"),),
    Signal.SYSTEM_TIME: ((Pool, "system_s"),),
    Signal.PAGE_FAULTS: ((Pool, "page_faults"),),
    Signal.HOST_CPU: ((Pool, "host_cpu"),),
    Signal.WORKER_CPU: ((Worker, "cpu"),),
    Signal.WORKER_MEMORY: ((Worker, "memory_bytes"),),
    Signal.WORKER_RECORDS: ((Worker, "records"),),
    Signal.BACKLOG_AGE: ((Source, "backlog_age_s"),),
}
"""Where a signal stands in a look, for those that may be unknown there."""


def without(now: Observation, signals: Iterable[Signal]) -> Observation:
    """The same look with some signals unknown."""
    blank = {place for signal in signals for place in FILLED_BY.get(signal, ())}

    def walk(value: object) -> Any:
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(walk(item) for item in value)
        if is_dataclass(value) and not isinstance(value, type):
            kept = {
                item.name: None if (type(value), item.name) in blank else walk(getattr(value, item.name))
                for item in fields(value)
            }
            return replace(value, **kept)
        return value

    result: Observation = walk(now)
    return result

"""Processor use of executors whose process cannot be seen, from what their tasks tell.

A task tells the processor time of its thread, and only when it ends: where tasks take minutes, minutes late and all at
once. So ended tasks tell which share of its slot time a task computes, and that share is taken of the time in which
slots are busy, which every look tells. What other threads and processes do is left out: Python workers, the garbage
collector, the compiler of the JVM. So it is a lower bound, far too low where most of the work is done in Python.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from elastream.spark.jvm.snapshot import ExecutorSeen

# Long enough that one short task does not speak for all, short enough that another kind of work is noticed.
_MEMORY_S = 60.0


@dataclass(slots=True)
class _Told:
    """What one executor's tasks have told. `computed_s` of `held_s` are of recent tasks, older ones fade."""

    at_s: float
    busy_s: float = 0.0
    ended_held_s: float = 0.0
    ended_cpu_s: float = 0.0
    held_s: float = 0.0
    computed_s: float = 0.0
    used_s: float = 0.0


class TaskCpu:
    """Running totals of processor time, by executor."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}

    def update(self, executor: ExecutorSeen, at_s: float) -> float | None:
        """Processor seconds used since it was first seen; None where it has worked and no task of it has ended."""
        if executor.cpu_s is None or executor.held_s is None:
            return None
        told = self._told.setdefault(executor.id, _Told(at_s))
        kept = math.exp((told.at_s - at_s) / _MEMORY_S)
        told.held_s = told.held_s * kept + max(0.0, executor.held_s - told.ended_held_s)
        told.computed_s = told.computed_s * kept + max(0.0, executor.cpu_s - told.ended_cpu_s)
        told.at_s, told.ended_held_s, told.ended_cpu_s = at_s, executor.held_s, executor.cpu_s
        busy_s = max(0.0, executor.busy_s - told.busy_s)
        if busy_s == 0:
            return told.used_s
        if told.held_s <= 0:
            return None
        told.used_s += busy_s * min(1.0, told.computed_s / told.held_s)
        told.busy_s = executor.busy_s
        return told.used_s

    def keep(self, names: set[str]) -> None:
        """Forget all others."""
        self._told = {name: told for name, told in self._told.items() if name in names}

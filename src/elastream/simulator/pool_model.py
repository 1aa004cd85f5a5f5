"""The workers of a simulated job, and how they come and go."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

from elastream.core.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolModel:
    """The executors and how they come and go."""

    slots_per_worker: int = 1
    min_workers: int = 1
    max_workers: int = 12
    initial_workers: int = 1
    cluster_workers: int | None = None
    """How many the cluster has room for; None: always enough."""
    memory_bytes: float | None = 512 * 2**20
    start_s: float = 6.0
    start_spread: float = 0.3
    """Start-up takes between (1 - spread) and (1 + spread) times `start_s`."""
    cold_s: float = 10.0
    cold_factor: float = 1.5
    """Tasks that begin within `cold_s` of readiness take so many times longer."""
    leave_s: float = 1.0
    leavers_hold_room: bool = False
    """Whether who leaves still counts among the most that there may be (`spark.cores.max`): at the upper bound, nobody
    starts until they are gone. Micro-batches only; so is the next one."""
    cores: int | None = None
    """That the tasks of all workers share, as on a laboratory's machine; None: every slot has its own."""
    cpu_ceiling: float = 0.95
    """Processor use of a slot that is always busy."""
    cpu_noise: float = 0.02


def changed_pool(pool: PoolModel, **changes: int) -> PoolModel:
    """The pool with other numbers; the start follows bounds that were moved."""
    pool = replace(pool, **changes)  # type: ignore[arg-type]
    if "initial_workers" in changes:
        return pool
    return replace(pool, initial_workers=min(max(pool.initial_workers, pool.min_workers), pool.max_workers))


def check_pool(pool: PoolModel, where: str) -> None:
    """Raise BadInput where a pool makes no sense."""
    check_numbers(pool, where)
    if pool.slots_per_worker < 1:
        raise BadInput(f"{where}: {pool.slots_per_worker} slots per worker; at least 1 is needed")
    if not 1 <= pool.min_workers <= pool.max_workers:
        raise BadInput(f"{where}: bounds {pool.min_workers}..{pool.max_workers}; they must be 1 <= min <= max")
    if pool.initial_workers < 1:
        raise BadInput(f"{where}: starts with {pool.initial_workers} workers; at least 1 is needed")


def check_numbers(model: Any, where: str) -> None:
    """Raise BadInput where a number of a model is negative, infinite or none."""
    for item in fields(model):
        value = getattr(model, item.name)
        if isinstance(value, float | int) and not (0 <= value < math.inf):
            raise BadInput(f"{where}: {item.name} is {value}; it must be a number of at least 0")

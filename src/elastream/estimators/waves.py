"""How long tasks take on some slots: in waves, the last of which may be half empty.

Twelve tasks on eight slots take as long as sixteen would.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from elastream.core.observation import Query


class Stage(NamedTuple):
    """A part of the work that is cut into so many tasks."""

    tasks: int
    share: float


def stages_of(query: Query) -> list[Stage]:
    """How a batch of the query is cut, and which part of its work each cut is; empty where that is not known."""
    busy = {work.name: work.busy_s.value for work in query.operators if work.busy_s is not None}
    tasks = {operator.name: operator.partitions for operator in query.topology.operators}
    cuts = [(busy.get(work.name), tasks.get(work.name) or work.tasks) for work in query.operators]
    total = sum(busy.values())
    if total <= 0 or not cuts or any(part is None or not number for part, number in cuts):
        return []
    return [Stage(tasks=number, share=part / total) for part, number in cuts if part is not None and number]


def task_time_s(work_s: float, stages: Sequence[Stage], slots: int) -> float:
    """How long so many slot-seconds take, stage after stage."""
    return sum(work_s * stage.share * math.ceil(stage.tasks / slots) / stage.tasks for stage in stages)


def slots_for(work_s: float, within_s: float, stages: Sequence[Stage]) -> float:
    """The fewest slots that do it in time; where none do, as many as there can be any use for."""
    widest = max(stage.tasks for stage in stages)
    least = work_s / within_s
    for slots in range(max(1, math.ceil(least - 1e-9)), widest + 1):
        if task_time_s(work_s, stages, slots) <= within_s:
            # Work that is no more than whole waves of them needs no rounding: others may use the rest of a slot.
            return least if slots == math.ceil(least - 1e-9) else float(slots)
    return float(widest)


def filled(stages: Sequence[Stage], slots: int) -> float:
    """Which share of so many slots is busy while stages run one by one; 1 where it is not known how they are cut."""
    return 1.0 / (slots * task_time_s(1.0, stages, slots)) if stages and slots else 1.0

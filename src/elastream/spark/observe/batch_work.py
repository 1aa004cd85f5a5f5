"""What the stages of one batch have done so far, and for which task it waited longest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from elastream.core.observation import LongestTask
from elastream.core.task_cost import TaskCost
from elastream.spark.jvm.snapshot import StageSeen


@dataclass(slots=True)
class StageWork:
    """One stage that has ended."""

    name: str
    span: tuple[float, float] | None
    tasks: int = 0
    done: int = 0
    busy_s: float = 0.0
    longest_s: float = 0.0
    longest_records: float = 0.0
    records: float = 0.0
    cost: TaskCost | None = field(default_factory=TaskCost)

    def add(self, stage: StageSeen) -> None:
        """What was told of it; a task may be told of after its stage has ended."""
        self.tasks += stage.tasks
        self.done += stage.done
        self.busy_s += stage.busy_s
        self.records += stage.records_in
        self.cost = None if self.cost is None or stage.cost is None else self.cost.plus(stage.cost)
        if stage.longest_s > self.longest_s:
            self.longest_s, self.longest_records = stage.longest_s, stage.longest_records


class BatchStages:
    """Stages of one batch, as they end."""

    def __init__(self) -> None:
        self._stages: dict[tuple[int, int], StageWork] = {}

    def add(self, stage: StageSeen, name: str) -> None:
        """A stage has ended."""
        key = stage.id, stage.attempt
        if key not in self._stages:
            known = stage.submitted_s is not None and stage.ended_s is not None
            span = (stage.submitted_s or 0.0, stage.ended_s or 0.0) if known else None
            self._stages[key] = StageWork(name, span)
        self._stages[key].add(stage)

    @property
    def tasks(self) -> int:
        """Tasks of the stages that have ended."""
        return sum(stage.tasks for stage in self._stages.values())

    @property
    def done(self) -> int:
        """Tasks that have ended well."""
        return sum(stage.done for stage in self._stages.values())

    @property
    def busy_s(self) -> float:
        """Slot-seconds."""
        return sum(stage.busy_s for stage in self._stages.values())

    @property
    def cost(self) -> TaskCost | None:
        """What their tasks spent their slots on; None if that is not known of one of them."""
        total = TaskCost()
        for stage in self._stages.values():
            if stage.cost is None:
                return None
            total = total.plus(stage.cost)
        return total if self._stages else None

    @property
    def spans(self) -> list[tuple[float, float]]:
        """When each stage ran."""
        return [stage.span for stage in self._stages.values() if stage.span is not None]

    @property
    def last_s(self) -> float | None:
        """When the last stage ended, UTC."""
        return max((end for _, end in self.spans), default=None)

    def critical_s(self) -> float | None:
        """The longest task of each stage, one after the other; of stages that ran at the same time the longest."""
        total, longest, until = 0.0, 0.0, float("-inf")
        timed = [(stage.span, stage.longest_s) for stage in self._stages.values() if stage.span is not None]
        if not timed:
            return None
        for (start, end), longest_s in sorted(timed):
            if start >= until:
                total, longest = total + longest, 0.0
            longest, until = max(longest, longest_s), max(until, end)
        return total + longest

    def longest_task(self) -> LongestTask | None:
        """The task that the batch waited for longest."""
        stage = max(self._stages.values(), key=lambda stage: stage.longest_s, default=None)
        if stage is None or not stage.done:
            return None
        has_records = stage.records > 0
        return LongestTask(
            stage=stage.name,
            tasks=stage.tasks,
            task_s=stage.longest_s,
            mean_s=stage.busy_s / stage.done,
            records=stage.longest_records if has_records else None,
            mean_records=stage.records / stage.done if has_records else None,
        )


def united_s(spans: Sequence[tuple[float, float]]) -> float:
    """Time covered by at least one span."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total

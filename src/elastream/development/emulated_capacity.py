"""Slots of a limited rate: on two cores, twelve real executors can be watched as if each had a core of its own.

A task sleeps after every Arrow batch until the batch has taken as long as it should. Scheduling, waves, shuffles and
state are real; the work of the operator is not, and every figure made this way must say so (`EmulatedCapacity.note`).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from elastream.core.errors import BadInput, UnknownName
from elastream.development.shipping import shipped_by_value
from elastream.development.time_scale import TimeScale


@dataclass(frozen=True, kw_only=True)
class EmulatedCapacity:
    """How fast one slot works through the rows of one operator. Times are of the wall, compressed or not."""

    rows_per_s: float = 2_000.0
    key: str = "key"
    hot_key: int | str | None = None
    hot_cost: float = 1.0
    """A row with the hot key takes as long as so many others."""
    warm_up_s: float = 0.0
    """Of an executor's life, in which it is slower."""
    warm_up_cost: float = 2.0
    slow_executor: str | None = None
    """The id of an executor that is slower for good, as Spark names it."""
    slow_cost: float = 2.0
    scale: TimeScale = TimeScale()

    def __post_init__(self) -> None:
        for name in ("rows_per_s", "hot_cost", "warm_up_cost", "slow_cost"):
            if not 0 < getattr(self, name) < float("inf"):
                raise BadInput(f"capacity: {name}: found {getattr(self, name):g}; it must be more than 0")
        if not 0 <= self.warm_up_s < float("inf"):
            raise BadInput(f"capacity: warm_up_s: found {self.warm_up_s:g}; it must be 0 or more")

    def limit(self, df: DataFrame) -> DataFrame:
        """The same rows, at this rate in every slot that works on them.

        One of these in a stage: two would sleep at the same time. A watermark belongs behind it, since the new columns
        do not carry it on.
        """
        if self.hot_key is not None and self.key not in df.columns:
            raise UnknownName("capacity: no column", self.key, df.columns)
        with shipped_by_value():
            return df.mapInArrow(slowed(self), df.schema)

    def cost(self, rows: int, hot: int, executor: "Executor") -> float:
        """How long a batch takes in one slot."""
        seconds = (rows + hot * (self.hot_cost - 1.0)) / self.rows_per_s
        if self.warm_up_s and executor.age_s() < self.warm_up_s:
            seconds *= self.warm_up_cost
        if self.slow_executor is not None and executor.id == self.slow_executor:
            seconds *= self.slow_cost
        return seconds

    def note(self) -> str:
        """What must stand beside every figure, table and picture made with it."""
        parts = [f"capacity emulated: {self.rows_per_s:,.0f} rows/s per slot"]
        if self.hot_key is not None and self.hot_cost != 1.0:
            parts.append(f"rows of key {self.hot_key} x{self.hot_cost:g}")
        if self.warm_up_s:
            parts.append(f"x{self.warm_up_cost:g} in an executor's first {self.warm_up_s:g} s")
        if self.slow_executor is not None:
            parts.append(f"executor {self.slow_executor} x{self.slow_cost:g}")
        return ", ".join([*parts, self.scale.note()])


def slowed(capacity: EmulatedCapacity) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that runs in a task."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        executor = this_executor() if capacity.slow_executor is not None or capacity.warm_up_s else NOWHERE
        # Before the first batch is asked for: the time that making it takes is part of the slot's time.
        due_s = time.monotonic()
        for batch in batches:
            due_s += capacity.cost(batch.num_rows, hot_rows(batch, capacity), executor)
            time.sleep(max(due_s - time.monotonic(), 0.0))
            yield batch

    return run


def hot_rows(batch: pa.RecordBatch, capacity: EmulatedCapacity) -> int:
    """How many rows of a batch have the hot key."""
    if capacity.hot_key is None or not batch.num_rows:
        return 0
    return int(pc.sum(pc.equal(batch.column(capacity.key), capacity.hot_key)).as_py() or 0)


class Executor(NamedTuple):
    """The executor that a task runs on."""

    id: str | None
    started_s: float
    """In seconds since the machine started."""

    def age_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self.started_s


NOWHERE = Executor(None, float("-inf"))
# In which /proc counts: 100 a second on every Linux.
CLOCK_TICK_S = 0.01


def this_executor(proc: Path = Path("/proc"), process: str = "self") -> Executor:
    """The executor whose Python worker this is.

    Spark does not tell a Python task; the command line of the JVM among its ancestors does.
    """
    while process != "0":
        words = (proc / process / "cmdline").read_bytes().split(b"\0")
        # Behind the name of the program, which stands in parentheses and may hold anything.
        fields = (proc / process / "stat").read_text().rpartition(")")[2].split()
        if b"--executor-id" in words:
            return Executor(words[words.index(b"--executor-id") + 1].decode(), int(fields[19]) * CLOCK_TICK_S)
        process = fields[1]
    return NOWHERE

"""A plan as Spark jobs: handfuls of experiments, the longest first, several at once so that no slot waits for one."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.core.errors import BadInput, ElastreamError
from elastream.development.shipping import shipped_by_value
from elastream.experiments.experiment import Experiment
from elastream.experiments.runner.execution import Done, Task, store_failure
from elastream.experiments.store.environment import find_origin
from elastream.experiments.sweep.executors import require_executors, spell_spark_error
from elastream.experiments.sweep.on_executor import Orders, run_rows
from elastream.experiments.sweep.row import DoneRow, ExperimentRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PER_SLOT = 4
"""Experiments of a job for each slot: with fewer the driver is busy with jobs, with more progress comes in leaps."""
AT_ONCE = 4
"""Jobs under way: the slots that the last experiments of one leave free go to the next."""


class SparkSweep:
    """Runs experiments on the executors of a session. Implements RunnerBackend."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        experiments: Sequence[Experiment],
        *,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.spark = spark
        self._folder, self._experiments, self._tell = folder, experiments, tell
        self._group = f"elastream-sweep-{id(self)}"
        self._is_over = threading.Event()

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Implements RunnerBackend. Whatever ends it, jobs that run are ended and finished runs stay."""
        with tempfile.TemporaryDirectory(prefix="elastream-sweep-") as scratch:
            yield from self._run_with(Path(scratch), tasks)

    def _run_with(self, scratch: Path, tasks: Iterable[Task]) -> Iterator[Done]:
        orders = require_executors(self.spark, scratch, self._folder, self._experiments, find_origin(), self._tell)
        rows = (ExperimentRow.of(task) for task in map(_simulated, tasks))
        running: set[Future[list[Done]]] = set()
        pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="sweep")
        try:
            while True:
                while len(running) < AT_ONCE and (handful := list(islice(rows, self._handful()))):
                    running.add(pool.submit(self._run_handful, orders, handful))
                if not running:
                    return
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for one in ended:
                    yield from one.result()
        finally:
            self._is_over.set()
            if not self._is_gone():
                self.spark.sparkContext.cancelJobGroup(self._group)
            pool.shutdown(wait=True, cancel_futures=True)

    def _handful(self) -> int:
        """So many experiments make a job; asked anew each time, for executors come and go."""
        return PER_SLOT * max(1, self.spark.sparkContext.defaultParallelism)

    def _run_handful(self, orders: Orders, rows: Sequence[ExperimentRow]) -> list[Done]:
        """Run them as one job; if Spark gives it up, each as one of its own, to find out which has ended a Python."""
        try:
            found = self._run_job(orders, rows)
        except Exception as wrong:
            if self._is_over.is_set():
                return []
            if self._is_gone():
                raise ElastreamError(f"Spark is gone: {spell_spark_error(wrong)}; the same command goes on") from None
            if len(rows) > 1:
                return [done for row in rows for done in self._run_handful(orders, [row])]
            return [store_failure(rows[0].task, f"its executor gave it up: {spell_spark_error(wrong)}")]
        return [done.done(row) for row, done in zip(rows, found, strict=True)]

    def _run_job(self, orders: Orders, rows: Sequence[ExperimentRow]) -> list[DoneRow]:
        context = self.spark.sparkContext
        context.setJobGroup(self._group, f"{len(rows)} experiments", interruptOnCancel=True)
        # A partition each: one that takes long keeps no other waiting.
        parts = context.parallelize([tuple(row) for row in rows], len(rows))
        with shipped_by_value():
            found: list[Any] = parts.mapPartitions(partial(run_rows, tuple(orders))).collect()
        return [DoneRow(*one) for one in found]

    def _is_gone(self) -> bool:
        context = self.spark.sparkContext
        java: Any = getattr(context, "_jsc", None)
        try:
            return java is None or bool(java.sc().isStopped())
        except Exception:
            return True


def _simulated(task: Task) -> Task:
    if task.experiment["subject"].get("job"):
        raise BadInput("--on: runs on spark bring a driver of their own; run them one after the other, --on local")
    return task

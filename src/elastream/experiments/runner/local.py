"""Experiments in this process, or in several of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

from elastream.core.errors import BadInput, ElastreamError
from elastream.experiments.runner.execution import Done, Task, execute


class Here:
    """One after the other, in this process."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
        """Implements RunnerBackend."""
        for task in tasks:
            yield execute(task)


class Processes:
    """Side by side, in processes of this machine."""

    def __init__(self, number: int | None = None) -> None:
        self.number = number or os.cpu_count() or 1

    def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
        """Implements RunnerBackend. On an interrupt, those that run are ended and what they did is dropped."""
        if any(task.experiment["subject"].get("job") for task in tasks):
            raise BadInput("--on processes: runs on spark share one machine; run them one after the other, --on local")
        # Forked from a server that has done nothing yet: threads of ours would be copied half.
        context = multiprocessing.get_context("forkserver")
        pool = ProcessPoolExecutor(self.number, mp_context=context, initializer=_ignore_interrupts)
        waiting = iter(tasks)
        try:
            # A few more than processes, so that a plan of a million experiments is no list of a million futures.
            running = {pool.submit(execute, task) for task in islice(waiting, 4 * self.number)}
            while running:
                done = next(as_completed(running))
                running.remove(done)
                if (task := next(waiting, None)) is not None:
                    running.add(pool.submit(execute, task))
                yield done.result()
        except BrokenProcessPool:
            raise ElastreamError("a process of the run was ended from outside; the same command goes on") from None
        finally:
            for process in list(getattr(pool, "_processes", None) or {}):
                os.kill(process, signal.SIGTERM)
            pool.shutdown(wait=True, cancel_futures=True)


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of the terminal; the one that runs the plan ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

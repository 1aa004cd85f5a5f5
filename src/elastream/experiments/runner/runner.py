"""A plan, run: what is there and fresh is left alone, everything else is run and stored, one by one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

from elastream.core.errors import BadInput, ElastreamError
from elastream.experiments.plan.matrix import Case
from elastream.experiments.runner.execution import Done, Task, collect_seldom, execute, find_cost
from elastream.experiments.store.folder import RunStore, StoredRun
from elastream.experiments.store.identity import Identity, identify

CaseState = Literal[
    "finished", "failed", "damaged", "stale", "missing", "without journal", "without least size", "without optimum"
]  # fmt: skip


class RunnerBackend(Protocol):
    """Where experiments run."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Run all, in any order, and tell of each as soon as it is over.

        Tasks are made as they are taken, so that a plan of a million experiments is no list of a million tasks.
        """


class Here:
    """One after the other, in this process."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Implements RunnerBackend."""
        for task in tasks:
            yield execute(task)


class Processes:
    """Side by side, in processes of this machine."""

    def __init__(self, number: int | None = None) -> None:
        self.number = number or os.cpu_count() or 1

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """Implements RunnerBackend. On an interrupt, those that run are ended and what they did is dropped."""
        # Forked from a server that has done nothing yet: threads of ours would be copied half.
        context = multiprocessing.get_context("forkserver")
        pool = ProcessPoolExecutor(self.number, mp_context=context, initializer=_prepare_process)
        waiting = map(_simulated, tasks)
        try:
            # A few more than processes, so that none waits for its next task.
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


def _simulated(task: Task) -> Task:
    if task.experiment["subject"].get("job"):
        raise BadInput("--on processes: runs on spark share one machine; run them one after the other, --on local")
    return task


def _prepare_process() -> None:
    """Ctrl-C reaches every process of the terminal; the one that runs the plan ends the others, or was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    collect_seldom()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # Nobody waits for what is half done, and the next run of the plan does it again.
        os._exit(1)


@dataclass(frozen=True, slots=True)
class CaseStatus:
    """How far an experiment is."""

    case: Case
    identity: Identity
    state: CaseState
    run: StoredRun | None

    @property
    def is_to_run(self) -> bool:
        """Whether the next run of the plan runs it. One that failed is tried again: what it failed of may be mended."""
        return self.state != "finished"


def find_status(
    store: RunStore,
    cases: Sequence[Case],
    *,
    keep_journal: bool = False,
    find_least: bool = False,
    find_optimum: bool = False,
) -> list[CaseStatus]:
    """For each experiment of a plan, whether it was run, by which code, and with all that is wanted."""
    known = {one.experiment for one in store.identities()}
    found = []
    for case in cases:
        identity = identify(case.experiment)
        run = store.find(identity)
        state: CaseState = run.state if run is not None else "stale" if identity.experiment in known else "missing"
        if run is not None and state == "finished":
            if keep_journal and not run.has_journal:
                state = "without journal"
            elif find_least and not run.document.get("least_size"):
                state = "without least size"
            elif find_optimum and not run.document.get("optimum"):
                state = "without optimum"
        found.append(CaseStatus(case, identity, state, run))
    return found


def run_cases(
    store: RunStore,
    statuses: Sequence[CaseStatus],
    backend: RunnerBackend,
    *,
    plan: str,
    keep_journal: bool = False,
    find_least: bool = False,
    find_optimum: bool = False,
    tell: Callable[[Done], None] = lambda done: None,
) -> tuple[int, int]:
    """Run what is to be run, the longest first; how many were, and how many of them failed."""
    wanted = {one.identity: one.case for one in statuses if one.is_to_run}
    longest_first = sorted(wanted, key=lambda identity: -find_cost(wanted[identity].experiment))
    tasks = (
        Task.of(
            wanted[identity],
            identity,
            plan,
            store.path(identity),
            keep_journal=keep_journal,
            find_least=find_least,
            find_optimum=find_optimum,
        )
        for identity in longest_first
    )
    ran = failed = 0
    for done in backend.run(tasks):
        ran, failed = ran + 1, failed + (done.error is not None)
        tell(done)
    return ran, failed

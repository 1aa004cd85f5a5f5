"""A plan, run: what is there and fresh is left alone, everything else is run and stored, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from elastream.experiments.plan.matrix import Case
from elastream.experiments.runner.execution import Done, Task
from elastream.experiments.store.folder import RunStore, StoredRun
from elastream.experiments.store.identity import Identity, identify

CaseState = Literal["finished", "failed", "damaged", "stale", "missing"]


class RunnerBackend(Protocol):
    """Where experiments run."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Done]:
        """Run all, in any order, and tell of each as soon as it is over."""


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


def find_status(store: RunStore, cases: Sequence[Case]) -> list[CaseStatus]:
    """For each experiment of a plan, whether it was run and by which code."""
    known = {one.experiment for one in store.identities()}
    found = []
    for case in cases:
        identity = identify(case.experiment)
        run = store.find(identity)
        state: CaseState = run.state if run is not None else "stale" if identity.experiment in known else "missing"
        found.append(CaseStatus(case, identity, state, run))
    return found


def run_cases(
    store: RunStore,
    statuses: Sequence[CaseStatus],
    backend: RunnerBackend,
    *,
    plan: str,
    keep_journal: bool = False,
    tell: Callable[[Done], None] = lambda done: None,
) -> tuple[int, int]:
    """Run what is to be run, the longest first; how many were, and how many of them failed."""
    wanted = {one.identity: one for one in statuses if one.is_to_run}
    tasks = [
        Task.of(one.case, identity, plan, store.path(identity), keep_journal=keep_journal)
        for identity, one in wanted.items()
    ]
    tasks.sort(key=lambda task: -task.cost)
    ran = failed = 0
    for done in backend.run(tasks):
        ran, failed = ran + 1, failed + (done.error is not None)
        tell(done)
    return ran, failed

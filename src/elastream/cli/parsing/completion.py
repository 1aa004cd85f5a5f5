"""Names that a shell completes. What knows them is loaded when a shell asks, and never otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from elastream.core.log import log

Completed = list[tuple[str, str]]


def _of(names: Callable[[], Iterable[tuple[str, str]]]) -> Callable[[str], Completed]:
    def complete(incomplete: str) -> Completed:
        # Between a half-written line and its end there is no place for what somebody's package lacks.
        log.disabled = True
        try:
            return [(name, doc) for name, doc in names() if name.startswith(incomplete)]
        except Exception:
            # An install without what is needed to know them.
            return []
        finally:
            log.disabled = False

    return complete


def _policies() -> Iterable[tuple[str, str]]:
    from elastream.policies import policies

    return [(name, policies.doc(name)) for name in policies.names()]


def _guards() -> Iterable[tuple[str, str]]:
    from elastream.config import guards

    return [(name, guards.doc(name)) for name in guards.names()]


def _faults() -> Iterable[tuple[str, str]]:
    from elastream.simulator.faults import faults

    return [(name, faults.doc(name)) for name in faults.names()]


def _jobs() -> Iterable[tuple[str, str]]:
    from elastream.jobs.catalogue import jobs

    return [(name, jobs.doc(name)) for name in jobs.names()]


def _workloads() -> Iterable[tuple[str, str]]:
    from elastream.workloads import shipped_traces, workloads

    patterns = [(name, workloads.doc(name)) for name in workloads.names()]
    return [*patterns, *((name, "a recorded trace") for name in shipped_traces())]


def _models() -> Iterable[tuple[str, str]]:
    from elastream.simulator.catalogue import MODELS, measured_jobs
    from elastream.simulator.published import PUBLISHED

    known = [*((one.name, one.doc) for one in MODELS.values()), *((one.name, one.doc) for one in PUBLISHED.values())]
    return [*known, *((name, "measured from a run") for name in measured_jobs())]


complete_policies = _of(_policies)
complete_guards = _of(_guards)
complete_faults = _of(_faults)
complete_jobs = _of(_jobs)
complete_workloads = _of(_workloads)
complete_models = _of(_models)

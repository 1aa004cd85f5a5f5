"""The pool of executors, with what each of them does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from elastream.core.observation import Pool, Reading, Worker
from elastream.core.signals import Signal
from elastream.spark.jvm.snapshot import ExecutorSeen, Snapshot
from elastream.spark.observe.host_totals import HostTotals
from elastream.spark.observe.host_usage import Usage
from elastream.spark.observe.prometheus.executor_use import OutsideUse
from elastream.spark.observe.task_cpu import TaskCpu

POOL = "executors"
NOBODY = OutsideUse()
# A new executor is scraped for the first time after a while; until then nothing is wrong.
_SCRAPED_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSeen:
    """What the scheduler and the settings say of the executors at the time of a look."""

    slots_per_worker: int
    min_workers: int
    max_workers: int
    wanted: int
    requested: int
    ready: tuple[str, ...]
    leaving: tuple[str, ...] = ()
    worker_memory_bytes: float | None = None


class PoolTracker:
    """Remembers of executors what has to be compared between looks."""

    def __init__(self, *, emulated: bool = False) -> None:
        # Emulated slots sleep: the processor says nothing of them, and busy slots stand in.
        self._emulated = emulated
        self._first_seen_s: dict[str, float] = {}
        self._here: set[str] = set()
        """Executors whose process was seen on this host. One that is registered and was never seen is elsewhere."""
        self._task_cpu = TaskCpu()
        self._used: dict[str, tuple[str, float, float]] = {}
        """By executor, of the last look: source, processor seconds, time."""
        self._host_totals = HostTotals()
        self._lacks: dict[Signal, str] = {}
        self.reads_tasks = False
        """Whether the processor use of some follows from what their tasks tell."""

    def lacks(self) -> dict[Signal, str]:
        """What cannot be told of the executors of the last look, and why."""
        return self._lacks

    def _find_lacks(self, workers: list[Worker], outside: OutsideUse, at_s: float) -> dict[Signal, str]:
        elsewhere = [worker for worker in workers if worker.id in self._first_seen_s and worker.id not in self._here]
        self.reads_tasks = bool(elsewhere) and outside.cpu is None
        due = [worker for worker in elsewhere if at_s - worker.since_s > _SCRAPED_WITHIN_S]
        lacking = {
            Signal.WORKER_MEMORY: elsewhere
            if outside.memory is None
            else [worker for worker in due if worker.memory_bytes is None],
            # Where nobody is asked, tasks tell at least a part; where slots are emulated, so do they.
            Signal.WORKER_CPU: []
            if outside.cpu is None or self._emulated
            else [worker for worker in due if worker.cpu is None],
        }
        of = len(self._first_seen_s)
        return {
            signal: f"the processes of {len(some)} of {of} executors cannot be seen from the driver's host"
            + ("" if getattr(outside, name) is None else ", and Prometheus tells nothing of them")
            for name, (signal, some) in zip(("memory", "cpu"), lacking.items(), strict=True)
            if some
        }

    def pool(
        self,
        seen: PoolSeen,
        look: Snapshot,
        usage: Mapping[str, Usage],
        at_s: float,
        *,
        is_lossy: bool = False,
        outside: OutsideUse = NOBODY,
    ) -> Pool:
        """The pool as of a look; of one that has lost events, without what is added up from them."""
        names = dict.fromkeys((*seen.ready, *seen.leaving))
        leaving = set(seen.leaving)
        # One that was registered and has gone may have a process for a moment longer.
        gone = {name for name, executor in look.executors.items() if executor.removed_s is not None}
        starting = sorted(usage.keys() - names.keys() - gone - self._first_seen_s.keys())
        self._first_seen_s = {name: self._first_seen_s.get(name, at_s) for name in names}
        self._used = {name: used for name, used in self._used.items() if name in names}
        self._here = {name for name in names if name in usage or name in self._here}
        self._task_cpu.keep(set(names))
        workers = [self._worker(name, name in leaving, seen, look, usage, outside, at_s) for name in names]
        self._lacks = self._find_lacks(workers, outside, at_s)
        self._host_totals.add([usage.get(name) for name in names])
        workers += [Worker(id=name, state="starting", since_s=at_s, pid=usage[name].pid) for name in starting]
        return Pool(
            name=POOL,
            slots_per_worker=seen.slots_per_worker,
            min_workers=seen.min_workers,
            max_workers=seen.max_workers,
            wanted=seen.wanted,
            requested=seen.requested,
            ready=len(seen.ready),
            leaving=len(seen.leaving),
            workers=tuple(map(self._without_totals, workers)) if is_lossy else tuple(workers),
            worker_memory_bytes=seen.worker_memory_bytes,
            busy_slot_s=None if is_lossy else Reading(look.busy_s, at_s),
            # Emulated slots sleep: nothing follows from what their processes do.
            **({} if self._emulated else self._host_totals.readings(at_s)),
        )

    def _without_totals(self, worker: Worker) -> Worker:
        source, _, _ = self._used.get(worker.id, ("", 0.0, 0.0))
        if source == "proc" or worker.cpu_from == "prometheus":
            return replace(worker, records=None)
        # Nor is anything said from the look before to the next one.
        self._used.pop(worker.id, None)
        return replace(worker, records=None, cpu=None, cpu_from=None)

    def _worker(
        self,
        name: str,
        leaving: bool,
        seen: PoolSeen,
        look: Snapshot,
        usage: Mapping[str, Usage],
        outside: OutsideUse,
        at_s: float,
    ) -> Worker:
        executor, process = look.executors.get(name), usage.get(name)
        if outside.cpu is not None and process is None and not self._emulated:
            # Where that is silent, what tasks tell does not stand in: it is less, and a fall that is none.
            source, told = "prometheus", outside.cpu.get(name)
            cpu = None if told is None else Reading(told.value / seen.slots_per_worker, told.at_s)
        else:
            source, used_s = self._processor_time(executor, process, at_s)
            cpu = None if used_s is None else self._cpu(name, source, used_s, seen.slots_per_worker, at_s)
        memory = None if outside.memory is None else outside.memory.get(name)
        return Worker(
            id=name,
            state="leaving" if leaving else "ready",
            since_s=self._first_seen_s[name],
            pid=None if process is None else process.pid,
            node=None if executor is None else executor.host,
            running_tasks=0 if executor is None else executor.running + executor.other_running,
            cpu=cpu,
            cpu_from=None if cpu is None else source,
            heap_bytes=None if executor is None or executor.heap_bytes is None else Reading(executor.heap_bytes, at_s),
            memory_bytes=memory if process is None else Reading(process.memory_bytes, at_s),
            records=Reading(0.0 if executor is None else executor.records, at_s),
        )

    def _processor_time(
        self, executor: ExecutorSeen | None, process: Usage | None, at_s: float
    ) -> tuple[str, float | None]:
        """Where it was read, and the total."""
        if self._emulated:
            return "busy-slots", None if executor is None else executor.busy_s
        if process is not None:
            return "proc", process.cpu_s
        return "tasks", None if executor is None else self._task_cpu.update(executor, at_s)

    def _cpu(self, name: str, source: str, used_s: float, slots: int, at_s: float) -> Reading | None:
        """Share of its slots since the last look."""
        before = self._used.get(name)
        self._used[name] = source, used_s, at_s
        # A Python worker that was killed takes its time with it.
        if before is None or before[0] != source or used_s < before[1] or at_s <= before[2]:
            return None
        return Reading((used_s - before[1]) / (at_s - before[2]) / slots, at_s)

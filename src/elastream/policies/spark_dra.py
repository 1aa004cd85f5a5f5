"""Spark's dynamic allocation (core ExecutorAllocationManager), which knows tasks and nothing of streams.

A target that is never above what the tasks that run or wait could use. When tasks have waited for one second it grows
by 1, then by 2, 4, 8 while they go on waiting, and as soon as fewer are needed it falls to that; an executor that was
idle for 60 s and is above the target is removed. With many tasks per batch it therefore grows to the limit in every
batch, and where the gaps between batches are shorter than a minute it never shrinks.

Spark runs this every 100 ms. Between two looks the steps are made up for: the state machine is advanced in steps of
100 ms as if what is seen now had been so since the look before, or since the running batch began. Where a platform
counts the tasks of a whole batch, those of stages that have not begun do not wait yet. The smallest and the largest
size are those of the pool, and a pool is never without a worker.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, TypedDict

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query, Worker
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.registry import setting

_STEP_S = 0.1


class DraTarget(TypedDict):
    """The state machine of one pool."""

    size: int
    to_add: int
    """What the next step up adds."""
    add_s: float | None
    """When it may be taken; None while no task waits."""


class Idle(TypedDict):
    """One worker, as far as its rest goes."""

    since_s: float | None
    records: float | None


class SparkDraMemory(TypedDict):
    """What is remembered from look to look."""

    at_s: float | None
    tasks: int | None
    """Tasks that ran or waited at the last look."""
    targets: dict[str, DraTarget]
    idle: dict[str, Idle]
    """Worker ('pool/worker') -> since when it has nothing to do."""


@policies.register("spark-dra")
@dataclass(frozen=True, kw_only=True)
class SparkDra:
    """As many executors as the tasks could use, step by step, and fewer after a minute of idleness."""

    backlog_timeout_s: float = setting(1.0, doc="tasks have waited this long before the first step up")
    sustained_timeout_s: float | None = setting(None, doc="and this long before each further one; else the same")
    idle_timeout_s: float = setting(60.0, doc="an executor idle for so long is removed")
    allocation_ratio: float = setting(1.0, doc="slots wished for per task")
    interval_s: float = setting(1.0, doc="how often to decide")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.BATCHES),)
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def __post_init__(self) -> None:
        for name in ("backlog_timeout_s", "sustained_timeout_s"):
            value = getattr(self, name)
            if value is not None and value < _STEP_S:
                raise BadInput(f"policy spark-dra: {name} is {value:g}; Spark looks every {_STEP_S:g} s")
        if not 0 < self.allocation_ratio <= 1:
            raise BadInput(
                f"policy spark-dra: allocation_ratio is {self.allocation_ratio:g}; it must be above 0 and at most 1"
            )

    def start(self) -> SparkDraMemory:
        """Nothing was seen."""
        return {"at_s": None, "tasks": None, "targets": {}, "idle": {}}

    def learn(self, memory: SparkDraMemory, now: Observation, last: Decision | None) -> SparkDraMemory:
        """Advance the state machine to now."""
        tasks = _tasks(now)
        targets: dict[str, DraTarget] = {}
        for pool in now.pools:
            before = memory["targets"].get(pool.name) or {"size": pool.wanted, "to_add": 1, "add_s": None}
            targets[pool.name] = before if tasks is None else self._advanced(before, pool, tasks, memory, now)
        idle = {
            f"{pool.name}/{worker.id}": _rest(
                memory["idle"].get(f"{pool.name}/{worker.id}"), worker, now, memory["at_s"]
            )
            for pool in now.pools
            for worker in pool.workers
            if worker.state == "ready"
        }
        return {"at_s": now.at_s, "tasks": tasks, "targets": targets, "idle": idle}

    def decide(self, now: Observation, known: Knowledge, memory: SparkDraMemory) -> Decision:
        """The target, and whoever is above it and has not been idle for long enough."""
        for query in now.queries:
            if query.phase != "terminated" and query.batches is None:
                return Decision.hold(now, f"batches of {query.name} are not known")
        tasks = memory["tasks"]
        if tasks is None:
            return Decision.hold(now, "it is not known how many tasks the running batch has")
        allocation, sentences, leave = {}, [], []
        evidence: dict[str, Json] = {"tasks": tasks}
        for pool in now.pools:
            target = memory["targets"][pool.name]["size"]
            idle = self._timed_out(pool, now.at_s, memory)
            allocation[pool.name] = max(1, target, pool.ready - len(idle))
            leave += idle
            evidence[f"target/{pool.name}"] = target
            sentences.append(
                f"{tasks} tasks run or wait, the target of {pool.name} is {target}, "
                f"{len(idle)} idle for {self.idle_timeout_s:g} s"
            )
        reason = "; ".join(sentences) or "no pool is known"
        if allocation == now.wanted():
            return Decision.keep(now, reason, evidence)
        return Decision(allocation=allocation, reason=reason, evidence=evidence, leave_first=tuple(leave))

    def _advanced(
        self, before: DraTarget, pool: Pool, tasks: int, memory: SparkDraMemory, now: Observation
    ) -> DraTarget:
        """The state after all steps since the last look."""
        needed = math.ceil(tasks * self.allocation_ratio / pool.slots_per_worker - 1e-9)
        since_s = _since(now, memory["at_s"])
        state: DraTarget = {**before}
        if tasks <= pool.slots:
            # Nobody waits.
            state["to_add"], state["add_s"] = 1, None
        elif state["add_s"] is None:
            state["add_s"] = since_s + self.backlog_timeout_s
        if needed < state["size"]:
            state["size"], state["to_add"] = max(needed, pool.min_workers), 1
        limit = min(needed, max(pool.max_workers, state["size"]))
        again_s = self.sustained_timeout_s or self.backlog_timeout_s
        while state["add_s"] is not None and state["add_s"] <= now.at_s + 1e-9:
            if state["size"] >= limit:
                # Nothing is left to add; the clock of further steps goes on.
                state["to_add"] = 1
                state["add_s"] += again_s * (math.floor((now.at_s - state["add_s"]) / again_s) + 1)
                break
            state = _one_step_up(state, pool, limit)
            taken_s = _on_grid(state["add_s"] or since_s, since_s)
            state["add_s"] = taken_s + again_s
        return state

    def _timed_out(self, pool: Pool, now_s: float, memory: SparkDraMemory) -> list[str]:
        found = []
        for worker in pool.workers:
            rest = memory["idle"].get(f"{pool.name}/{worker.id}")
            if rest and rest["since_s"] is not None and now_s - rest["since_s"] >= self.idle_timeout_s:
                found.append(worker.id)
        return found


def _one_step_up(state: DraTarget, pool: Pool, limit: int) -> DraTarget:
    """Twice as many as the last time, counted from what is there already."""
    size = min(max(state["size"], pool.ready) + state["to_add"], limit)
    added = size - state["size"]
    return {**state, "size": max(size, state["size"]), "to_add": state["to_add"] * 2 if added == state["to_add"] else 1}


def _on_grid(at_s: float, since_s: float) -> float:
    """The first of the 100 ms steps that is not before a time."""
    return since_s + math.ceil(max(0.0, at_s - since_s) / _STEP_S - 1e-6) * _STEP_S


def _since(now: Observation, looked_s: float | None) -> float:
    """Since when what is seen now has been so: the last look, or the beginning of the running batch."""
    began = [query.running.started_s for query in now.queries if query.running is not None]
    since_s = max(looked_s if looked_s is not None else now.at_s, min(began, default=0.0))
    return min(since_s, now.at_s)


def _tasks(now: Observation) -> int | None:
    """Tasks that run or wait, over all queries; None where a batch does not tell."""
    total = 0
    for query in now.queries:
        tasks = _tasks_of(query)
        if tasks is None:
            return None
        total += tasks
    return total


def _tasks_of(query: Query) -> int | None:
    batch = query.running
    if batch is None or query.phase == "terminated":
        return 0
    if batch.tasks is None or batch.tasks_done is None:
        return None
    sizes = {work.name: work.tasks or 0 for work in query.operators}
    left = max(0, batch.tasks - batch.tasks_done)
    if sum(sizes.values()) != batch.tasks:
        return left
    done = batch.tasks_done
    for level in query.topology.levels():
        of_level = sum(sizes.get(operator.name, 0) for operator in level)
        if done < of_level:
            return of_level - done
        done -= of_level
    return 0


def _rest(before: Idle | None, worker: Worker, now: Observation, looked_s: float | None) -> Idle:
    """Idle since the last batch ended, or since the look before if it has worked after that."""
    records = None if worker.records is None else worker.records.value
    if worker.running_tasks or (worker.running_tasks is None and any(query.running for query in now.queries)):
        return {"since_s": None, "records": records}
    if before is not None and before["since_s"] is not None and before["records"] == records and records is not None:
        return {**before}
    ended = [query.finished.ended_s for query in now.queries if query.finished is not None]
    worked = before is not None and (
        before["since_s"] is None or (records is not None and before["records"] != records)
    )
    since_s = max([worker.since_s, *ended, *([looked_s] if worked and looked_s is not None else [])])
    return {"since_s": min(since_s, now.at_s), "records": records}

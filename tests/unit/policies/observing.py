"""Looks at a dataflow that does what a test says: operators with a pool each, or all in one, and rates over time.

    flow = Dataflow(Doing("source"), Doing("count", after=("source",), workers=4))
    flow.passes(60, source={"in_rps": 1_000}, count={"in_rps": 800, "busy": 1.0})
    decision = flow.decides(SomePolicy())

What is stated holds from then on. Totals are summed up from rates, so they only grow; levels stand as stated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import (
    FinishedBatch,
    Observation,
    OperatorWork,
    Phase,
    Pool,
    Query,
    Reading,
    RunningBatch,
    Source,
    Trigger,
    Worker,
)
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.core.topology import Edge, Operator, Topology
from elastream.loop.planner import Planner
from elastream.testing import POOL, pool

EVERYTHING = frozenset(Signal)


@dataclass(frozen=True)
class Doing:
    """What one operator does from now on. None leaves the signal unknown."""

    name: str
    after: tuple[str, ...] = field(default=(), kw_only=True)
    workers: int = field(default=1, kw_only=True)
    """Size of its own pool; without meaning where all share one."""
    arrival_rps: float | None = field(default=None, kw_only=True)
    """Of a source's log; as many as it takes in, unless said."""
    in_rps: float | None = field(default=0.0, kw_only=True)
    out_rps: float | None = field(default=None, kw_only=True)
    """As many as it takes in, unless said."""
    busy: float | None = field(default=0.5, kw_only=True)
    """Share of its workers' time."""
    backpressure: float | None = field(default=0.0, kw_only=True)
    """Share of its workers' time."""
    queue: float | None = field(default=0.0, kw_only=True)
    queue_room: float | None = field(default=None, kw_only=True)
    cpu: float | tuple[float | None, ...] | None = field(default=0.5, kw_only=True)
    """Of every worker of its pool, or of one after the other."""
    worker_rps: tuple[float, ...] | None = field(default=None, kw_only=True)
    """Records per worker; equal shares, unless said."""
    tasks: int | None = field(default=None, kw_only=True)
    partitions: int | None = field(default=None, kw_only=True)
    parallel: bool = field(default=True, kw_only=True)


class Dataflow:
    """One query, seen again and again."""

    def __init__(
        self,
        *operators: Doing,
        shared: int | None = None,
        slots: int = 1,
        most: int = 100,
        tick_s: float = 15.0,
        trigger_s: float | None = None,
        provides: frozenset[Signal] = EVERYTHING,
    ) -> None:
        """`shared`: workers of the one pool that runs all operators; without it each has a pool named like itself."""
        self.doing = {operator.name: operator for operator in operators}
        self.shared = shared
        self.slots, self.most, self.tick_s = slots, most, tick_s
        self.trigger = Trigger(interval_s=trigger_s)
        self.provides = provides
        self.running: RunningBatch | None = None
        self.finished: FinishedBatch | None = None
        self.phase: Phase = "running"
        self.at_s = 0.0
        self.totals: dict[tuple[str, str], float] = {}
        self.changed: dict[str, Mapping[str, Any]] = {}
        """Pool -> fields of it that are not what they would be, such as `wanted` while workers are coming."""
        self.looks: list[Observation] = [self._look()]

    @property
    def now(self) -> Observation:
        """The last look."""
        return self.looks[-1]

    def passes(self, for_s: float, **changes: Mapping[str, Any]) -> Observation:
        """Let time pass, looking every `tick_s`, with what is stated about operators from here on."""
        for name, change in changes.items():
            self.doing[name] = replace(self.doing[name], **change)
        until_s = self.at_s + for_s
        while self.at_s < until_s - 1e-9:
            step_s = min(self.tick_s, until_s - self.at_s)
            self._add_up(step_s)
            self.at_s += step_s
            self.looks.append(self._look())
        return self.now

    def resized(self, **workers: int) -> None:
        """Pools have another size from the next look on; the shared one is `executors`."""
        if self.shared is not None:
            self.shared = workers.get(POOL, self.shared)
        for name in self.doing.keys() & workers.keys():
            self.doing[name] = replace(self.doing[name], workers=workers[name])

    def seen_with(self, pool_name: str, **fields: Any) -> None:
        """A pool is seen with other fields from the next look on."""
        self.changed[pool_name] = {**self.changed.get(pool_name, {}), **fields}

    def batch(self, seconds: float, *, rows: float = 0.0, limited: bool | None = None) -> None:
        """A batch of so many seconds ends now."""
        number = self.finished.id + 1 if self.finished else 0
        self.finished = FinishedBatch(
            id=number, started_s=self.at_s - seconds, ended_s=self.at_s, rows=rows, busy_s=seconds, limited=limited
        )
        self.totals["", "batches"] = self.totals.get(("", "batches"), 0.0) + 1

    def known(self) -> Knowledge:
        """What is known after all looks."""
        known = Knowledge(self.provides)
        for look in self.looks:
            known.fold(look)
        return known

    def decides(self, policy: Policy[Any]) -> Decision:
        """What a policy says on the last look, having learned from all of them and decided on none before."""
        memory = policy.start()
        for look in self.looks:
            memory = policy.learn(memory, look, None)
        return policy.decide(self.now, self.known(), memory)

    def plans(self, policy: Policy[Any]) -> list[Decision]:
        """What a policy says look after look, in the loop and without guards but the bounds."""
        planner = Planner(policy, {}, self.provides)
        plans = [planner.plan(look) for look in self.looks]
        assert not any(plan.troubles for plan in plans), [plan.troubles for plan in plans]
        return [plan.decision for plan in plans]

    def _workers(self, doing: Doing) -> int:
        return doing.workers if self.shared is None else self.shared

    def _add_up(self, step_s: float) -> None:
        for name, doing in self.doing.items():
            slot_s = step_s * self._workers(doing) * self.slots
            in_rps = doing.in_rps or 0.0
            self._grow(name, "in", in_rps * step_s)
            self._grow(name, "out", (in_rps if doing.out_rps is None else doing.out_rps) * step_s)
            self._grow(name, "arrived", (in_rps if doing.arrival_rps is None else doing.arrival_rps) * step_s)
            self._grow(name, "busy", (doing.busy or 0.0) * slot_s)
            self._grow(name, "backpressure", (doing.backpressure or 0.0) * slot_s)
            workers = self._workers(doing)
            rates = doing.worker_rps or (in_rps / max(1, workers),) * workers
            for number, rate in enumerate(rates):
                self._grow(f"{name}/{number}", "records", rate * step_s)

    def _grow(self, name: str, what: str, by: float) -> None:
        self.totals[name, what] = self.totals.get((name, what), 0.0) + by

    def _total(self, name: str, what: str) -> Reading:
        return Reading(self.totals.get((name, what), 0.0), self.at_s)

    def _look(self) -> Observation:
        if self.shared is None:
            pools = tuple(self._pool(name, (doing,), doing.workers) for name, doing in self.doing.items())
        else:
            pools = (self._pool(POOL, tuple(self.doing.values()), self.shared),)
        return Observation(
            at_s=self.at_s, utc_s=self.at_s, application="app", pools=pools, queries=(self._query(),)
        )  # fmt: skip

    def _pool(self, name: str, doing: tuple[Doing, ...], workers: int) -> Pool:
        busy = sum(self.totals.get((operator.name, "busy"), 0.0) for operator in doing)
        made = replace(
            pool(name, ready=workers, slots=self.slots, most=self.most),
            busy_slot_s=Reading(busy, self.at_s),
            workers=tuple(self._worker(doing[0], number) for number in range(workers)),
        )
        return replace(made, **self.changed.get(name, {}))

    def _worker(self, doing: Doing, number: int) -> Worker:
        each = doing.cpu if isinstance(doing.cpu, tuple) else (doing.cpu,) * (number + 1)
        cpu = each[number] if number < len(each) else None
        return Worker(
            id=str(number),
            state="ready",
            since_s=0.0,
            cpu=None if cpu is None else Reading(cpu, self.at_s),
            records=self._total(f"{doing.name}/{number}", "records"),
        )

    def _query(self) -> Query:
        operators = tuple(
            Operator(
                name=name,
                pool=name if self.shared is None else POOL,
                partitions=doing.partitions,
                parallel=doing.parallel,
            )
            for name, doing in self.doing.items()
        )
        edges = tuple(Edge(upstream, name) for name, doing in self.doing.items() for upstream in doing.after)
        sources = tuple(
            Source(
                name=name,
                arrived=self._total(name, "arrived"),
                committed=None if doing.in_rps is None else self._total(name, "in"),
                partitions=doing.partitions,
            )
            for name, doing in self.doing.items()
            if not doing.after
        )
        return Query(
            id="q",
            name="q",
            phase=self.phase,
            topology=Topology(operators=operators, edges=edges),
            trigger=self.trigger,
            sources=sources,
            operators=tuple(self._work(doing) for doing in self.doing.values()),
            running=self.running,
            finished=self.finished,
            batches=self._total("", "batches"),
        )

    def _work(self, doing: Doing) -> OperatorWork:
        return OperatorWork(
            name=doing.name,
            tasks=doing.tasks,
            records_in=None if doing.in_rps is None else self._total(doing.name, "in"),
            records_out=None if doing.in_rps is None else self._total(doing.name, "out"),
            busy_s=None if doing.busy is None else self._total(doing.name, "busy"),
            backpressure_s=None if doing.backpressure is None else self._total(doing.name, "backpressure"),
            queue=None if doing.queue is None else Reading(doing.queue, self.at_s),
            queue_room=None if doing.queue_room is None else Reading(doing.queue_room, self.at_s),
        )

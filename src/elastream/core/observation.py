"""One look at an application: its pools, workers and queries, and the work that belongs to none of them.

Unknown is None, zero is a value. What was measured carries the time it was measured at; what is too old or impossible
is made unknown by `credible` before a policy sees it. Totals only grow (see `signals`); one that has not moved carries
the time it was last seen not to have moved, so that it does not grow old during a long batch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from elastream.core.control import Control
from elastream.core.signals import Signal
from elastream.core.slo import OnTime, Slo
from elastream.core.task_cost import TaskCost
from elastream.core.topology import Topology

Phase = Literal["starting", "running", "between-triggers", "no-data", "restarting", "terminated"]
"""What a query is doing; none of them may be mistaken for another."""


ArrivedFrom = Literal["probe", "estimated", "reported", "extrapolated", "prometheus"]
"""Asked of the log; from bytes of files; as of the last batch's planning; carried on from a rate; asked elsewhere."""


class Reading(NamedTuple):
    """A number and the time at which it was true."""

    value: float
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One executor."""

    id: str
    state: Literal["starting", "ready", "leaving"]
    since_s: float
    """When it was first seen."""
    pid: int | None = None
    """Its process, where it runs on this machine."""
    node: str | None = None
    delays_ms: Mapping[str, float] | None = None
    """Network delay to other nodes."""
    running_tasks: int | None = None
    cpu: Reading | None = None
    cpu_from: str | None = None
    """Where the processor use was read: 'proc', 'prometheus', 'tasks' (the times that tasks tell, of an executor on
    another host), or 'busy-slots' where it is only emulated."""
    memory_bytes: Reading | None = None
    heap_bytes: Reading | None = None
    """Of its JVM, garbage included, as of its last heartbeat with a task."""
    records: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """What can be resized. Four numbers with four names: wanted, requested, ready, leaving.

    Workers that are starting are among `workers` only where a platform can name them.
    """

    name: str
    slots_per_worker: int
    min_workers: int
    max_workers: int
    wanted: int
    """The size last decided."""
    requested: int
    """What the cluster has been asked for."""
    ready: int
    """Workers that can run tasks now; the leaving ones are not among them."""
    leaving: int
    """Workers on their way out, finishing what they run."""
    workers: tuple[Worker, ...] = ()
    worker_memory_bytes: float | None = None
    busy_slot_s: Reading | None = None
    system_s: Reading | None = None
    """Processor time in the kernel, of the executors whose processes are seen; None where not all are."""
    page_faults: Reading | None = None
    """Of the same: pages that had to be read from a disk."""
    host_cpu: Reading | None = None
    """Share of the cores of the driver's host that are busy, with whatever."""

    @property
    def slots(self) -> int:
        """Tasks that can run at once."""
        return self.ready * self.slots_per_worker

    @property
    def in_flux(self) -> bool:
        """Whether an earlier decision is still being carried out."""
        return self.ready != self.wanted or self.leaving > 0

    def workers_for(self, slots: float) -> int:
        """Workers that have at least so many slots."""
        # A demand of 4.000000001 slots is arithmetic, not a fifth slot.
        return max(0, math.ceil(slots / self.slots_per_worker - 1e-9))


class ReadLimit(NamedTuple):
    """What a source reads per batch at most."""

    most: float
    unit: Literal["records", "files", "bytes"] = "records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One input of a query, in records since its beginning."""

    name: str
    read_limit: ReadLimit | None = None
    """None: it reads all there is."""
    arrived: Reading | None = None
    arrived_from: ArrivedFrom | None = None
    committed: Reading | None = None
    backlog_age_s: Reading | None = None
    partitions: int | None = None
    partition_backlogs: tuple[float, ...] | None = None
    """In the order of its topics and their partitions, where the log tells them apart."""
    problem: str | None = None
    """Why it is not known now what has arrived, where that has a reason."""

    @property
    def backlog(self) -> float | None:
        """Arrived but not in a committed batch; the rows of the running batch are in it."""
        if self.arrived is None or self.committed is None:
            return None
        return max(0.0, self.arrived.value - self.committed.value)

    @property
    def uneven(self) -> str | None:
        """In words, where one partition holds at least twice its share of the backlog: executors do not split it."""
        parts = self.partition_backlogs or ()
        total = sum(parts)
        if len(parts) < 2 or total <= 0 or max(parts) * len(parts) < 2 * total:
            return None
        return f"{max(parts) / total:.0%} of it in one of {len(parts)} partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """When batches start: every so often, or as fast as possible (no interval)."""

    interval_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningStage:
    """A stage of the running batch that has begun and has not ended."""

    name: str
    tasks: int
    done: int
    running: int
    """Tasks that have a slot."""
    mean_s: float | None = None
    """Mean time of the tasks that are done."""
    oldest_s: float | None = None
    """For how long the task that began first of those that run has run."""

    @property
    def waiting(self) -> int:
        """Tasks that have no slot yet."""
        return max(0, self.tasks - self.done - self.running)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningBatch:
    """The batch that has not finished."""

    id: int
    started_s: float
    rows: float | None = None
    """Zero for a batch that only cleans up state."""
    tasks: int | None = None
    """Tasks known so far; more may follow."""
    tasks_done: int | None = None
    stages: tuple[RunningStage, ...] | None = None
    """Those that run tasks or wait for slots now: none while the driver or the sink is at work. None: not known."""
    last_task_s: float | None = None
    """When a stage of it ended last; None before the first."""

    @property
    def tasks_waiting(self) -> int | None:
        """Tasks that have no slot yet, of stages that have begun."""
        return None if self.stages is None else sum(stage.waiting for stage in self.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestTask:
    """The task that a batch waited for longest, and the mean of its stage."""

    stage: str
    tasks: int
    """Of its stage."""
    task_s: float
    mean_s: float
    records: float | None = None
    """That it read."""
    mean_records: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedBatch:
    """The last batch that was committed."""

    id: int
    started_s: float
    ended_s: float
    rows: float | None = None
    busy_s: float | None = None
    """Slot-seconds of its tasks."""
    limited: bool | None = None
    """Whether a read limit kept records out of it."""
    driver_s: float | None = None
    """Time in which no stage of it ran."""
    critical_s: float | None = None
    """Time that its tasks need on any number of slots: the longest task of each stage, one after the other."""
    longest: LongestTask | None = None
    cost: TaskCost | None = None
    parts_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def duration_s(self) -> float:
        """From trigger to commit."""
        return self.ended_s - self.started_s


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorWork:
    """What one operator has done so far."""

    name: str
    tasks: int | None = None
    """Tasks it was cut into last."""
    records_in: Reading | None = None
    records_out: Reading | None = None
    busy_s: Reading | None = None
    backpressure_s: Reading | None = None
    queue: Reading | None = None
    queue_room: Reading | None = None
    """Records that its buffers hold at most; None where there is no bound, or nobody tells it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedState:
    """What stateful operators keep."""

    store: str | None = None
    rows: Reading | None = None
    bytes: Reading | None = None
    commit_s: Reading | None = None
    """Slot-seconds of the last batch that went into writing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Arrival to commit, over the records committed within a window."""

    at_s: float
    window_s: float
    records: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One streaming query."""

    id: str
    name: str
    phase: Phase
    topology: Topology
    trigger: Trigger = Trigger()
    sources: tuple[Source, ...] = ()
    operators: tuple[OperatorWork, ...] = ()
    running: RunningBatch | None = None
    finished: FinishedBatch | None = None
    batches: Reading | None = None
    driver_s: Reading | None = None
    other_s: Reading | None = None
    """Slot-seconds of the query's tasks that could be matched with no operator."""
    state: KeyedState | None = None
    delay: Delay | None = None
    slo: Slo | None = None
    on_time: OnTime | None = None
    """How many records have kept the promise so far; None where nothing is promised."""
    watermark_utc_s: Reading | None = None
    """Event time up to which results are final."""
    event_utc_s: Reading | None = None
    """The newest event time that was read."""
    error: str | None = None
    """Why it ended, if it failed."""

    @property
    def backlog(self) -> float | None:
        """Records waiting over all sources, or None if that is unknown for one of them."""
        total = 0.0
        for source in self.sources:
            backlog = source.backlog
            if backlog is None:
                return None
            total += backlog
        return total if self.sources else None

    @property
    def is_within_slo(self) -> bool | None:
        """Whether the 95th percentile of the delay window is within the bound; None if unknown or not promised.

        Where nothing was committed in the window, the age of what waits stands in for the delay to come.
        """
        if self.slo is None:
            return None
        if self.delay is not None:
            return self.delay.p95_s <= self.slo.delay_s
        ages = [source.backlog_age_s for source in self.sources]
        known = [age.value <= self.slo.delay_s for age in ages if age is not None]
        return None if len(known) < len(ages) and all(known) else all(known) if known else None

    @property
    def delay_to_come_s(self) -> float | None:
        """The age of the oldest record that waits: a lower bound of its delay, known while nothing is committed."""
        ages = [source.backlog_age_s for source in self.sources]
        return max((age.value for age in ages if age is not None), default=None)

    def not_known(self, what: str) -> str:
        """A sentence for a hold: what of this query is not known, and which source is to blame."""
        # Before a batch has ended there may be nothing yet that one could have told.
        for source in self.sources if self.finished is not None else ():
            if source.arrived is None:
                reason = f" ({source.problem})" if source.problem else ""
                return f"{what} of {self.name} is not known: {source.name} does not tell how much has arrived{reason}"
        return f"{what} of {self.name} is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at an application. `at_s` is monotonic and serves everything; `utc_s` is for people and quiet hours."""

    at_s: float
    utc_s: float
    application: str
    pools: tuple[Pool, ...]
    queries: tuple[Query, ...] = ()
    other_busy_slots: Reading | None = None
    """Slots that run tasks of no query."""
    cluster_workers: int | None = None
    """Workers this application could have at most, over all pools, for lack of room."""
    lacks: Mapping[Signal, str] = field(default_factory=dict)
    """Signals that the platform provides and cannot fill as of this look, with the reason."""
    troubles: tuple[str, ...] = ()
    """What went wrong with looking, a sentence for each, though there is a look."""
    control: Control = Control()
    """What people have asked of the loop, as it stands; the bounds of the pools are theirs then."""

    def pool(self, name: str) -> Pool:
        """The pool of that name."""
        return next(pool for pool in self.pools if pool.name == name)

    @property
    def is_within_slo(self) -> bool | None:
        """Whether every promise is kept now; None if that is unknown for one and none is known to be broken."""
        found = [query.is_within_slo for query in self.queries if query.slo is not None]
        return False if False in found else None if None in found or not found else True

    @property
    def delay_to_come_s(self) -> float | None:
        """The age of the oldest record that waits for any query: a lower bound of the delay to come."""
        ages = [query.delay_to_come_s for query in self.queries if query.phase != "terminated"]
        return max((age for age in ages if age is not None), default=None)

    def wanted(self) -> dict[str, int]:
        """The allocation that was decided last."""
        return {pool.name: pool.wanted for pool in self.pools}

"""What is simulated: the queries of an application, the pool they share, and how its cluster behaves.

The numbers of a model are claims about a real job. Defaults come from measurements of Spark 4.2 on a small machine:
a tiny batch costs 0.11-0.19 s, an executor takes 4-12 s to start and is slow at first, and leaves within a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from elastream.core.errors import BadInput
from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.core.topology import Edge, Operator, Topology
from elastream.simulator.pool_model import PoolModel, changed_pool, check_numbers, check_pool

POOL = "executors"
"""Spark has one pool, shared by every operator of every query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceModel:
    """One input, and its share of the query's workload."""

    name: str
    share: float = 1.0
    partitions: int | None = None
    read_limit: float | None = None
    """Records per batch at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageModel:
    """One operator: tasks of equal size, but for the largest one, between two barriers."""

    name: str
    after: tuple[str, ...]
    """What feeds it: sources or other stages."""
    partitions: int
    slot_s_per_record: float
    """Work: slot-seconds per record taken in."""
    records_out: float = 1.0
    """Records given out per record taken in."""
    task_s: float = 0.02
    """Slot-seconds that each task costs whatever it reads."""
    waiting_share: float = 0.0
    """Of the work per record, what needs no core: a call to somewhere else, or a slot that is limited to a rate."""
    first_task_s: float = 0.0
    """How much longer the first task takes on a worker that was started: code to load, a Python worker, a store."""
    skew: float = 1.0
    """The largest task over the mean one."""
    crosstalk: float = 0.0
    """By this share tasks take longer for every pair of slots that has to talk, so that from some size on more slots do
    less (the last term of Gunther's universal scalability law)."""
    stateful: bool = False

    def longer_on(self, slots: int) -> float:
        """How many times longer a task takes than on one slot alone."""
        return 1.0 + self.crosstalk * slots * (slots - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateModel:
    """What stateful stages keep. It sticks to the executor that holds it; another one must load it first."""

    bytes_per_record: float = 0.0
    max_bytes: float = math.inf
    reload_bytes_per_s: float = 50e6


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryModel:
    """One streaming query."""

    name: str
    sources: tuple[SourceModel, ...]
    stages: tuple[StageModel, ...]
    trigger: Trigger = Trigger(interval_s=10.0)
    first_trigger_s: float = 0.0
    """When the first batch is planned: a query takes its time to start."""
    is_aligned: bool = True
    """Whether batches begin at multiples of the interval since the load began. Spark counts them from 1970, so that the
    load begins anywhere between two: then where is drawn."""
    phase_s: float = 0.0
    """Where they are aligned, how long after such a multiple."""
    plan_s: float = 0.10
    """Driver time before the first task of a batch."""
    commit_s: float = 0.08
    """Driver time after the last one."""
    state: StateModel = StateModel()
    locality_wait_s: float = 3.0
    """How long a task waits for the executor that holds its state."""
    offer_every_s: float = 0.0
    """How often such a task is offered others after that (`spark.scheduler.revive.interval`); 0: at once."""
    noise: float = 0.05
    """Standard deviation of the logarithm of a stage's work."""
    slo: Slo | None = None

    def topology(self) -> Topology:
        """The stages and the edges between them."""
        names = {stage.name for stage in self.stages}
        return Topology(
            operators=tuple(
                Operator(
                    name=stage.name,
                    pool=POOL,
                    partitions=stage.partitions,
                    stateful=stage.stateful,
                    reads=tuple(up for up in stage.after if up not in names),
                )
                for stage in self.stages
            ),
            edges=tuple(Edge(up, stage.name) for stage in self.stages for up in stage.after if up in names),
        )

    def slot_s_per_record(self, slots: int = 1) -> float:
        """Work of one arriving record through all stages, on so many slots."""
        share = {source.name: source.share for source in self.sources}
        work = 0.0
        for level in self.topology().levels():
            for operator in level:
                stage = next(stage for stage in self.stages if stage.name == operator.name)
                reaching = sum(share[up] for up in stage.after)
                work += reaching * stage.slot_s_per_record * stage.longer_on(slots)
                share[stage.name] = reaching * stage.records_out
        return work


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationModel:
    """Queries that share a pool."""

    name: str
    queries: tuple[QueryModel, ...]
    pool: PoolModel = field(default_factory=PoolModel)
    doc: str = ""

    def __post_init__(self) -> None:
        check_pool(self.pool, f"model {self.name}: pool")
        if not self.queries:
            raise BadInput(f"model {self.name}: no queries; an application has at least one")
        for query in self.queries:
            _check_query(query, f"model {self.name}: query {query.name}")

    @property
    def pools(self) -> dict[str, PoolModel]:
        """Its one pool by name, as models with several have them."""
        return {POOL: self.pool}

    @property
    def slo(self) -> Slo | None:
        """The strictest promise."""
        return min((query.slo for query in self.queries if query.slo), key=lambda slo: slo.delay_s, default=None)

    def full_rps(self) -> float:
        """Arrivals per second that a pool of full size can just process; infinite where records cost nothing."""
        slots = self.pool.max_workers * self.pool.slots_per_worker
        work_s = sum(query.slot_s_per_record(slots) for query in self.queries)
        return slots / work_s if work_s else math.inf

    def resized(self, **changes: int) -> ApplicationModel:
        """The model with another pool."""
        return replace(self, pool=changed_pool(self.pool, **changes))

    def promising(self, slo: Slo) -> ApplicationModel:
        """The model with this promise for every query."""
        return replace(self, queries=tuple(replace(query, slo=slo) for query in self.queries))


def _check_query(query: QueryModel, where: str) -> None:
    check_numbers(query, where)
    if not query.sources:
        raise BadInput(f"{where}: no sources; a query reads at least one")
    for source in query.sources:
        check_numbers(source, f"{where}: source {source.name}")
    names = {source.name for source in query.sources} | {stage.name for stage in query.stages}
    for stage in query.stages:
        check_numbers(stage, f"{where}: stage {stage.name}")
        if not stage.after:
            raise BadInput(f"{where}: stage {stage.name} is fed by nothing; name its sources or stages in `after`")
        unknown = set(stage.after) - names
        if unknown:
            raise BadInput(f"{where}: stage {stage.name} comes after {sorted(unknown)[0]!r}, which does not exist")
        if stage.skew > stage.partitions:
            raise BadInput(
                f"{where}: stage {stage.name}: skew {stage.skew:g} of {stage.partitions} tasks is impossible"
            )
    unread = {source.name for source in query.sources} - {name for stage in query.stages for name in stage.after}
    if unread:
        raise BadInput(f"{where}: source {sorted(unread)[0]!r} is read by no stage")
    query.topology().check([POOL], where)

"""What the continuous engine simulates: operators that run all the time, the logs they read, and their workers.

Flink, Heron and Timely differ in settings only. Flink and Heron have a pool per operator and bounded buffers; Timely
has one pool that every operator shares and buffers without a bound, so that queues grow where Flink would hold back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from elastream.core.errors import BadInput
from elastream.core.slo import Slo
from elastream.core.topology import Edge, Operator, Topology
from elastream.simulator.pool_model import PoolModel, changed_pool, check_numbers, check_pool

WARM = PoolModel(
    start_s=0.0, start_spread=0.0, cold_s=0.0, leave_s=0.0, memory_bytes=None, cpu_ceiling=1.0, cpu_noise=0.0
)
"""Workers that are there at once: the time a change takes is the restart of the job. Nothing is measured wrongly."""


class Feed(NamedTuple):
    """What feeds an operator, and how many records reach it for each one that is processed there."""

    name: str
    selectivity: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogModel:
    """An external log, such as a topic of Kafka, and its share of the workload."""

    name: str
    share: float = 1.0
    partitions: int | None = None
    """None: so many that every instance gets the same."""
    hot_share: float = 0.0
    """Share of the most frequent key: one partition gets all of it, and its part of the rest."""
    retention_s: float | None = None
    """Records that were not read after this time are gone. 0: no log at all but a generator, which makes nothing while
    it is held back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowModel:
    """Records are taken in and kept; at the end of every slide those of the last window are worked through."""

    every_s: float
    length_s: float | None = None
    """None: as long as the slide, so that each record is in one window."""
    fire_rps: float
    """Records that one instance works through per second when a window fires."""

    @property
    def panes(self) -> int:
        """In how many windows each record is."""
        return 1 if self.length_s is None else max(1, round(self.length_s / self.every_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorModel:
    """One operator, with as many instances as its pool has slots."""

    name: str
    after: tuple[Feed, ...]
    """Logs or operators, not both."""
    rate_rps: float
    """True rate: records that one instance, alone and always busy, processes per second."""
    pool: str | None = None
    """None: a pool of its own, of the operator's name."""
    buffer: float | None = None
    """Records that wait in front of one instance at most; None: no bound, so nothing is held back."""
    scaling: float = 1.0
    """n instances do the work of n ** scaling."""
    crosstalk: float = 0.0
    """By this share records take longer for every pair of instances that has to talk, so that from some number on more
    instances do less."""
    delay_cost_rps: float = 0.0
    """Records per second that all instances together lose for each millisecond between the most distant workers."""
    delay_idle: float = 0.0
    """Share of that loss in which processors are idle: data are on their way. Instances look busy all the same."""
    apart_cost: float = 0.0
    """Share of its rate that an instance loses when the job does not fit on one machine: records cross the network."""
    hot_share: float = 0.0
    """Share of the most frequent key: one instance gets all of it, and its part of the rest."""
    window: WindowModel | None = None
    partitions: int | None = None
    """More instances than that have nothing to do."""
    parallel: bool = True
    stateful: bool = False
    unseen: float = 0.0
    """Share of the work that useful time misses when an instance is idle otherwise; at full load nothing is missed."""

    @property
    def pool_name(self) -> str:
        """The pool it runs in."""
        return self.pool or self.name

    def speedup(self, instances: int) -> float:
        """How many times the work of one they do."""
        return float(instances**self.scaling / (1.0 + self.crosstalk * instances * (instances - 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartModel:
    """What a change of size, or the loss of a worker, costs: the job stops and starts anew."""

    grow_s: float = 0.0
    shrink_s: float = 0.0
    loss_s: float = 30.0
    """After a worker was lost."""
    downtimes_s: tuple[float, ...] = ()
    """The first restarts take these times, in order: for replays of recorded runs."""
    checkpoint_s: float | None = None
    """Work since the last checkpoint is done again. None: a savepoint is taken first, so that nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringModel:
    """How busy time and processor use are seen."""

    busy_ceiling: float = 1.0
    """Busy share of an instance that does all it can."""
    unsteady: float = 0.0
    """While records wait in the log, busy time and processor use are lower by up to this share, at random."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesModel:
    """Nodes, each with room for one worker, and the network delays between them."""

    nodes: tuple[str, ...]
    delays_ms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Both ways alike, so that one of them is enough; what is not given is 0."""
    start: tuple[str, ...] = ()
    """Nodes of the first workers; without them they begin anywhere."""
    anew: bool = False
    """A change that names no workers and no nodes stops all and starts them anywhere, as a deployment that is scaled to
    zero and up again; else those that stay stay where they are."""

    def delay_ms(self, one: str, other: str) -> float:
        """Delay between two nodes."""
        there = self.delays_ms.get(one, {}).get(other)
        return there if there is not None else self.delays_ms.get(other, {}).get(one, 0.0)

    def longest_ms(self, nodes: list[str]) -> float:
        """Largest delay between two of some nodes."""
        return max((self.delay_ms(a, b) for i, a in enumerate(nodes) for b in nodes[:i]), default=0.0)

    def least_ms(self, workers: int) -> float:
        """Largest delay between so many workers that are placed well: one after the other, from the best first node."""
        return min(self.longest_ms(self._grow(first, workers)) for first in self.nodes)

    def _grow(self, first: str, workers: int) -> list[str]:
        chosen = [first]
        while len(chosen) < min(workers, len(self.nodes)):
            free = [node for node in self.nodes if node not in chosen]
            chosen.append(min(free, key=lambda node: self.longest_ms([*chosen, node])))
        return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class DataflowModel:
    """A job of operators that run all the time."""

    name: str
    logs: tuple[LogModel, ...]
    operators: tuple[OperatorModel, ...]
    pools: Mapping[str, PoolModel]
    restart: RestartModel = RestartModel()
    measuring: MeasuringModel = MeasuringModel()
    places: PlacesModel | None = None
    cluster_workers: int | None = None
    """Workers there are for all pools together; None: always enough."""
    machine_slots: int | None = None
    """Slots of one machine. Instances of different operators share a slot, as in Flink, so that a job fits on one
    machine if its largest operator does. None: it always fits."""
    stops_sources_until: float | None = None
    """Heron: a full buffer stops all sources until it has been emptied to this share. None: an operator whose buffer is
    full holds back those that feed it, as in Flink."""
    base_latency_s: float = 0.0
    """What a record takes even when nothing waits."""
    step_s: float = 1.0
    slo: Slo | None = None
    doc: str = ""

    def __post_init__(self) -> None:
        _check(self, f"model {self.name}")

    def topology(self) -> Topology:
        """The operators and the edges between them."""
        names = {operator.name for operator in self.operators}
        return Topology(
            operators=tuple(
                Operator(
                    name=operator.name,
                    pool=operator.pool_name,
                    parallel=operator.parallel,
                    partitions=operator.partitions,
                    stateful=operator.stateful,
                    reads=tuple(feed.name for feed in operator.after if feed.name not in names),
                )
                for operator in self.operators
            ),
            edges=tuple(Edge(feed.name, op.name) for op in self.operators for feed in op.after if feed.name in names),
        )

    def ordered(self) -> list[OperatorModel]:
        """Operators in the order data reaches them."""
        by_name = {operator.name: operator for operator in self.operators}
        return [by_name[operator.name] for level in self.topology().levels() for operator in level]

    def gains(self) -> dict[str, float]:
        """Records that reach each operator for each one that arrives, over all logs."""
        given = {log.name: log.share for log in self.logs}
        for operator in self.ordered():
            given[operator.name] = sum(given[feed.name] * feed.selectivity for feed in operator.after)
        return {operator.name: given[operator.name] for operator in self.operators}

    def full_rps(self) -> float:
        """Arrivals per second that pools of full size can just process on the best nodes, skew aside."""
        gains = self.gains()
        slots = {name: pool.max_workers * pool.slots_per_worker for name, pool in self.pools.items()}
        most = sum(pool.max_workers for pool in self.pools.values())
        apart_ms = self.places.least_ms(most) if self.places is not None else 0.0
        work: dict[str, list[float]] = {name: [] for name in self.pools}
        for op in self.operators:
            speedup = op.speedup(slots[op.pool_name])
            rate_rps = max(0.0, op.rate_rps * speedup - op.delay_cost_rps * apart_ms)
            window_s = op.window.panes / op.window.fire_rps / speedup if op.window else 0.0
            work[op.pool_name].append(gains[op.name] * (1 / rate_rps + window_s) if rate_rps else math.inf)
        # Operators of one pool take turns on its slots.
        full = min((1 / sum(parts) for parts in work.values() if sum(parts)), default=math.inf)
        if self.cluster_workers is None:
            return full
        record_s = sum(
            gains[op.name] / op.rate_rps / self.pools[op.pool_name].slots_per_worker for op in self.operators
        )
        return min(full, self.cluster_workers / record_s) if record_s else full

    def resized(self, **changes: int) -> DataflowModel:
        """The model with every pool changed that has a size to choose."""
        return replace(
            self,
            pools={
                name: pool if pool.min_workers == pool.max_workers else changed_pool(pool, **changes)
                for name, pool in self.pools.items()
            },
        )

    def promising(self, slo: Slo) -> DataflowModel:
        """The model with this promise."""
        return replace(self, slo=slo)


def own_pools(operators: tuple[OperatorModel, ...], pool: PoolModel = WARM) -> dict[str, PoolModel]:
    """The same pool for each operator."""
    return {operator.pool_name: pool for operator in operators}


def _check(model: DataflowModel, where: str) -> None:
    for part, name in ((model, where), (model.restart, f"{where}: restart"), (model.measuring, f"{where}: measuring")):
        check_numbers(part, name)
    if model.stops_sources_until is not None and model.stops_sources_until >= 1:
        raise BadInput(f"{where}: stops_sources_until is {model.stops_sources_until:g}; it must be below 1")
    if not model.step_s:
        raise BadInput(f"{where}: steps of 0 s; time would stand still")
    if not model.logs:
        raise BadInput(f"{where}: no logs; a job reads at least one")
    for name, pool in model.pools.items():
        check_pool(pool, f"{where}: pool {name}")
    logs = {log.name for log in model.logs}
    names = logs | {operator.name for operator in model.operators}
    for log in model.logs:
        check_numbers(log, f"{where}: log {log.name}")
        if log.partitions is not None and log.partitions < 1:
            raise BadInput(f"{where}: log {log.name} has {log.partitions} partitions; at least 1 is needed")
        if log.hot_share > 1 or (log.hot_share and log.partitions is None):
            raise BadInput(
                f"{where}: log {log.name}: hot_share is {log.hot_share:g}; at most 1, and partitions are needed"
            )
    for operator in model.operators:
        _check_operator(operator, logs, names, f"{where}: operator {operator.name}")
        for log in model.logs:
            if operator.hot_share and log.partitions is not None and log.name in [feed.name for feed in operator.after]:
                raise BadInput(
                    f"{where}: operator {operator.name}: hot_share, though it reads partitions of {log.name}; give it "
                    "to the log"
                )
    unread = logs - {feed.name for operator in model.operators for feed in operator.after}
    if unread:
        raise BadInput(f"{where}: log {sorted(unread)[0]!r} is read by no operator")
    model.topology().check(model.pools, where)
    if model.places is not None:
        _check_places(model, model.places, where)


def _check_operator(operator: OperatorModel, logs: set[str], names: set[str], where: str) -> None:
    check_numbers(operator, where)
    if not operator.rate_rps:
        raise BadInput(f"{where}: rate_rps is 0; an instance that processes nothing holds up the job for good")
    if operator.apart_cost >= 1:
        raise BadInput(f"{where}: apart_cost is {operator.apart_cost:g}; it must be below 1")
    if operator.delay_idle > 1:
        raise BadInput(f"{where}: delay_idle is {operator.delay_idle:g}; processors are idle at most all of the loss")
    if operator.hot_share > 1:
        raise BadInput(f"{where}: hot_share is {operator.hot_share:g}; one key has at most all records")
    if not operator.after:
        raise BadInput(f"{where} is fed by nothing; name its logs or operators in `after`")
    for feed in operator.after:
        if feed.name not in names:
            raise BadInput(f"{where} comes after {feed.name!r}, which does not exist")
        if not 0 <= feed.selectivity < math.inf:
            raise BadInput(f"{where}: selectivity after {feed.name} is {feed.selectivity}; it must be at least 0")
    fed_by_logs = [feed.name in logs for feed in operator.after]
    if any(fed_by_logs) and not all(fed_by_logs):
        raise BadInput(f"{where} comes after logs and operators; read the log in an operator of its own")
    if any(feed.name in logs and feed.selectivity != 1.0 for feed in operator.after):
        raise BadInput(f"{where}: selectivity after a log; all records of a log are read")
    if operator.window is not None:
        check_numbers(operator.window, f"{where}: window")
        if not operator.window.every_s or not operator.window.fire_rps:
            raise BadInput(f"{where}: window: every_s and fire_rps must be more than 0")


def _check_places(model: DataflowModel, places: PlacesModel, where: str) -> None:
    if len(set(places.nodes)) != len(places.nodes):
        raise BadInput(f"{where}: places: a node is named twice")
    needed = sum(pool.initial_workers for pool in model.pools.values())
    if needed > len(places.nodes):
        raise BadInput(f"{where}: places: {len(places.nodes)} nodes for {needed} workers at the start; each takes one")
    if unknown := [node for node in places.start if node not in places.nodes]:
        known = ", ".join(places.nodes)
        raise BadInput(f"{where}: places: start names {unknown[0]!r}, which is no node; known: {known}")
    for one, row in places.delays_ms.items():
        for other, delay in row.items():
            if not {one, other} <= set(places.nodes):
                raise BadInput(f"{where}: places: a delay between {one!r} and {other!r}, of which one is no node")
            if not 0 <= delay < math.inf:
                raise BadInput(f"{where}: places: the delay from {one} to {other} is {delay}; it must be at least 0")

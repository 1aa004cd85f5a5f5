"""The continuous engine as a Platform: a job on Flink, Heron or Timely that exists only in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random

from elastream.core.decision import Decision
from elastream.core.observation import Observation, OperatorWork, Phase, Pool, Query, Reading, Source, Worker
from elastream.core.protocols import Clock
from elastream.core.signals import Signal
from elastream.simulator.cluster import SimulatedCluster, SimulatedWorker
from elastream.simulator.continuous.engine import ContinuousEngine
from elastream.simulator.continuous.instances import Instances
from elastream.simulator.continuous.log import SimulatedLog
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.faults import Fault
from elastream.simulator.measurement_faults import Measuring
from elastream.workloads.series import RateSeries

_ALWAYS = frozenset(
    {
        Signal.ARRIVED,
        Signal.COMMITTED,
        Signal.BACKLOG_AGE,
        Signal.DELAY,
        Signal.RECORDS_IN,
        Signal.RECORDS_OUT,
        Signal.BUSY_TIME,
        Signal.QUEUE,
        Signal.WORKER_CPU,
        Signal.WORKER_RECORDS,
        Signal.BUSY_SLOTS,
        Signal.READY,
        Signal.WORKER_CHOICE,
    }
)


def provides(model: DataflowModel) -> frozenset[Signal]:
    """Signals that such a job can fill: back-pressure only where something holds back, places only where there are."""
    holds_back = any(operator.buffer is not None for operator in model.operators)
    places = {Signal.WORKER_PLACE, Signal.PLACE_CHOICE} if model.places else set()
    return _ALWAYS | places | ({Signal.BACKPRESSURE_TIME} if holds_back else set())


class SimulatedDataflow:
    """A job on a continuous engine."""

    name = "dataflow"

    def __init__(
        self,
        model: DataflowModel,
        curves: Mapping[str, RateSeries],
        clock: Clock,
        *,
        seed: int = 0,
        faults: Sequence[Fault] = (),
    ) -> None:
        self.model = model
        self.clock = clock
        self.provides = provides(model)
        self.engine = ContinuousEngine(model, curves, seed=seed, faults=faults)
        self._topology = model.topology()
        self._holds_back = Signal.BACKPRESSURE_TIME in self.provides
        self._delays_ms = {
            node: {other: places.delay_ms(node, other) for other in places.nodes if other != node}
            for places in (model.places,)
            if places
            for node in places.nodes
        }
        self._random = Random(f"{seed}/metrics")
        self._measuring = Measuring(faults)

    def observe(self) -> Observation:
        """What can be seen now, or what faults leave of it."""
        now_s = self.clock.now_s()
        self.engine.advance(now_s)
        return self._measuring.seen(now_s, self._look)

    def apply(self, decision: Decision) -> None:
        """Begin to have the sizes that were decided."""
        self._measuring.check_change(self.clock.now_s())
        self.engine.resize(decision.allocation, decision.leave_first, decision.add_on)

    def has_ended(self) -> bool:
        """Never: a simulated run has a time to end at."""
        return False

    def _look(self, now_s: float) -> Observation:
        self.engine.settle_accounts()
        return Observation(
            at_s=now_s,
            utc_s=self.clock.utc_s(),
            application=self.model.name,
            pools=tuple(self._pool(cluster) for cluster in self.engine.clusters.values()),
            queries=(self._query(),),
            other_busy_slots=Reading(0.0, now_s),
            cluster_workers=self.model.cluster_workers,
        )

    def _query(self) -> Query:
        engine, model = self.engine, self.model
        return Query(
            id=model.name,
            name=model.name,
            phase=self._phase(),
            topology=self._topology,
            sources=tuple(_source(log, engine.now_s) for log in engine.logs),
            operators=tuple(self._work(operator) for operator in engine.operators),
            delay=engine.delay.at(engine.now_s),
            slo=model.slo,
            on_time=engine.on_time(),
        )

    def _phase(self) -> Phase:
        if self.engine.restarts.down:
            return "restarting"
        # A job that keeps up has nothing waiting either; it has no data only if none come.
        idle = all(not log.came and log.committed >= log.high and log.unread <= 0 for log in self.engine.logs)
        return "no-data" if idle else "running"

    def _work(self, operator: Instances) -> OperatorWork:
        at_s = self.engine.now_s
        queue = sum(log.waiting for log in operator.logs) if operator.logs else operator.queue
        return OperatorWork(
            name=operator.model.name,
            tasks=operator.count,
            records_in=Reading(operator.records_in, at_s),
            records_out=Reading(operator.records_out, at_s),
            busy_s=Reading(operator.busy_s, at_s),
            backpressure_s=Reading(operator.backpressure_s, at_s) if self._holds_back else None,
            queue=Reading(max(0.0, queue), at_s),
            queue_room=None if operator.logs or math.isinf(operator.room) else Reading(operator.room, at_s),
        )

    def _pool(self, cluster: SimulatedCluster) -> Pool:
        model = cluster.model
        busy_s = cluster.gone_busy_slot_s + sum(worker.busy_slot_s for worker in cluster.workers)
        return Pool(
            name=cluster.name,
            slots_per_worker=model.slots_per_worker,
            min_workers=model.min_workers,
            max_workers=model.max_workers,
            wanted=cluster.wanted,
            requested=cluster.requested,
            ready=sum(worker.state == "ready" for worker in cluster.workers),
            leaving=sum(worker.state == "leaving" for worker in cluster.workers),
            workers=tuple(self._worker(worker, cluster) for worker in cluster.workers),
            worker_memory_bytes=model.memory_bytes,
            busy_slot_s=Reading(busy_s, self.engine.now_s),
        )

    def _worker(self, worker: SimulatedWorker, cluster: SimulatedCluster) -> Worker:
        return Worker(
            id=worker.id,
            state="ready" if worker.state == "ready" else "leaving" if worker.state == "leaving" else "starting",
            since_s=worker.since_s,
            node=worker.node,
            delays_ms=self._delays_ms[worker.node] if worker.node is not None else None,
            cpu=self._cpu(worker, cluster),
            cpu_from="simulated",
            records=Reading(worker.records, self.engine.now_s),
        )

    def _cpu(self, worker: SimulatedWorker, cluster: SimulatedCluster) -> Reading | None:
        """Processor use since the last look; unknown while the job is down, for then nothing is measured."""
        now_s = self.engine.now_s
        since_s = max(worker.looked_s, self.engine.running_since_s)
        if self.engine.restarts.down or now_s <= since_s or worker.state == "starting":
            return None
        share = (worker.busy_slot_s - worker.looked_busy_s) / ((now_s - since_s) * worker.slots)
        worker.looked_s, worker.looked_busy_s = now_s, worker.busy_slot_s
        if self.engine.lagging:
            share *= 1 - self.model.measuring.unsteady * self._random.random()
        noise = self._random.gauss(0.0, cluster.model.cpu_noise) if cluster.model.cpu_noise else 0.0
        return Reading(min(1.0, max(0.0, share * cluster.model.cpu_ceiling + noise)), now_s)


def _source(log: SimulatedLog, now_s: float) -> Source:
    oldest_s = log.oldest_s()
    return Source(
        name=log.model.name,
        arrived=Reading(log.arrived, now_s),
        arrived_from="probe",
        # As offsets do, the count passes over what expired.
        committed=Reading(log.committed + log.expired, now_s),
        backlog_age_s=Reading(0.0 if oldest_s is None else max(0.0, now_s - oldest_s), now_s),
        partitions=log.model.partitions,
    )

"""The simulator as a Platform: looks and changes in virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from elastream.core.decision import Decision
from elastream.core.observation import (
    KeyedState,
    Observation,
    OperatorWork,
    Phase,
    Pool,
    Query,
    Reading,
    ReadLimit,
    RunningBatch,
    RunningStage,
    Source,
    Worker,
)
from elastream.core.protocols import Clock
from elastream.core.signals import Signal
from elastream.simulator.cluster import SimulatedWorker
from elastream.simulator.faults import Fault
from elastream.simulator.measurement_faults import Measuring
from elastream.simulator.microbatch.engine import MicroBatchEngine
from elastream.simulator.microbatch.model import POOL, ApplicationModel
from elastream.simulator.microbatch.query import SimulatedQuery, SimulatedSource
from elastream.workloads.series import RateSeries

PROVIDES = frozenset(
    {
        Signal.ARRIVED,
        Signal.COMMITTED,
        Signal.BACKLOG_AGE,
        Signal.BATCHES,
        Signal.DRIVER_TIME,
        Signal.DELAY,
        Signal.STATE_BYTES,
        Signal.RECORDS_IN,
        Signal.RECORDS_OUT,
        Signal.BUSY_TIME,
        Signal.WORKER_CPU,
        Signal.WORKER_RECORDS,
        Signal.BUSY_SLOTS,
        Signal.READY,
        Signal.WORKER_CHOICE,
    }
)


class SimulatedSpark:
    """An application on Spark's micro-batch engine that exists only in memory."""

    name = "simulator"
    provides = PROVIDES

    def __init__(
        self,
        model: ApplicationModel,
        curves: Mapping[str, RateSeries],
        clock: Clock,
        *,
        seed: int = 0,
        faults: Sequence[Fault] = (),
    ) -> None:
        self.model = model
        self.clock = clock
        self.engine = MicroBatchEngine(model, curves, seed=seed, faults=faults)
        self._random = Random(f"{seed}/metrics")
        self._measuring = Measuring(faults)

    def observe(self) -> Observation:
        """What can be seen now, or what faults leave of it."""
        now_s = self.clock.now_s()
        self.engine.advance(now_s)
        return self._measuring.seen(now_s, self._look)

    def apply(self, decision: Decision) -> None:
        """Begin to have the size that was decided."""
        self._measuring.check_change(self.clock.now_s())
        self.engine.resize(decision.allocation[POOL], decision.leave_first)

    def has_ended(self) -> bool:
        """Never: a simulated run has a time to end at."""
        return False

    def _look(self, now_s: float) -> Observation:
        return Observation(
            at_s=now_s,
            utc_s=self.clock.utc_s(),
            application=self.model.name,
            pools=(self._pool(now_s),),
            queries=tuple(_query(query, self.engine.running_stages(query), now_s) for query in self.engine.queries),
            other_busy_slots=Reading(self.engine.other_busy_slots, now_s),
            cluster_workers=self.model.pool.cluster_workers,
        )

    def _pool(self, now_s: float) -> Pool:
        cluster, model = self.engine.cluster, self.model.pool
        running = self.engine.running_slot_s()
        busy = {worker: worker.busy_slot_s + running.get(worker, 0.0) for worker in cluster.workers}
        return Pool(
            name=POOL,
            slots_per_worker=model.slots_per_worker,
            min_workers=model.min_workers,
            max_workers=model.max_workers,
            wanted=cluster.wanted,
            requested=cluster.requested,
            ready=sum(worker.state == "ready" for worker in cluster.workers),
            leaving=sum(worker.state == "leaving" for worker in cluster.workers),
            workers=tuple(self._worker(worker, busy[worker], now_s) for worker in cluster.workers),
            worker_memory_bytes=model.memory_bytes,
            busy_slot_s=Reading(cluster.gone_busy_slot_s + sum(busy.values()), now_s),
        )

    def _worker(self, worker: SimulatedWorker, busy_s: float, now_s: float) -> Worker:
        return Worker(
            id=worker.id,
            state="ready" if worker.state == "ready" else "leaving" if worker.state == "leaving" else "starting",
            since_s=worker.since_s,
            running_tasks=worker.running,
            cpu=self._cpu(worker, busy_s, now_s),
            cpu_from="simulated",
            records=Reading(worker.records, now_s),
        )

    def _cpu(self, worker: SimulatedWorker, busy_s: float, now_s: float) -> Reading | None:
        """Processor use since the last look, with the noise of its measurement."""
        elapsed_s = now_s - worker.looked_s
        if elapsed_s <= 0 or worker.state == "starting":
            return None
        share = (busy_s - worker.looked_busy_s) / (elapsed_s * worker.slots)
        worker.looked_s, worker.looked_busy_s = now_s, busy_s
        noise = self._random.gauss(0.0, self.model.pool.cpu_noise)
        return Reading(min(1.0, max(0.0, share * self.model.pool.cpu_ceiling + noise)), now_s)


def _query(query: SimulatedQuery, stages: tuple[RunningStage, ...], now_s: float) -> Query:
    model = query.model
    return Query(
        id=model.name,
        name=model.name,
        phase=_phase(query, now_s),
        topology=query.topology,
        trigger=model.trigger,
        sources=tuple(_source(source, now_s) for source in query.sources),
        operators=tuple(
            OperatorWork(
                name=stage.name,
                tasks=stage.partitions,
                records_in=Reading(query.totals[stage.name].records_in, now_s),
                records_out=Reading(query.totals[stage.name].records_out, now_s),
                busy_s=Reading(query.totals[stage.name].busy_s, now_s),
            )
            for stage in model.stages
        ),
        running=_running(query, stages),
        finished=query.finished,
        batches=Reading(query.batches, now_s),
        driver_s=Reading(query.driver_s, now_s),
        other_s=Reading(0.0, now_s),
        state=_state(query),
        delay=query.delay.at(now_s),
        slo=model.slo,
        on_time=query.on_time(now_s),
    )


def _phase(query: SimulatedQuery, now_s: float) -> Phase:
    if query.batch is not None:
        return "running"
    if all(source.arrived(now_s) == source.committed for source in query.sources):
        return "no-data"
    return "between-triggers"


def _source(source: SimulatedSource, now_s: float) -> Source:
    arrived = source.arrived(now_s)
    age_s = now_s - source.oldest_s() if arrived > source.committed else 0.0
    return Source(
        name=source.model.name,
        read_limit=None if source.model.read_limit is None else ReadLimit(source.model.read_limit),
        arrived=Reading(arrived, now_s),
        arrived_from="probe",
        committed=Reading(source.committed, now_s),
        backlog_age_s=Reading(max(0.0, age_s), now_s),
        partitions=source.model.partitions,
    )


def _running(query: SimulatedQuery, stages: tuple[RunningStage, ...]) -> RunningBatch | None:
    batch = query.batch
    if batch is None:
        return None
    return RunningBatch(
        id=batch.id,
        started_s=batch.started_s,
        rows=float(batch.rows),
        tasks=query.tasks,
        tasks_done=batch.tasks_done,
        stages=stages,
        last_task_s=batch.tasks_end_s or None,
    )


def _state(query: SimulatedQuery) -> KeyedState | None:
    """As in Spark, state is known when a batch ends."""
    if not query.homes or query.finished is None:
        return None
    return KeyedState(store="simulated", bytes=Reading(query.state_bytes(), query.finished.ended_s))

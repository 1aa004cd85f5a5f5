"""Which signals stand where in an observation."""

from collections.abc import Iterator

from elastream.core.observation import Observation, Reading
from elastream.core.signals import Signal


def readings(now: Observation) -> Iterator[tuple[Signal, str, Reading | None]]:
    """Every reading in an observation, with its signal and its subject ('query/source', 'pool/worker', ...)."""
    for pool in now.pools:
        yield Signal.BUSY_SLOTS, pool.name, pool.busy_slot_s
        yield Signal.READY, pool.name, Reading(pool.ready, now.at_s)
        yield Signal.SYSTEM_TIME, pool.name, pool.system_s
        yield Signal.PAGE_FAULTS, pool.name, pool.page_faults
        yield Signal.HOST_CPU, pool.name, pool.host_cpu
        for worker in pool.workers:
            subject = f"{pool.name}/{worker.id}"
            yield Signal.WORKER_CPU, subject, worker.cpu
            yield Signal.WORKER_MEMORY, subject, worker.memory_bytes
            yield Signal.WORKER_RECORDS, subject, worker.records
    for query in now.queries:
        yield Signal.BATCHES, query.id, query.batches
        yield Signal.DRIVER_TIME, query.id, query.driver_s
        if query.delay is not None:
            yield Signal.DELAY, query.id, Reading(query.delay.p95_s, query.delay.at_s)
        if query.state is not None:
            yield Signal.STATE_BYTES, query.id, query.state.bytes
        for source in query.sources:
            subject = f"{query.id}/{source.name}"
            yield Signal.ARRIVED, subject, source.arrived
            yield Signal.COMMITTED, subject, source.committed
            yield Signal.BACKLOG_AGE, subject, source.backlog_age_s
        for work in query.operators:
            subject = f"{query.id}/{work.name}"
            yield Signal.RECORDS_IN, subject, work.records_in
            yield Signal.RECORDS_OUT, subject, work.records_out
            yield Signal.BUSY_TIME, subject, work.busy_s
            yield Signal.BACKPRESSURE_TIME, subject, work.backpressure_s
            yield Signal.QUEUE, subject, work.queue

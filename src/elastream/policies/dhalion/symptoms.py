"""Dhalion's first step: from measurements to symptoms.

Detectors for back-pressure, queue size, skew of processing rates and skew of queues (Floratou et al., VLDB 2017). The
log in front of the sources is treated as one more operator: it is "back-pressured" while records pile up in it faster
than a threshold, so that a source is found by the same rule as any other bottleneck.

Where there is no back-pressure time (micro-batches), a batch that leaves records behind is the back-pressure of the
log: the share of its duration beyond the trigger interval. Stages of a batch have no queues of records between them;
theirs is what batches left behind. Queues of single instances are known of a source's partitions alone.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, NamedTuple

from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool, Query, Reading, Worker
from elastream.core.signals import Signal
from elastream.core.topology import Operator
from elastream.estimators.left_behind import Behind, growth_rps, period_s, records_behind

SymptomKind = Literal["back-pressure", "empty queue", "rate skew", "queue skew"]

# A log that nobody reads is as back-pressured as can be; one without input is not.
_ALL = 1.0


class Symptom(NamedTuple):
    """One sign of trouble, or of too much ease, at one operator or log."""

    kind: SymptomKind
    at: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SymptomLimits:
    """From where on a measurement is a symptom."""

    window_s: float
    backpressure: float
    lag_rps: float
    lag_records: float
    queue_share: float
    queue_s: float
    rate_skew: float
    queue_skew: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured at one operator."""

    name: str
    subject: str
    """Its name in what the loop knows."""
    pool: str
    above: tuple[str, ...]
    """What feeds it: operators, or its query's log."""
    held_up: float
    """Share of its time it was held up by what is below it."""
    is_empty: bool
    in_rps: float
    rate_spread: float | None
    """Fastest over slowest of its workers."""
    queue_spread: float | None
    """Longest over shortest of its queues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What was measured at the log of one query."""

    name: str
    held_up: float
    """Share of what arrives that is not taken in."""
    records: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Everything, operators in the order data reaches them."""

    operators: tuple[Measured, ...]
    logs: tuple[Log, ...]

    def held_up(self) -> dict[str, float]:
        """Share of time by operator or log."""
        logs = {log.name: log.held_up for log in self.logs}
        return logs | {operator.name: operator.held_up for operator in self.operators}


class Unknown(Exception):
    """Something needed is not known; the message is the sentence for a hold."""


def detect(measured: Measurements, limits: SymptomLimits) -> tuple[Symptom, ...]:
    """Symptoms of one look: logs first, then operators in the order data reaches them."""
    return tuple(_symptoms(measured, limits))


def _symptoms(measured: Measurements, limits: SymptomLimits) -> Iterator[Symptom]:
    pressed = {name: share for name, share in measured.held_up().items() if share > limits.backpressure}
    for name, share in pressed.items():
        yield Symptom("back-pressure", name, share)
    for one in measured.operators:
        # Who holds up what feeds it has a full queue, however small its buffer.
        if one.is_empty and pressed.keys().isdisjoint(one.above):
            yield Symptom("empty queue", one.name, 0.0)
        if one.rate_spread is not None and one.rate_spread > limits.rate_skew:
            yield Symptom("rate skew", one.name, one.rate_spread)
        if one.queue_spread is not None and one.queue_spread > limits.queue_skew:
            yield Symptom("queue skew", one.name, one.queue_spread)


def measure(now: Observation, known: Knowledge, memory: dict[str, Behind], limits: SymptomLimits) -> Measurements:
    """What the detectors look at. Raises Unknown."""
    logs: list[Log] = []
    operators: list[Measured] = []
    for query in now.queries:
        if query.phase == "terminated":
            continue
        prefix = "" if len(now.queries) == 1 else f"{query.name}/"
        log = _log(query, f"{prefix}log", now, known, memory, limits)
        logs.append(log)
        for level in query.topology.levels():
            # Whatever more slots do not make faster is no bottleneck that could be resolved.
            operators += [
                _operator(operator, query, prefix, log, now, known, limits) for operator in level if operator.parallel
            ]
    return Measurements(operators=tuple(operators), logs=tuple(logs))


def _log(
    query: Query, name: str, now: Observation, known: Knowledge, memory: dict[str, Behind], limits: SymptomLimits
) -> Log:
    behind = memory.get(query.id)
    if behind is None or query.backlog is None:
        raise Unknown(query.not_known("lag"))
    if _stands_in(known) and query.batches is None:
        raise Unknown(f"neither back-pressure nor batches of {query.name} are known")
    # Before the first batch has ended nothing was left behind yet.
    records = records_behind(behind, query) or 0.0
    grows = growth_rps(behind, query, now.at_s, limits.window_s) or 0.0
    taken = known.committed_rps(query, limits.window_s)
    if taken is None:
        raise Unknown(query.not_known("throughput"))
    held_up = lag_share(grows, taken) if grows > limits.lag_rps else 0.0
    if _stands_in(known):
        held_up = max(held_up, _overrun(query, now.at_s) if records > limits.lag_records else 0.0)
    return Log(name=name, held_up=held_up, records=records)


def lag_share(grows_rps: float, taken_rps: float) -> float:
    """Share of what arrives that is not taken in."""
    return grows_rps / (grows_rps + taken_rps) if grows_rps + taken_rps > 0 else _ALL


def _stands_in(known: Knowledge) -> bool:
    return Signal.BACKPRESSURE_TIME not in known.provides


def _overrun(query: Query, now_s: float) -> float:
    """Share of a batch's duration beyond the trigger interval, the running one's so far included."""
    longest_s = max(
        query.finished.duration_s if query.finished else 0.0,
        now_s - query.running.started_s if query.running else 0.0,
    )
    return max(0.0, 1 - period_s(query) / longest_s) if longest_s > 0 else 0.0


def _operator(
    operator: Operator, query: Query, prefix: str, log: Log, now: Observation, known: Knowledge, limits: SymptomLimits
) -> Measured:
    pool = next((pool for pool in now.pools if pool.name == operator.pool), None)
    if pool is None:
        raise Unknown(f"the pool {operator.pool} of {prefix}{operator.name} is not known")
    above = tuple(f"{prefix}{name}" for name in query.topology.upstream(operator.name)) or (log.name,)
    subject = f"{query.id}/{operator.name}"
    is_source = above == (log.name,)
    in_rps = known.rate(Signal.RECORDS_IN, subject, limits.window_s)
    if _stands_in(known) or is_source:
        is_empty = log.records <= limits.lag_records
    else:
        room = next((work.queue_room for work in query.operators if work.name == operator.name), None)
        is_empty = _is_empty(subject, room, in_rps, f"{prefix}{operator.name}", known, limits)
    return Measured(
        name=f"{prefix}{operator.name}",
        subject=subject,
        pool=pool.name,
        above=above,
        held_up=0.0 if _stands_in(known) else _held_up(subject, pool, f"{prefix}{operator.name}", known, limits),
        is_empty=is_empty,
        in_rps=in_rps or 0.0,
        rate_spread=_rate_spread(pool, now, known, limits),
        queue_spread=_queue_spread(query, limits) if is_source else None,
    )


def _held_up(subject: str, pool: Pool, name: str, known: Knowledge, limits: SymptomLimits) -> float:
    share = share_of_time(Signal.BACKPRESSURE_TIME, subject, pool, known, limits.window_s)
    if share is None:
        raise Unknown(f"back-pressure of {name} is not known")
    return share


def share_of_time(
    signal: Literal[Signal.BACKPRESSURE_TIME, Signal.BUSY_TIME],
    subject: str,
    pool: Pool,
    known: Knowledge,
    window_s: float,
) -> float | None:
    """Share of a pool's slot time that an operator was busy or held up."""
    spent_s = known.rate(signal, subject, window_s)
    ready = known.mean(Signal.READY, pool.name, window_s)
    return None if spent_s is None or not ready else min(1.0, spent_s / (ready * pool.slots_per_worker))


def below_back_pressure(above: Mapping[str, tuple[str, ...]], pressed: AbstractSet[str]) -> tuple[str, ...]:
    """Bottlenecks: operators that are not back-pressured themselves while something that feeds them is."""
    return tuple(name for name, feeds in above.items() if name not in pressed and not pressed.isdisjoint(feeds))


def _is_empty(
    subject: str, room: Reading | None, in_rps: float | None, name: str, known: Knowledge, limits: SymptomLimits
) -> bool:
    queue = known.mean(Signal.QUEUE, subject, limits.window_s)
    if queue is None:
        raise Unknown(f"queue of {name} is not known")
    if room is not None:
        return queue <= limits.queue_share * room.value
    # One record at most may wait at an operator that takes nothing in.
    return queue <= max(1.0, limits.queue_s * (in_rps or 0.0))


def _rate_spread(pool: Pool, now: Observation, known: Knowledge, limits: SymptomLimits) -> float | None:
    """Of workers that were there all the time, where they run nothing but this operator."""
    in_pool = [operator for query in now.queries for operator in query.topology.operators if operator.pool == pool.name]
    if len(in_pool) != 1:
        return None

    def rate(worker: Worker) -> float | None:
        return known.rate(Signal.WORKER_RECORDS, f"{pool.name}/{worker.id}", limits.window_s)

    settled = [w for w in pool.workers if w.state == "ready" and w.since_s <= now.at_s - limits.window_s]
    rates = [found for worker in settled if (found := rate(worker)) is not None]
    if len(rates) < 2 or max(rates) == 0:
        return None
    # Below one record a second a quotient says nothing.
    return max(rates) / max(1.0, min(rates))


def _queue_spread(query: Query, limits: SymptomLimits) -> float | None:
    queues = [queue for source in query.sources for queue in source.partition_backlogs or ()]
    if len(queues) < 2 or sum(queues) <= limits.lag_records:
        return None
    return max(queues) / max(1.0, min(queues))

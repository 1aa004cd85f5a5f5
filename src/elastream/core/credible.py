"""Too old is unknown, and so is what cannot be: the one place that makes None of either.

Policies and guards see only what passed through here, so none of them asks again.
"""

import math
from collections.abc import Iterator
from dataclasses import astuple, fields, is_dataclass, replace
from functools import cache
from operator import is_not
from typing import Any

from elastream.core.errors import ObservationFailed
from elastream.core.observation import (
    Delay,
    FinishedBatch,
    LongestTask,
    Observation,
    Pool,
    Query,
    Reading,
    RunningBatch,
    Source,
)
from elastream.core.readings import readings

# Clocks of two processes on one machine differ by less; a reading further ahead is from another clock.
_AHEAD_S = 5.0


# No counter of a JVM goes further, and squares of more no longer fit into a number.
_LARGEST = 2.0**63


def credible(now: Observation, max_age_s: float) -> Observation:
    """The same observation without what is stale, negative, NaN or larger than anything that is counted."""
    if not math.isfinite(now.at_s) or not math.isfinite(now.utc_s):
        raise ObservationFailed(f"the observation has no time: at_s={now.at_s}, utc_s={now.utc_s}")
    for pool in now.pools:
        _check_pool(pool)
    oldest, newest = now.at_s - max_age_s, now.at_s + _AHEAD_S
    now = _with_sound_numbers(now, oldest, newest)
    # Rebuilding is rare, and looking is cheap: this runs on every tick.
    return now if _is_all_sound(now, oldest, newest) else _with_sound_readings(now, oldest, newest)


def _check_pool(pool: Pool) -> None:
    if pool.slots_per_worker < 1 or min(pool.wanted, pool.requested, pool.ready, pool.leaving) < 0:
        raise ObservationFailed(
            f"pool {pool.name}: impossible sizes: slots per worker {pool.slots_per_worker}, wanted {pool.wanted}, "
            f"requested {pool.requested}, ready {pool.ready}, leaving {pool.leaving}"
        )
    if not 0 <= pool.min_workers <= pool.max_workers:
        raise ObservationFailed(
            f"pool {pool.name}: impossible bounds: between {pool.min_workers} and {pool.max_workers} workers"
        )


def _is_all_sound(now: Observation, oldest: float, newest: float) -> bool:
    for _, _, reading in readings(now):
        if reading is not None and not _is_sound(reading, oldest, newest):
            return False
    return all(reading is None or _is_sound(reading, oldest, newest) for reading in _other_readings(now))


def _is_sound(reading: Reading, oldest: float, newest: float) -> bool:
    # NaN fails every comparison, so it falls through to False.
    return 0 <= reading.value <= _LARGEST and oldest <= reading.at_s <= newest


def _finite(value: float | None) -> bool:
    return value is None or 0 <= value <= _LARGEST


def _other_readings(now: Observation) -> Iterator[Reading | None]:
    """Those without a signal of their own: nobody keeps them, but policies see them."""
    yield now.other_busy_slots
    for pool in now.pools:
        for worker in pool.workers:
            yield worker.heap_bytes
    for query in now.queries:
        yield query.other_s
        yield query.watermark_utc_s
        yield query.event_utc_s
        for work in query.operators:
            yield work.queue_room
        if query.state is not None:
            yield query.state.rows
            yield query.state.commit_s


def _with_sound_readings(now: Observation, oldest: float, newest: float) -> Observation:
    """Walk the whole observation and leave out readings that are not sound."""

    def cleaned(value: Any) -> Any:
        if isinstance(value, Reading):
            return value if _is_sound(value, oldest, newest) else None
        if type(value) is tuple:
            items = tuple(map(cleaned, value))
            return items if any(map(is_not, items, value)) else value
        kind: object = type(value)
        names = _parts(kind)
        if not names:
            return value
        changed = {name: sound for name in names if (sound := cleaned(part := getattr(value, name))) is not part}
        # What is sound as it is need not be built anew, and that is most of it.
        return replace(value, **changed) if changed else value

    result: Observation = cleaned(now)
    return result


@cache
def _parts(kind: object) -> tuple[str, ...]:
    """Names of what values of a class are made of; none if it is no dataclass."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def _with_sound_numbers(now: Observation, oldest: float, newest: float) -> Observation:
    """Leave out numbers that are no readings, one by one: what is sound beside them stays."""
    pools = tuple(
        pool if pool.worker_memory_bytes is None or 0 < pool.worker_memory_bytes <= _LARGEST
        else replace(pool, worker_memory_bytes=None)
        for pool in now.pools
    )  # fmt: skip
    queries = tuple(_with_sound_batches(query, oldest, newest) for query in now.queries)
    room = now.cluster_workers if _finite(now.cluster_workers) else None
    if pools == now.pools and room == now.cluster_workers and all(map(lambda a, b: a is b, queries, now.queries)):
        return now
    return replace(now, pools=pools, queries=queries, cluster_workers=room)


def _with_sound_batches(query: Query, oldest: float, newest: float) -> Query:
    sound: dict[str, Any] = {}
    if query.running is not None:
        sound["running"] = _sound_running(query.running)
    if query.finished is not None:
        sound["finished"] = _sound_finished(query.finished)
    if query.delay is not None and not _is_sound_delay(query.delay, oldest, newest):
        sound["delay"] = None
    if query.on_time is not None and not 0 <= query.on_time.within <= query.on_time.records <= _LARGEST:
        sound["on_time"] = None
    if not _finite(query.trigger.interval_s):
        sound["trigger"] = replace(query.trigger, interval_s=None)
    sources = tuple(_sound_source(source) for source in query.sources)
    if any(a is not b for a, b in zip(sources, query.sources, strict=True)):
        sound["sources"] = sources
    return replace(query, **sound) if any(getattr(query, name) is not value for name, value in sound.items()) else query


def _sound_source(source: Source) -> Source:
    if source.read_limit is not None and not _finite(source.read_limit.most):
        source = replace(source, read_limit=None)
    if all(map(_finite, source.partition_backlogs or ())):
        return source
    return replace(source, partition_backlogs=None)


def _sound_running(batch: RunningBatch) -> RunningBatch | None:
    if not _finite(batch.started_s):
        return None
    stages = batch.stages
    if stages is not None and not all(_finite(s.mean_s) and _finite(s.oldest_s) for s in stages):
        stages = None
    sound: dict[str, Any] = {
        "rows": batch.rows if _finite(batch.rows) else None,
        "stages": stages,
        "last_task_s": batch.last_task_s if _finite(batch.last_task_s) else None,
    }
    return batch if all(getattr(batch, name) is value for name, value in sound.items()) else replace(batch, **sound)


def _sound_finished(batch: FinishedBatch) -> FinishedBatch | None:
    if not (_finite(batch.started_s) and batch.started_s <= batch.ended_s <= _LARGEST):
        return None
    numbers: dict[str, Any] = {name: getattr(batch, name) for name in ("rows", "busy_s", "driver_s", "critical_s")}
    longest = batch.longest if batch.longest is None or _is_sound_task(batch.longest) else None
    cost = batch.cost if batch.cost is None or all(map(_finite, astuple(batch.cost))) else None
    is_sound = all(map(_finite, (*numbers.values(), *batch.parts_s.values())))
    if is_sound and longest is batch.longest and cost is batch.cost:
        return batch
    sound: dict[str, Any] = {name: value if _finite(value) else None for name, value in numbers.items()}
    parts = {name: part for name, part in batch.parts_s.items() if _finite(part)}
    return replace(batch, **sound, longest=longest, cost=cost, parts_s=parts)


def _is_sound_task(task: LongestTask) -> bool:
    return all(map(_finite, (task.task_s, task.mean_s, task.records, task.mean_records)))


def _is_sound_delay(delay: Delay, oldest: float, newest: float) -> bool:
    numbers = (delay.window_s, delay.records, delay.p50_s, delay.p95_s, delay.p99_s, delay.max_s)
    return all(map(_finite, numbers)) and oldest <= delay.at_s <= newest

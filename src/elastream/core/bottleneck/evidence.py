"""Which batches speak for a query: those in a row that show the same, and late ones."""

import math
from collections.abc import Sequence

from elastream.core.knowledge import Knowledge
from elastream.core.observation import FinishedBatch, LongestTask, Observation, Query

_BATCHES = 3
_BATCHES_S = 60.0
# Of a batch in which the longest tasks take four fifths, more slots can save one fifth at most.
CRITICAL = 0.8
# Tasks of one stage differ by half as a rule, and by a factor of two now and then.
_HOT = 3.0
_HOT_RECORDS = 2.0
LAST_TASK_S = 10.0
# Batches that run as fast as possible are late if they are longer than that, where nothing is promised.
_LONG_BATCH_S = 10.0
WINDOW_S = 60.0


def last_batches(query: Query, now: Observation, known: Knowledge) -> list[FinishedBatch]:
    """The last three, or fewer that took a minute; none if there are not so many or the running one is unlike them."""
    batches: list[FinishedBatch] = []
    took_s = 0.0
    for batch in reversed(known.batches(query.id)):
        if len(batches) == _BATCHES or took_s >= _BATCHES_S:
            break
        # A first batch loads classes and starts Python workers.
        if batch.id > 0:
            batches.append(batch)
            took_s += batch.duration_s
    if len(batches) < _BATCHES and took_s < _BATCHES_S:
        return []
    batches.reverse()
    return [] if is_contradicted(query, now, batches) else batches


def find_proof(query: Query, now: Observation, known: Knowledge) -> list[FinishedBatch]:
    """The last one, if it needs no others beside it: it waited long for a task that read most of the records.

    Else executors would be added between two batches of the first three, each of them known to wait for one task.
    """
    batch = next(reversed(known.batches(query.id)), None)
    if batch is None or batch.id == 0 or batch.longest is None or batch.longest.tasks < 2:
        return []
    is_long = batch.duration_s > max(LAST_TASK_S, query.trigger.interval_s or 0.0)
    is_proven = is_long and is_critical(batch) and is_hot(batch.longest) and has_most_records(batch.longest)
    return [batch] if is_proven and not is_contradicted(query, now, [batch]) else []


def is_contradicted(query: Query, now: Observation, batches: Sequence[FinishedBatch]) -> bool:
    """Whether the running batch is unlike those: longer, with tasks that wait for a slot."""
    running = query.running
    if running is None or not running.tasks_waiting:
        return False
    return now.at_s - running.started_s > 1.5 * max(batch.duration_s for batch in batches)


def late_batches(query: Query, now: Observation, known: Knowledge) -> list[FinishedBatch]:
    """The last ones if all of them were too long for their trigger, or too short of records to keep up."""
    batches = last_batches(query, now, known)
    # What runs as fast as possible is read by one batch and committed by the next: two batches are the longest delay.
    at_once_s = _LONG_BATCH_S if query.slo is None else min(_LONG_BATCH_S, query.slo.delay_s / 2)
    longest_s = query.trigger.interval_s or at_once_s
    if all(batch.duration_s > longest_s for batch in batches):
        return batches
    growth, arrival = known.backlog_growth_rps(query, WINDOW_S), known.arrival_rps(query, WINDOW_S)
    falls_behind = growth is not None and arrival is not None and growth > 0.05 * arrival
    at_once = query.trigger.interval_s is None
    return batches if at_once and falls_behind and all(batch.limited for batch in batches) else []


def has_new_workers(now: Observation, since_s: float) -> bool:
    """Whether one has come since then."""
    return any(worker.since_s > since_s for pool in now.pools for worker in pool.workers)


def is_critical(batch: FinishedBatch) -> bool:
    """Whether most of the time of its tasks is that of the longest ones, and not too little to say so."""
    if batch.critical_s is None or batch.driver_s is None:
        return False
    task_time_s = batch.duration_s - batch.driver_s
    return task_time_s >= batch.duration_s / 2 and batch.critical_s >= CRITICAL * task_time_s


def is_hot(task: LongestTask) -> bool:
    """Whether a task takes many times the time of the others because it has many times their records."""
    if task.tasks < 2 or task.task_s < _HOT * task.mean_s:
        return False
    # A task that is slow without more records than others has a slow executor.
    return not task.records or not task.mean_records or has_most_records(task)


def has_most_records(task: LongestTask) -> bool:
    """Whether it is known to read many times what the others read, or has no others."""
    return task.tasks == 1 or (task.records or 0.0) >= _HOT_RECORDS * (task.mean_records or math.inf)


def count_kept_busy(batch: FinishedBatch) -> int:
    """Slots that the tasks of a batch kept busy while they ran."""
    task_time_s = batch.duration_s - (batch.driver_s or 0.0)
    return max(1, math.ceil((batch.busy_s or 0.0) / task_time_s)) if task_time_s > 0 else 1

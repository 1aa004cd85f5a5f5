"""What keeps a query back that more executors cannot help, with the evidence.

Every finding rests on what was seen for a while: a batch in which nothing runs, a task that outlasts all the others,
or batches in a row that show the same, three of them or a minute; one is enough that waited for a task with most of its
records. A batch that is unlike them (longer, with tasks that wait for a slot) speaks against what they showed. When in
doubt nothing is found, because what is found stops growth.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from elastream.core.decision import Json
from elastream.core.knowledge import Knowledge
from elastream.core.observation import FinishedBatch, LongestTask, Observation, Query

Kind = Literal["blocked-sink", "hot-key", "hot-partition", "few-partitions", "driver", "read-limit"]

# Writing the offsets and the commit takes a part of a second; a driver that does more has shown it in earlier batches.
_QUIET_S = 5.0
_QUIET_TIMES = 3.0
# Before a first batch has ended nothing is known of the driver, and it compiles, connects and lists.
_FIRST_QUIET_S = 30.0
_BATCHES = 3
_BATCHES_S = 60.0
# Of a batch in which the longest tasks take four fifths, more slots can save one fifth at most.
_CRITICAL = 0.8
_DRIVER = 0.7
# Tasks of one stage differ by half as a rule, and by a factor of two now and then.
_HOT = 3.0
_HOT_RECORDS = 2.0
_LAST_TASK_S = 10.0
_LAST_TASK_TIMES = 4.0
# Batches that run as fast as possible are late if they are longer than that, where nothing is promised.
_LONG_BATCH_S = 10.0
_WINDOW_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """What limits one query."""

    kind: Kind
    query: str
    """Its id."""
    sentence: str
    evidence: Mapping[str, Json] = field(default_factory=dict)
    useful_slots: int | None = None
    """Slots that the query can use; None: not known."""


def find_bottlenecks(now: Observation, known: Knowledge) -> tuple[Bottleneck, ...]:
    """At most one for each query: what holds it right now comes before what its last batches show."""
    found = []
    for query in now.queries:
        if query.phase != "terminated":
            one = next((one for find in _FINDERS if (one := find(query, now, known)) is not None), None)
            if one is not None:
                found.append(one)
    return tuple(found)


def _blocked_sink(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """A batch runs and no task does, for longer than the driver ever takes."""
    batch = query.running
    if batch is None or batch.stages is None or any(stage.running or stage.waiting for stage in batch.stages):
        return None
    quiet_s = now.at_s - max(batch.started_s, batch.last_task_s or 0.0)
    usual_s = sorted(b.driver_s for b in known.batches(query.id) if b.id > 0 and b.driver_s is not None)
    least_s = max(_QUIET_S, _QUIET_TIMES * usual_s[len(usual_s) // 2]) if usual_s else _FIRST_QUIET_S
    if quiet_s < least_s:
        return None
    waited_s = query.delay_to_come_s
    to_come = f"; what waits has waited {waited_s:.0f} s, and its delay will be longer" if waited_s else ""
    return Bottleneck(
        kind="blocked-sink",
        query=query.id,
        sentence=(
            f"{query.name}: a batch has run for {now.at_s - batch.started_s:.0f} s, and for {quiet_s:.0f} s no task "
            f"runs or waits: its sink or the driver holds it, and executors cannot help{to_come}"
        ),
        evidence={"batch": batch.id, "quiet_s": quiet_s, "tasks_done": batch.tasks_done, "waited_s": waited_s},
        useful_slots=0,
    )


def _last_task(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """One task of the running batch outlasts all others of its stage, and slots stand idle meanwhile."""
    batch = query.running
    stages = [stage for stage in batch.stages or () if stage.running or stage.waiting] if batch else []
    if batch is None or len(stages) != 1:
        return None
    stage = stages[0]
    if stage.running != 1 or stage.waiting or stage.done < 2 or stage.mean_s is None or stage.oldest_s is None:
        return None
    if stage.oldest_s < max(_LAST_TASK_S, _LAST_TASK_TIMES * stage.mean_s):
        return None
    # Last, because there may be a thousand workers and a hundred queries.
    busy = sum(pool.ready and sum(worker.running_tasks or 0 for worker in pool.workers) for pool in now.pools)
    slots = sum(pool.slots for pool in now.pools)
    if 2 * busy > slots:
        return None
    return Bottleneck(
        kind=_hot_kind(query, stage.name),
        query=query.id,
        sentence=(
            f"{query.name}: the last of {stage.tasks} tasks of {stage.name} has run for {stage.oldest_s:.0f} s, the "
            f"others took {stage.mean_s:.1f} s on average and {slots - busy} of {slots} slots are idle: "
            "executors do not split a task"
        ),
        evidence={"stage": stage.name, "tasks": stage.tasks, "oldest_s": stage.oldest_s, "mean_s": stage.mean_s},
        useful_slots=1,
    )


def _longest_tasks(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """Batches are late, and as long as their longest tasks: others have ended, and slots wait for these."""
    batches = _late_batches(query, now, known) or _proof(query, now, known)
    longest = [batch.longest for batch in batches if batch.longest is not None and _is_critical(batch)]
    if not batches or len(longest) < len(batches) or len({task.stage for task in longest}) > 1:
        return None
    # On a new executor the first tasks are slow whatever they read; one with most records is so on any.
    if not all(map(_has_most_records, longest)) and _has_new_workers(now, batches[0].started_s):
        return None
    last, task = batches[-1], longest[-1]
    slots, task_time_s = sum(pool.slots for pool in now.pools), last.duration_s - (last.driver_s or 0.0)
    evidence: dict[str, Json] = {
        "stage": task.stage, "tasks": task.tasks, "task_s": task.task_s, "mean_s": task.mean_s,
        "batch_s": last.duration_s, "slots": slots,
    }  # fmt: skip
    if all(map(_is_hot, longest)):
        kept_busy = max((b.busy_s or 0.0) / b.critical_s for b in batches if b.critical_s)
        # With twice as many slots as the batch keeps busy on average, little but its longest tasks is left.
        useful = min(task.tasks, max(1, math.ceil(2 * kept_busy)))
        uneven = next((f" ({told})" for source in query.sources if (told := source.uneven)), "")
        records = (
            f", with {task.records:,.0f} of the {task.mean_records * task.tasks:,.0f} records"
            if task.records and task.mean_records
            else ""
        )
        return Bottleneck(
            kind=_hot_kind(query, task.stage),
            query=query.id,
            sentence=(
                f"{query.name}: one of {task.tasks} tasks of {task.stage} takes {task.task_s:.1f} s of a batch of "
                f"{last.duration_s:.1f} s{records}, the mean one {task.mean_s:.1f} s{uneven}: more than {useful} slots "
                "cannot help; spread that key or partition"
            ),
            evidence=evidence,
            useful_slots=useful,
        )
    width = task.tasks if task.task_s >= _CRITICAL * task_time_s else _widest(query)
    if width is None or width > slots or _is_cut_to_fit(query, task.stage):
        return None
    return Bottleneck(
        kind="few-partitions",
        query=query.id,
        sentence=(
            f"{query.name}: {task.stage} has {task.tasks} task{'s' * (task.tasks != 1)} that take up to "
            f"{task.task_s:.1f} s of a batch of {last.duration_s:.1f} s, so more than {width} "
            f"slot{'s' * (width != 1)} cannot help it; raise its partitions"
        ),
        evidence=evidence,
        useful_slots=width,
    )


def _is_cut_to_fit(query: Query, stage: str) -> bool:
    """Whether the tasks of a stage are as many as there are slots, as those that read small files are: no ceiling."""
    return any(one.name == stage and one.partitions is None for one in query.topology.operators)


def _driver_bound(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """Batches are late, and most of their time no stage runs."""
    batches = _late_batches(query, now, known)
    shares = [b.driver_s / b.duration_s for b in batches if b.driver_s is not None and b.duration_s > 0]
    if not batches or len(shares) < len(batches) or min(shares) < _DRIVER:
        return None
    # More rows are more work for tasks, and not for the driver.
    most_rows = max(batch.rows or 0.0 for batch in batches)
    if query.running is not None and (query.running.rows or 0.0) > 1.5 * most_rows:
        return None
    last = batches[-1]
    driver_s = last.driver_s or 0.0
    limit = "; a higher read limit makes fewer batches" if last.limited else ""
    return Bottleneck(
        kind="driver",
        query=query.id,
        sentence=(
            f"{query.name}: for {driver_s:.1f} s of a batch of {last.duration_s:.1f} s no task runs, the driver plans "
            f"and commits: executors cannot help{limit}"
        ),
        evidence={"batch_s": last.duration_s, "driver_s": driver_s, "least_share": min(shares)},
        useful_slots=max(_kept_busy(batch) for batch in batches),
    )


def _read_limit(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """Batches end before the next trigger, and a read limit keeps records out of every one of them."""
    interval_s, batches = query.trigger.interval_s, _last_batches(query, now, known)
    limits = [source.read_limit for source in query.sources if source.read_limit is not None]
    if interval_s is None or not limits or not batches:
        return None
    if not all(batch.limited and batch.duration_s <= 0.9 * interval_s for batch in batches):
        return None
    last = batches[-1]
    arrival = known.arrival_rps(query, _WINDOW_S)
    told = " and ".join(f"{limit.most:,.0f} {limit.unit}" for limit in limits)
    let_in = f", {last.rows / interval_s:,.0f}/s," if last.rows is not None else ""
    arrive = f" while {arrival:,.0f}/s arrive" if arrival is not None else ""
    return Bottleneck(
        kind="read-limit",
        query=query.id,
        sentence=(
            f"{query.name}: its read limit lets {told} into a batch every {interval_s:g} s{let_in}{arrive}, and one "
            f"takes {last.duration_s:.1f} s of that: executors cannot help, a higher limit would"
        ),
        evidence={"batch_s": last.duration_s, "interval_s": interval_s, "rows": last.rows, "arrival_rps": arrival},
        useful_slots=max(_kept_busy(batch) for batch in batches),
    )


_FINDERS: Sequence[Callable[[Query, Observation, Knowledge], Bottleneck | None]] = (
    _blocked_sink,
    _last_task,
    _longest_tasks,
    _driver_bound,
    _read_limit,
)


def _last_batches(query: Query, now: Observation, known: Knowledge) -> list[FinishedBatch]:
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
    return [] if _is_contradicted(query, now, batches) else batches


def _proof(query: Query, now: Observation, known: Knowledge) -> list[FinishedBatch]:
    """The last one, if it needs no others beside it: it waited long for a task that read most of the records.

    Else executors would be added between two batches of the first three, each of them known to wait for one task.
    """
    batch = next(reversed(known.batches(query.id)), None)
    if batch is None or batch.id == 0 or batch.longest is None or batch.longest.tasks < 2:
        return []
    is_long = batch.duration_s > max(_LAST_TASK_S, query.trigger.interval_s or 0.0)
    is_proven = is_long and _is_critical(batch) and _is_hot(batch.longest) and _has_most_records(batch.longest)
    return [batch] if is_proven and not _is_contradicted(query, now, [batch]) else []


def _is_contradicted(query: Query, now: Observation, batches: Sequence[FinishedBatch]) -> bool:
    """Whether the running batch is unlike those: longer, with tasks that wait for a slot."""
    running = query.running
    if running is None or not running.tasks_waiting:
        return False
    return now.at_s - running.started_s > 1.5 * max(batch.duration_s for batch in batches)


def _late_batches(query: Query, now: Observation, known: Knowledge) -> list[FinishedBatch]:
    """The last ones if all of them were too long for their trigger, or too short of records to keep up."""
    batches = _last_batches(query, now, known)
    # What runs as fast as possible is read by one batch and committed by the next: two batches are the longest delay.
    at_once_s = _LONG_BATCH_S if query.slo is None else min(_LONG_BATCH_S, query.slo.delay_s / 2)
    longest_s = query.trigger.interval_s or at_once_s
    if all(batch.duration_s > longest_s for batch in batches):
        return batches
    growth, arrival = known.backlog_growth_rps(query, _WINDOW_S), known.arrival_rps(query, _WINDOW_S)
    falls_behind = growth is not None and arrival is not None and growth > 0.05 * arrival
    at_once = query.trigger.interval_s is None
    return batches if at_once and falls_behind and all(batch.limited for batch in batches) else []


def _has_new_workers(now: Observation, since_s: float) -> bool:
    """Whether one has come since then."""
    return any(worker.since_s > since_s for pool in now.pools for worker in pool.workers)


def _is_critical(batch: FinishedBatch) -> bool:
    """Whether most of the time of its tasks is that of the longest ones, and not too little to say so."""
    if batch.critical_s is None or batch.driver_s is None:
        return False
    task_time_s = batch.duration_s - batch.driver_s
    return task_time_s >= batch.duration_s / 2 and batch.critical_s >= _CRITICAL * task_time_s


def _is_hot(task: LongestTask) -> bool:
    """Whether a task takes many times the time of the others because it has many times their records."""
    if task.tasks < 2 or task.task_s < _HOT * task.mean_s:
        return False
    # A task that is slow without more records than others has a slow executor.
    return not task.records or not task.mean_records or _has_most_records(task)


def _has_most_records(task: LongestTask) -> bool:
    """Whether it is known to read many times what the others read, or has no others."""
    return task.tasks == 1 or (task.records or 0.0) >= _HOT_RECORDS * (task.mean_records or math.inf)


def _hot_kind(query: Query, stage: str) -> Kind:
    return "hot-partition" if stage in {operator.name for operator in query.topology.sources()} else "hot-key"


def _kept_busy(batch: FinishedBatch) -> int:
    """Slots that the tasks of a batch kept busy while they ran."""
    task_time_s = batch.duration_s - (batch.driver_s or 0.0)
    return max(1, math.ceil((batch.busy_s or 0.0) / task_time_s)) if task_time_s > 0 else 1


def _widest(query: Query) -> int | None:
    widths = [operator.partitions for operator in query.topology.operators]
    return None if not widths or None in widths else max(width for width in widths if width is not None)

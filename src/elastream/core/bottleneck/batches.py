"""What holds a query's batches: a sink, one task, too few tasks, or a read limit."""

import math

from elastream.core.bottleneck.evidence import (
    CRITICAL,
    LAST_TASK_S,
    WINDOW_S,
    count_kept_busy,
    find_proof,
    has_most_records,
    has_new_workers,
    is_critical,
    is_hot,
    last_batches,
    late_batches,
)
from elastream.core.bottleneck.verdict import Bottleneck, Kind
from elastream.core.decision import Json
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Query

# Writing the offsets and the commit takes a part of a second; a driver that does more has shown it in earlier batches.
_QUIET_S = 5.0
_QUIET_TIMES = 3.0
# Before a first batch has ended nothing is known of the driver, and it compiles, connects and lists.
_FIRST_QUIET_S = 30.0
_LAST_TASK_TIMES = 4.0


def find_blocked_sink(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
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


def find_last_task(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """One task of the running batch outlasts all others of its stage, and slots stand idle meanwhile."""
    batch = query.running
    stages = [stage for stage in batch.stages or () if stage.running or stage.waiting] if batch else []
    if batch is None or len(stages) != 1:
        return None
    stage = stages[0]
    if stage.running != 1 or stage.waiting or stage.done < 2 or stage.mean_s is None or stage.oldest_s is None:
        return None
    if stage.oldest_s < max(LAST_TASK_S, _LAST_TASK_TIMES * stage.mean_s):
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


def find_longest_tasks(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """Batches are late, and as long as their longest tasks: others have ended, and slots wait for these."""
    batches = late_batches(query, now, known) or find_proof(query, now, known)
    longest = [batch.longest for batch in batches if batch.longest is not None and is_critical(batch)]
    if not batches or len(longest) < len(batches) or len({task.stage for task in longest}) > 1:
        return None
    # On a new executor the first tasks are slow whatever they read; one with most records is so on any.
    if not all(map(has_most_records, longest)) and has_new_workers(now, batches[0].started_s):
        return None
    last, task = batches[-1], longest[-1]
    slots, task_time_s = sum(pool.slots for pool in now.pools), last.duration_s - (last.driver_s or 0.0)
    evidence: dict[str, Json] = {
        "stage": task.stage, "tasks": task.tasks, "task_s": task.task_s, "mean_s": task.mean_s,
        "batch_s": last.duration_s, "slots": slots,
    }  # fmt: skip
    if all(map(is_hot, longest)):
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
    width = task.tasks if task.task_s >= CRITICAL * task_time_s else _widest(query)
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


def find_read_limit(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """Batches end before the next trigger, and a read limit keeps records out of every one of them."""
    interval_s, batches = query.trigger.interval_s, last_batches(query, now, known)
    limits = [source.read_limit for source in query.sources if source.read_limit is not None]
    if interval_s is None or not limits or not batches:
        return None
    if not all(batch.limited and batch.duration_s <= 0.9 * interval_s for batch in batches):
        return None
    last = batches[-1]
    arrival = known.arrival_rps(query, WINDOW_S)
    told = " and ".join(f"{limit.most:,.0f} {limit.unit}" for limit in limits)
    let_in = f", {last.rows / interval_s:,.0f}/s" if last.rows is not None else ""
    arrive = f"{',' * bool(let_in)} while {arrival:,.0f}/s arrive" if arrival is not None else ""
    return Bottleneck(
        kind="read-limit",
        query=query.id,
        sentence=(
            f"{query.name}: its read limit lets {told} into a batch every {interval_s:g} s{let_in}{arrive}, and one "
            f"takes {last.duration_s:.1f} s of that: executors cannot help, a higher limit would"
        ),
        evidence={"batch_s": last.duration_s, "interval_s": interval_s, "rows": last.rows, "arrival_rps": arrival},
        useful_slots=max(count_kept_busy(batch) for batch in batches),
    )


def _hot_kind(query: Query, stage: str) -> Kind:
    return "hot-partition" if stage in {operator.name for operator in query.topology.sources()} else "hot-key"


def _widest(query: Query) -> int | None:
    widths = [operator.partitions for operator in query.topology.operators]
    return None if not widths or None in widths else max(width for width in widths if width is not None)

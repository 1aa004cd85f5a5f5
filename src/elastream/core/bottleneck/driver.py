"""Batches that are mostly the driver's, and what it does in them."""

from collections.abc import Sequence

from elastream.core.bottleneck.evidence import count_kept_busy, late_batches
from elastream.core.bottleneck.verdict import Bottleneck, Kind
from elastream.core.knowledge import Knowledge
from elastream.core.observation import FinishedBatch, Observation, Query

_DRIVER = 0.7
_MOST_OF_IT = 0.5
# Asking a source what is new, and for a batch of it.
_SOURCE = ("latestOffset", "getOffset", "getEndOffset", "setOffsetRange", "getBatch")
_WRITING = "addBatch"
# Spark itself needs a part of a second to start the tasks of a batch; on a busy machine more, and then for all it does.
_SINK_S = 1.0
_SINK_TIMES = 3.0


def find_driver_bound(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """Batches are late, and most of their time no stage runs."""
    batches = late_batches(query, now, known)
    shares = [b.driver_s / b.duration_s for b in batches if b.driver_s is not None and b.duration_s > 0]
    if not batches or len(shares) < len(batches) or min(shares) < _DRIVER:
        return None
    # More rows are more work for tasks, and not for the driver.
    most_rows = max(batch.rows or 0.0 for batch in batches)
    if query.running is not None and (query.running.rows or 0.0) > 1.5 * most_rows:
        return None
    return explain_driver(query, batches)


def explain_driver(query: Query, batches: Sequence[FinishedBatch]) -> Bottleneck:
    """What it does in batches that are mostly its own."""
    number = len(batches)
    batch_s, driver_s = (sum(b.duration_s for b in batches) / number, sum(b.driver_s or 0.0 for b in batches) / number)
    asking_s = sum(batch.parts_s.get(part, 0.0) for batch in batches for part in _SOURCE) / number
    # What is left of it while no task runs is the sink's, or that of an action in it.
    writing_s = sum(map(_writing_s, batches)) / number
    kind: Kind = "driver"
    limit = "; a higher read limit makes fewer batches" if batches[-1].limited else ""
    told = f"for {driver_s:.1f} s of a batch of {batch_s:.1f} s no task runs, the driver plans and commits"
    if asking_s >= _MOST_OF_IT * driver_s:
        kind, limit = "source", ""
        told = f"for {asking_s:.1f} s of a batch of {batch_s:.1f} s its source is asked what is new, and no task runs"
    elif writing_s >= max(_SINK_S, _SINK_TIMES * (driver_s - writing_s)):
        kind, limit = "sink", ""
        told = (
            f"for {writing_s:.1f} s of a batch of {batch_s:.1f} s its sink is at work in the driver, and no task runs"
        )
    return Bottleneck(
        kind=kind,
        query=query.id,
        sentence=f"{query.name}: {told}: executors cannot help{limit}",
        evidence={"batch_s": batch_s, "driver_s": driver_s, "source_s": asking_s, "sink_s": writing_s},
        useful_slots=max(map(count_kept_busy, batches)),
    )


def _writing_s(batch: FinishedBatch) -> float:
    tasks_s = batch.duration_s - (batch.driver_s or 0.0)
    return max(0.0, batch.parts_s.get(_WRITING, 0.0) - tasks_s)

"""What finished batches of a query have cost, as it is remembered, and what the running one tells before it ends."""

from __future__ import annotations

import sys

from elastream.core.observation import Query, RunningBatch
from elastream.estimators.batch_cost import NEAR, BatchCost, batch_cost

_KEPT = 60
# Of batches of about the same size: many alike must not crowd out the few that tell what rows cost.
_KEPT_ALIKE = 12
# Before that many rows, what tasks have cost is what starting them cost.
_FEWEST_ROWS = 1_000

BatchHistory = list[list[float]]
"""Id, rows and slot-seconds of batches as they were seen; the first only has its id."""


def with_batch(seen: BatchHistory, query: Query) -> BatchHistory:
    """The history after one more look at a query."""
    batch = query.finished
    if batch is None or batch.rows is None or batch.busy_s is None:
        return seen
    if not seen:
        # The first batch loads classes and starts Python workers: it takes several times as long as any other.
        return [[batch.id]]
    return seen if seen[-1][0] == batch.id else _kept([*seen, [batch.id, batch.rows, batch.busy_s]])


def find_cost(seen: BatchHistory | None, query: Query) -> BatchCost | None:
    """What its batches cost, by those that have ended, and by the running one where that tells more."""
    return batch_cost(measured(seen, query)) or _cost_so_far(query)


def measured(seen: BatchHistory | None, query: Query) -> list[list[float]]:
    """Rows and slot-seconds of batches that have ended, and of the running one if it is larger than all of them."""
    ended = [batch[1:] for batch in seen or [] if len(batch) > 1]
    running = query.running if seen else None
    if running is None or not running.rows or any(NEAR * batch[0] >= running.rows for batch in ended):
        return ended
    # Its tasks that are done tell what the others will take. An overloaded query ends few batches.
    work_s = _projected_s(query, running)
    return [*ended, [running.rows, work_s]] if work_s else ended


def is_continuous(query: Query) -> bool:
    """Whether it works without batches. It then has as many tasks as it is given slots, which is no ceiling."""
    return query.phase == "running" and query.running is None


def _kept(batches: BatchHistory) -> BatchHistory:
    """The last ones, and of those of about the same size only some."""
    alike: dict[int, int] = {}
    found: BatchHistory = []
    for batch in reversed(batches[1:]):
        size = int(batch[1]).bit_length()
        alike[size] = alike.get(size, 0) + 1
        if alike[size] <= _KEPT_ALIKE and len(found) < _KEPT:
            found.append(batch)
    return [batches[0], *reversed(found)]


def _projected_s(query: Query, running: RunningBatch) -> float:
    """Slot-seconds of the running batch, by its tasks that are done; too few while later stages were never seen."""
    busy = {work.name: work.busy_s.value for work in query.operators if work.busy_s is not None and work.busy_s.value}
    return max(
        (
            stage.tasks * stage.mean_s * sum(busy.values()) / busy[stage.name]
            for stage in running.stages or ()
            if stage.mean_s is not None and stage.name in busy
        ),
        default=0.0,
    )


def _cost_so_far(query: Query) -> BatchCost | None:
    """For a first batch that is long: what its finished tasks have cost. Too low while later stages have not begun."""
    sources = {operator.name for operator in query.topology.sources()}
    rows = busy = 0.0
    for work in query.operators:
        if work.busy_s is None or work.records_in is None:
            return None
        rows += work.records_in.value if work.name in sources else 0.0
        busy += work.busy_s.value
    cost = batch_cost([[rows, busy]]) if rows >= _FEWEST_ROWS else None
    if cost is not None and is_continuous(query):
        # There is no first batch that would be unlike the others, and no batch that would cost something of its own.
        return cost._replace(batches=sys.maxsize, told_apart=True)
    if cost is None or query.running is None or query.running.rows is None:
        return cost
    # Its other tasks are like those that are done.
    return cost._replace(most_rows=max(rows, query.running.rows))

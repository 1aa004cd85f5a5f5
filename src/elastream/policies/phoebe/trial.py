"""One size of a profile, watched: what a job takes in there, and how late its results are.

A query that runs micro-batches is measured from commit to commit: what it takes in comes in lumps, so that rates from
look to look are several times too high for as long as they are known. A batch says what its size can take in: as many
more rows as its tasks need less than the time that is theirs. A continuous query that falls behind takes in what it
can; one that keeps up could take in more, in proportion to the use of its busiest worker: with skew the others never
get as busy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypedDict

from elastream.core.observation import FinishedBatch, Observation, Pool, Query, Reading
from elastream.estimators.left_behind import is_batched, period_s

# Below this use throughput over use is a quotient of noise.
_LEAST_USE = 0.05
# Who takes in less of what arrives falls behind.
_KEEPS_UP = 0.95


class QueryTrial(TypedDict):
    """What was seen of one query at a size."""

    began: list[float]
    """When it was seen first; what had arrived and was taken in by then."""
    ended: list[float]
    """The same of the last look."""
    batch: int | None
    """The last batch that was counted."""
    rows: float
    """Of the batches that were counted."""
    full_s: float
    """How long they would have taken one after the other, each as long as a batch may take."""


class Trial(TypedDict):
    """What was seen at one size."""

    workers: int
    since_s: float
    at_s: float
    settled: bool
    queries: dict[str, QueryTrial]
    uses: dict[str, list[float]]
    """Number and sum of looks at the use of every worker."""
    slots: list[list[float]]
    """First and last: time, busy slot-seconds of all pools, and slots."""
    delay_s: float | None


class Watching(NamedTuple):
    """How a size is watched."""

    settle_s: float
    full_cpu: float


def begin(now: Observation, workers: int) -> Trial:
    """A size has just been reached."""
    return {
        "workers": workers, "since_s": now.at_s, "at_s": now.at_s, "settled": False, "queries": {}, "uses": {},
        "slots": [], "delay_s": None,
    }  # fmt: skip


def follow(trial: Trial, now: Observation, queries: Iterable[Query], how: Watching) -> Trial:
    """One more look at the same size. What was seen before it had settled serves only where nothing came after."""
    settled = now.at_s - trial["since_s"] >= how.settle_s
    seen: Trial = {**trial, "at_s": now.at_s, "settled": settled}
    if settled and not trial["settled"]:
        seen |= {"queries": {}, "uses": {}, "slots": [], "delay_s": None}
    since_s = trial["since_s"] + (how.settle_s if settled else 0.0)
    found = {query.id: _followed(seen["queries"].get(query.id), query, now.at_s, since_s) for query in queries}
    # Where a total fell, or is not known, the query is watched anew.
    seen["queries"] = {name: one for name, one in found.items() if one is not None}
    uses = _uses(now.pools)
    seen["uses"] = {**seen["uses"], **{name: _added(seen["uses"].get(name), use) for name, use in uses.items()}}
    busy = _busy(now)
    if busy is not None:
        seen["slots"] = [*seen["slots"][:1], busy]
    delay = max((query.delay.p95_s for query in queries if query.delay is not None), default=None)
    if delay is not None:
        # The least: what was left behind by the size before it is not this one's latency.
        seen["delay_s"] = delay if seen["delay_s"] is None else min(delay, seen["delay_s"])
    return seen


def row_of(trial: Trial, queries: Iterable[Query], how: Watching) -> list[float] | None:
    """The trial as a row of a profile, or None where there is nothing to go by."""
    arriving, times = 0.0, math.inf
    for query in queries:
        seen = trial["queries"].get(query.id)
        elapsed_s = seen["ended"][0] - seen["began"][0] if seen else 0.0
        if seen is None or elapsed_s <= 0:
            return None
        rate = (seen["ended"][1] - seen["began"][1]) / elapsed_s
        capacity = _batched(seen) if is_batched(query) else _continuous(seen, rate, elapsed_s, trial, how)
        if rate > 0 and capacity is None:
            return None
        arriving, times = arriving + rate, min(times, capacity / rate if capacity and rate > 0 else math.inf)
    late_s = trial["delay_s"] if trial["delay_s"] is not None else _age(queries)
    if arriving <= 0 or not 0 < times < math.inf or late_s is None:
        return None
    # Queries that share the workers can all take in as many times their load as the one that can do least.
    return [float(trial["workers"]), arriving, arriving * times, late_s]


def _followed(before: QueryTrial | None, query: Query, at_s: float, since_s: float) -> QueryTrial | None:
    arrived = _total(source.arrived for source in query.sources)
    committed = _total(source.committed for source in query.sources)
    if arrived is None or committed is None:
        return None
    now, batch = [at_s, arrived, committed], query.finished
    if before is None or arrived < before["ended"][1] or committed < before["ended"][2]:
        return {"began": now, "ended": now, "batch": batch.id if batch else None, "rows": 0.0, "full_s": 0.0}
    after: QueryTrial = {**before, "ended": now}
    if batch is None or batch.id == before["batch"]:
        return after
    after["batch"] = batch.id
    # A batch that began before is partly that of another size.
    if batch.started_s >= since_s and batch.rows and batch.duration_s > 0:
        after["rows"], after["full_s"] = before["rows"] + batch.rows, before["full_s"] + _full_s(batch, period_s(query))
    return after


def _full_s(batch: FinishedBatch, period_s: float) -> float:
    """How much of the time between triggers its rows need, if the driver's time comes once in every batch."""
    driver_s = min(batch.driver_s or 0.0, batch.duration_s, period_s / 2)
    return period_s * (batch.duration_s - driver_s) / (period_s - driver_s)


def _batched(seen: QueryTrial) -> float | None:
    return seen["rows"] / seen["full_s"] if seen["rows"] > 0 and seen["full_s"] > 0 else None


def _continuous(seen: QueryTrial, rate: float, elapsed_s: float, trial: Trial, how: Watching) -> float | None:
    committed = (seen["ended"][2] - seen["began"][2]) / elapsed_s
    if committed < _KEEPS_UP * rate:
        return committed
    use = _busiest(trial)
    return None if use is None else committed / max(_LEAST_USE, use / how.full_cpu)


def _busiest(trial: Trial) -> float | None:
    """The use of the busiest worker; that of the slots where the processors' is not known."""
    if trial["uses"]:
        return max(total / looks for looks, total in trial["uses"].values())
    if len(trial["slots"]) < 2:
        return None
    (first_s, first, _), (last_s, last, slots) = trial["slots"]
    return (last - first) / ((last_s - first_s) * slots) if last_s > first_s and slots and last >= first else None


def _uses(pools: Sequence[Pool]) -> Mapping[str, float]:
    """Processor use of every worker, as far as it is known."""
    return {
        f"{pool.name}/{worker.id}": worker.cpu.value
        for pool in pools
        for worker in pool.workers
        if worker.state == "ready" and worker.cpu is not None
    }


def _busy(now: Observation) -> list[float] | None:
    busy = [pool.busy_slot_s.value for pool in now.pools if pool.busy_slot_s is not None]
    return [now.at_s, sum(busy), float(sum(pool.slots for pool in now.pools))] if len(busy) == len(now.pools) else None


def _added(before: Sequence[float] | None, use: float) -> list[float]:
    """Number and sum of looks at a worker, after one more."""
    looks, total = before or (0.0, 0.0)
    return [looks + 1, total + use]


def _age(queries: Iterable[Query]) -> float | None:
    return max((age for query in queries if (age := query.delay_to_come_s) is not None), default=None)


def _total(readings: Iterable[Reading | None]) -> float | None:
    total, number = 0.0, 0
    for reading in readings:
        if reading is None:
            return None
        total, number = total + reading.value, number + 1
    return total if number else None

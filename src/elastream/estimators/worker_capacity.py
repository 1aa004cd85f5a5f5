"""What the workers of one pool can take in, from how their throughput goes with their processor use (Daedalus, 3.1).

One line per worker, both sides as means of the last minute. A worker's records are those of every operator that it
runs; how many of them one record of the load makes is learned at commits, and capacity is in records of the load.

All lines start anew when the number of workers that are ready changes: in most engines their ids are new then, and
where they are not, their share of the keys is, and what they lose by working side by side. A worker whose use is not
known counts as much as the mean of the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from elastream.core.observation import Pool, Worker
from elastream.estimators.regression import Regression

State = dict[str, Any]
Skew = Literal["ratio", "difference"]
"""How busy a worker can get while the busiest is at its limit: in proportion to it, or as far below it as now."""

_MOST_POINTS = 128
# A line that explains less is mostly the noise of the processor's reading, which makes it too flat.
_LEAST_EXPLAINED = 0.95
# Use that was steadier than this (standard deviation) has no line, only rounding.
_LEAST_SPREAD = 0.005
# Below this use throughput over use is a quotient of noise; taken for so much, it is a capacity on the safe side.
_LEAST_USE = 0.05
# How long the ratio of records remembers, and how fast it may rise between two commits: after a restart records are
# read again that were counted before.
_RATIO_MEMORY_S = 60.0
_MOST_RISE = 1.5


_NEW: State = {"ring": [], "line": list(Regression())}


@dataclass(frozen=True, kw_only=True)
class WorkerCapacity:
    """Learns one line per worker, and adds up what they say."""

    window_s: float = 60.0
    """Processor use and throughput are means over this time."""
    full_use: float = 1.0
    """Processor use of a worker that can do no more."""
    skew: Skew = "ratio"
    warm_up_s: float = 0.0
    """Looks at a worker younger than this are left out."""

    def start(self) -> State:
        """Nothing was seen."""
        return {"workers": {}, "ready": None, "taken": 0.0, "committed": 0.0, "pending": 0.0, "last": None}

    def after(self, state: State, pool: Pool, at_s: float, committed: float) -> State:
        """After one more look; `committed` is the total of the load that was taken in."""
        known: Mapping[str, State] = state["workers"] if state["ready"] == pool.ready else {}
        workers, pending, is_measured = {}, state["pending"], False
        for worker in pool.workers:
            before = known.get(worker.id, _NEW)
            workers[worker.id] = after = self._seen(before, worker, at_s)
            if before["ring"] and after["ring"]:
                pending += max(0.0, after["ring"][-1][2] - before["ring"][-1][2])
                is_measured = True
        state = state if is_measured else {**state, "last": None}
        return {**_with_ratio(state, at_s, committed, pending), "workers": workers, "ready": pool.ready}

    def is_seen(self, state: State) -> bool:
        """Whether processor use and throughput of any worker were known at the last look."""
        return any(worker["ring"] for worker in state["workers"].values())

    def is_whole(self, state: State, pool: Pool) -> bool:
        """Whether the pool is at rest and all of its workers have been watched for a whole window."""
        rings = [worker["ring"] for worker in state["workers"].values() if worker["ring"]]
        enough = all(ring[-1][0] - ring[0][0] >= 0.9 * self.window_s for ring in rings)
        return not pool.in_flux and len(rings) >= pool.ready > 0 and enough

    def capacity_rps(self, state: State, ready: int) -> float | None:
        """What so many workers like these can take in, in records of the load; None while nothing is known."""
        each = self.each(state)
        if not each or not state["committed"] or not state["taken"]:
            return None
        per_record: float = state["taken"] / state["committed"]
        return sum(each.values()) / len(each) * ready / per_record

    def each(self, state: State) -> dict[str, float]:
        """What each worker can take in, in its own records, while the busiest is at its limit."""
        now = {name: _means(worker["ring"]) for name, worker in state["workers"].items()}
        use = {name: (max(_LEAST_USE, means[0]), means[1]) for name, means in now.items() if means is not None}
        if not any(rate > 0 for _, rate in use.values()):
            return {}
        busiest = max(cpu for cpu, _ in use.values())
        found = {}
        for name, (cpu, rate) in use.items():
            reached = cpu / busiest if self.skew == "ratio" else 1 - (busiest - cpu)
            line = Regression(*state["workers"][name]["line"])
            found[name] = max(rate, _at(line, self.full_use * reached, cpu, rate))
        return found

    def _seen(self, before: State, worker: Worker, at_s: float) -> State:
        if worker.state != "ready" or worker.cpu is None or worker.records is None:
            return {"ring": [], "line": before["line"]}
        if at_s - worker.since_s < self.warm_up_s:
            return {"ring": [], "line": before["line"]}
        records = worker.records.value
        # A total that fell was reset: what came before says nothing about the rate.
        if not before["ring"] or records < before["ring"][-1][2]:
            return {"ring": [[at_s, 0.0, records]], "line": before["line"]}
        then_s, used_s, _ = before["ring"][-1]
        ring = [*before["ring"], [at_s, used_s + worker.cpu.value * (at_s - then_s), records]][-_MOST_POINTS:]
        while len(ring) > 2 and ring[1][0] <= at_s - self.window_s:
            ring = ring[1:]
        means = _means(ring)
        line = Regression(*before["line"])
        return {"ring": ring, "line": list(line if means is None else line.add(*means))}


def _with_ratio(state: State, at_s: float, committed: float, pending: float) -> State:
    """Records that workers took in between two commits, over what was committed then."""
    last = state["last"]
    if last is None or committed < last[1]:
        # What was committed before workers were watched is nothing to compare with.
        return {**state, "last": [at_s, committed], "pending": 0.0}
    if committed == last[1]:
        return {**state, "pending": pending}
    new = committed - last[1]
    if state["taken"] > 0:
        pending = min(pending, _MOST_RISE * state["taken"] / state["committed"] * new)
    kept = math.exp((last[0] - at_s) / _RATIO_MEMORY_S)
    return {
        **state,
        "last": [at_s, committed],
        "pending": 0.0,
        "taken": kept * state["taken"] + pending,
        "committed": kept * state["committed"] + new,
    }


def _means(ring: list[list[float]]) -> tuple[float, float] | None:
    """Mean processor use and throughput over a ring of (time, processor-seconds, records)."""
    if len(ring) < 2:
        return None
    (from_s, used_s, records), (to_s, used_by_then_s, by_then) = ring[0], ring[-1]
    return (used_by_then_s - used_s) / (to_s - from_s), (by_then - records) / (to_s - from_s)


def _at(line: Regression, use: float, cpu: float, rate: float) -> float:
    """Throughput at some processor use: by the line where there is one, else in proportion to what is seen now."""
    is_line = line.variance_x >= _LEAST_SPREAD**2 and line.explained >= _LEAST_EXPLAINED and line.products > 0
    fitted = line.at(use) if is_line else None
    return rate / cpu * use if fitted is None else fitted

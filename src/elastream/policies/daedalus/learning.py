"""What Daedalus learns: the load and its forecast, lines of the workers, capacities, recoveries and downtimes.

The document runs its monitor in a loop of its own, the retraining of the forecaster and the watch over a recovery in
threads beside it. Here all of that is one value that is folded over the looks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from elastream.core.decision import Decision
from elastream.core.observation import Observation, Pool, Query
from elastream.estimators import full_use, load
from elastream.estimators.anomaly import AnomalyWatch, strays
from elastream.estimators.forecasting.checked import Checked
from elastream.estimators.left_behind import watched
from elastream.estimators.moments import Moments
from elastream.estimators.worker_capacity import WorkerCapacity

Memory = dict[str, Any]
"""loads: group of queries -> what arrives, its forecast and how throughput usually strays from it. pools: pool -> lines
of its workers, capacities seen, what is full if that is to be learned, and the recovery being watched. behind: query ->
how far it is behind. downtimes, learned. recoveries: predicted, measured."""

_KEPT_RECOVERIES = 32
_KEPT_SIZES = 256
# Gaps in an abnormal stretch up to this long do not end it.
_QUIET_S = 30.0
# Straying by less than a twentieth of the load is no anomaly, however steady the job was so far.
_LEAST_STRAY = 0.05

Downtimes = Literal["seen", "steps"]
"""Learn a downtime from how long throughput stood still; or by a second, up if recovery took longer than predicted."""


def start(*, out_downtime_s: float, in_downtime_s: float) -> Memory:
    """Nothing was seen."""
    downtimes = {"out": out_downtime_s, "in": in_downtime_s}
    times = {"at_s": None, "loop_s": None}
    return {"loads": {}, "pools": {}, "behind": {}, "downtimes": downtimes, "recoveries": [], **times}


@dataclass(frozen=True, kw_only=True)
class Learning:
    """One look after the other."""

    checked: Checked
    workers: WorkerCapacity
    interval_s: float
    checkpoint_s: float
    longest_s: float
    """A recovery is watched no longer than this."""
    downtimes: Downtimes
    learn_full_use: bool = False

    def after(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """The memory after one more look. `last` is what was decided on the look before."""
        if memory["at_s"] is not None and now.at_s <= memory["at_s"]:
            return memory
        is_loop = memory["loop_s"] is None or now.at_s - memory["loop_s"] >= self.interval_s - 1e-6
        loads = {}
        for queries in (queries_of(pool, now) for pool in now.pools):
            if (key := key_of(queries)) not in loads:
                loads[key] = self._load(memory["loads"].get(key), queries, now.at_s, is_loop)
        learned = {**memory, "loads": loads, "at_s": now.at_s, "loop_s": now.at_s if is_loop else memory["loop_s"]}
        pools = {}
        for pool in now.pools:
            of = loads[key_of(queries_of(pool, now))]
            seen = self._pool(memory["pools"].get(pool.name), pool, of, now, is_loop)
            pools[pool.name], learned = self._watched(seen, pool, of, last, learned)
        behind = {query.id: watched(memory["behind"].get(query.id), query) for query in now.queries}
        return {**learned, "pools": pools, "behind": behind}

    def _load(self, before: Memory | None, queries: tuple[Query, ...], at_s: float, is_loop: bool) -> Memory:
        """What arrives for some queries, its forecast, and how far throughput usually is from it."""
        checked = self.checked
        if before is None:
            before = {"load": load.start(), "forecast": checked.start(), "usual": list(Moments()), "moved_s": at_s}
        seen = load.after(before["load"], queries, at_s, keep_s=max(self.interval_s, self.checkpoint_s))
        after = {**before, "load": seen, "stray": any(query.phase == "restarting" for query in queries), "stood_s": 0.0}
        if seen["unknown"] is None and len(seen["points"]) > 1:
            arrived, committed = load.rates(seen, 0.0) or (0.0, 0.0)
            usual = Moments(*before["usual"])
            mean, _ = load.rates(seen, self.interval_s) or (0.0, 0.0)
            after["stray"] |= strays(arrived - committed, usual, floor=_LEAST_STRAY * mean)
            after["usual"] = list(usual.add(arrived - committed))
            if committed > 0 or arrived == 0:
                after |= {"moved_s": at_s, "stood_s": at_s - before["moved_s"]}
        if seen["points"] and seen["points"][-1][0] == at_s:
            after["forecast"] = checked.read(before["forecast"], at_s, seen["points"][-1][1])
        if is_loop:
            after["forecast"] = checked.loop(after["forecast"], load.arrivals(seen), at_s)
        return after

    def _pool(self, before: Memory | None, pool: Pool, of: Memory, now: Observation, is_loop: bool) -> Memory:
        """Lines of the workers, and once per loop the capacity at this size."""
        workers = self.workers
        if before is None:
            before = {
                "workers": workers.start(), "seen": {}, "per_worker": None, "wanted": pool.wanted, "watch": None
            }  # fmt: skip
        points = of["load"]["points"]
        committed = points[-1][2] if points else 0.0
        after = {**before, "workers": workers.after(before["workers"], pool, now.at_s, committed)}
        full = full_use.NOT_LEARNED
        if self.learn_full_use:
            after |= _with_full_use(before, pool, now)
            full = full_use.full(after["full"], pool, queries_of(pool, now), "cpu")
            workers = replace(workers, full_use=full.at(pool.ready)) if full.levels else workers
        if not is_loop or (capacity := workers.capacity_rps(after["workers"], pool.ready)) is None or not pool.ready:
            return after
        after["per_worker"] = capacity / pool.ready / full.at(pool.ready)
        if workers.is_whole(after["workers"], pool):
            earlier = before["seen"].get(str(pool.ready), capacity)
            seen = {**before["seen"], str(pool.ready): (earlier + capacity) / 2}
            after["seen"] = dict(list(seen.items())[-_KEPT_SIZES:])
        return after

    def _watched(
        self, pool_memory: Memory, pool: Pool, of: Memory, last: Decision | None, memory: Memory
    ) -> tuple[Memory, Memory]:
        """After a change of size, watch until throughput follows the load again; then learn from how long it took."""
        at_s = memory["at_s"]
        watch = pool_memory["watch"]
        if pool.wanted != pool_memory["wanted"]:
            predictions = last.note.get("recovery_s") if last else None
            predicted = predictions.get(pool.name) if isinstance(predictions, dict) else None
            watch = {
                "looks": list(AnomalyWatch(at_s)),
                "way": "out" if pool.wanted > pool_memory["wanted"] else "in",
                "stood_s": 0.0,
                "predicted": predicted if isinstance(predicted, int | float) else None,
            }
        if watch is not None:
            looks = AnomalyWatch(*watch["looks"]).see(at_s, bool(of["stray"]))
            watch = {**watch, "looks": list(looks), "stood_s": max(watch["stood_s"], of["stood_s"])}
            if looks.is_over(at_s, quiet_s=_QUIET_S, longest_s=self.longest_s):
                memory = self._recovered(memory, watch, looks.took_s)
                watch = None
        return {**pool_memory, "wanted": pool.wanted, "watch": watch}, memory

    def _recovered(self, memory: Memory, watch: Memory, took_s: float) -> Memory:
        if watch["predicted"] is None:
            return memory
        before_s = memory["downtimes"][watch["way"]]
        if self.downtimes == "steps":
            learned_s = max(0.0, before_s + (1.0 if took_s > watch["predicted"] else -1.0))
        else:
            learned_s = (before_s + watch["stood_s"]) / 2
        return {
            **memory,
            "downtimes": {**memory["downtimes"], watch["way"]: learned_s},
            "recoveries": [*memory["recoveries"][1 - _KEPT_RECOVERIES :], [watch["predicted"], took_s]],
        }


def _with_full_use(before: Memory, pool: Pool, now: Observation) -> Memory:
    """What is full. Capacities that were seen with another idea of it are forgotten."""
    known = before.get("full") or full_use.start()
    learned = full_use.after(known, pool, now)
    return {"full": learned, "seen": before["seen"] if learned["levels"] == known["levels"] else {}}


def queries_of(pool: Pool, now: Observation) -> tuple[Query, ...]:
    """Running queries with an operator in a pool; where there is only one pool, all of them."""
    running = (query for query in now.queries if query.phase != "terminated")
    if len(now.pools) == 1:
        return tuple(running)
    return tuple(
        query for query in running if any(operator.pool == pool.name for operator in query.topology.operators)
    )  # fmt: skip


def key_of(queries: tuple[Query, ...]) -> str:
    """The name of a group of queries."""
    return "|".join(query.id for query in queries)

"""Phoebe: profiled capacity and latency, and a recovery target (Geldenhuys et al., ICWS 2022).

A profiling run measures, at several sizes and loads, what the job can take in and how late its results are. From that
table come a model of capacity and one of latency. Every ten minutes two sizes are chosen for the load that is forecast:
the least one that recovers from a failure within a target time, and the one with the least latency. The larger of the
two is taken, unless it is only one or two workers fewer than now.

The table is the setting `profile`; `profile_cost` says what making it took, and every decision carries it, so that it
can be counted. Without a table the policy makes one in place: it holds each of a few sizes for one interval, the
greatest first, and what that costs is part of the run.

Departs from what was published, as far as that is known from its code: models are a power law and the mean of the
nearest profiled points instead of ridge and boosted trees, forecasts come from the package's own hedge, and all pools
get the same size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.estimators import load
from elastream.estimators.capacity import Saturated, power_law
from elastream.estimators.forecasting import ForecasterName, forecaster
from elastream.estimators.forecasting.forecast import Forecast
from elastream.estimators.recovery import recovery_s
from elastream.estimators.steps import Steps
from elastream.policies.catalogue import policies
from elastream.registry import setting

Memory = dict[str, Any]
"""load: what arrives. model: the forecaster's. trial: the size being profiled. rows: profiled so far.
tried: sizes that were asked for. cost: worker-hours of that."""

# Latencies this much above the least are as good.
_AS_GOOD = 1.05
# Below this use throughput over use is a quotient of noise.
_LEAST_USE = 0.05


class Profiled(NamedTuple):
    """One point of a profile."""

    workers: float
    load_rps: float
    capacity_rps: float
    latency_s: float

    @property
    def use(self) -> float:
        """Share of the capacity that the load was."""
        return self.load_rps / self.capacity_rps


@policies.register("phoebe")
@dataclass(frozen=True, kw_only=True)
class Phoebe:
    """The larger of the least size that recovers in time and the one with the least latency, by a profile."""

    profile: tuple[tuple[float, float, float, float], ...] = setting(
        (), doc="rows of workers, load and capacity in records/s, p95 latency in s; none: profile in place"
    )
    profile_cost: float = setting(0.0, doc="worker-hours that making the profile took")
    profile_sizes: int = setting(4, doc="how many sizes to profile in place")
    settle_s: float = setting(120.0, doc="after a change of size nothing is profiled for so long")
    recovery_target_s: float = setting(180.0, doc="a failure must be recovered from within this time")
    downtime_s: float = setting(30.0, doc="how long the job stands after a failure")
    checkpoint_s: float = setting(10.0, doc="checkpoint interval: what arrived since is processed again")
    full_cpu: float = setting(1.0, doc="processor use of a worker that can do no more, for a profile made in place")
    least_shrink: int = setting(3, doc="fewer workers than this are not worth a shrink")
    forecaster: ForecasterName = setting("hedge", doc="hedge (cheap) or arima (needs an extra)")
    horizon_s: float = setting(600.0, doc="how far the forecast reaches")
    window_s: float = setting(120.0, doc="the load is a mean over this time")
    interval_s: float = setting(600.0, doc="how often to decide, and how long a size is held while profiling")
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def __post_init__(self) -> None:
        for row in self.profile:
            if not (min(row[:3]) > 0 and row[3] >= 0):
                raise BadInput(f"policy phoebe: profile: found the row {row}; workers, load and capacity are above 0")
        if not (self.profile_sizes >= 1 and self.horizon_s > 0 and self.interval_s > 0 and self.window_s > 0):
            raise BadInput("policy phoebe: profile_sizes, horizon, interval and window must be above 0")
        if not 0 < self.full_cpu <= 1:
            raise BadInput(f"policy phoebe: full_cpu {self.full_cpu:g} must be above 0 and at most 1")
        # Says so now if what it needs is not installed.
        forecaster(self.forecaster, horizon_s=self.horizon_s)

    @property
    def needs(self) -> tuple[Need, ...]:
        """With a profile only the load; to make one, latency and processor use too."""
        always = (Need(Signal.ARRIVED), Need(Signal.COMMITTED))
        profiling = (Need(Signal.DELAY), Need(Signal.WORKER_CPU, stand_ins=(Signal.BUSY_SLOTS,)))
        return always if self.profile else always + profiling

    def start(self) -> Memory:
        """Nothing was seen."""
        model = forecaster(self.forecaster, horizon_s=self.horizon_s)
        steps = list(Steps(model.step_s))
        empty: Memory = {"load": load.start(), "steps": steps, "model": model.start(), "at_s": None}
        return {**empty, "trained": False, "trial": None, "rows": [], "tried": [], "cost": 0.0}

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """Follow the load, and take down what is seen at the present size while there is no profile."""
        if memory["at_s"] is not None and now.at_s <= memory["at_s"]:
            return memory
        queries = _running(now)
        seen = load.after(memory["load"], queries, now.at_s, keep_s=self.window_s)
        learned = {**memory, "load": seen, "at_s": now.at_s}
        if seen["unknown"] is not None:
            return learned
        steps, rates = Steps(*memory["steps"]).read(now.at_s, seen["points"][-1][1])
        model = forecaster(self.forecaster, horizon_s=self.horizon_s)
        state = model.add(memory["model"], rates)
        if rates and not memory["trained"]:
            state = model.train(state)
        learned |= {"steps": list(steps), "model": state, "trained": model.forecast(state) is not None}
        return learned if self.profile else self._profiled(self._tried(learned, last), now, queries)

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """Profile first; then choose."""
        unknown = self._unknown(now, memory)
        if unknown is not None:
            return Decision.hold(now, unknown)
        rows, missing = self._table(memory), self._missing(now, memory)
        cost = self.profile_cost + memory["cost"]
        evidence: dict[str, Json] = {"profiling_worker_h": cost, "profiled": len(rows)}
        if missing:
            says = f"profiling {missing[0]} workers, {len(missing) - 1} sizes follow; {cost:.2f} worker-hours so far"
            trial: dict[str, Json] = {"profiling": missing[0]}
            return Decision(allocation=_all(now, missing[0]), reason=says, evidence={**evidence, **trial}, note=trial)
        model = forecaster(self.forecaster, horizon_s=self.horizon_s)
        rates, forecast = load.rates(memory["load"], self.window_s), model.forecast(memory["model"])
        if rates is None or forecast is None:
            return Decision.hold(now, "the load has been watched for too short a time", evidence)
        return self._chosen(now, rates[0], forecast, rows, evidence)

    # The profile.

    def _table(self, memory: Memory) -> list[Profiled]:
        return [Profiled(*row) for row in self.profile or memory["rows"]]

    def _sizes(self, now: Observation) -> list[int]:
        """Sizes to profile, the greatest first: a job that falls behind at a small one has been measured before."""
        most = max((pool.max_workers for pool in now.pools), default=1)
        least = max((pool.min_workers for pool in now.pools), default=1)
        shares = (k / self.profile_sizes for k in range(1, self.profile_sizes + 1))
        return sorted({max(1, least, round(most * share)) for share in shares}, reverse=True)

    def _missing(self, now: Observation, memory: Memory) -> list[int]:
        if self.profile:
            return []
        known = {*memory["tried"], *(round(row[0]) for row in memory["rows"])}
        return [size for size in self._sizes(now) if size not in known]

    def _tried(self, memory: Memory, last: Decision | None) -> Memory:
        """A size that was asked for is not asked for again: bounds or a full cluster may keep it from being had."""
        size = last.note.get("profiling") if last else None
        if last is None or last.made_s is None or not isinstance(size, int) or size in memory["tried"]:
            return memory
        is_over = memory["at_s"] - last.made_s >= self.interval_s - 1e-6
        return {**memory, "tried": [*memory["tried"], size]} if is_over else memory

    def _profiled(self, memory: Memory, now: Observation, queries: tuple[Query, ...]) -> Memory:
        """What is seen at the present size, added up; it becomes a row when the size has been held for an interval."""
        if not now.pools or not self._missing(now, memory):
            return memory
        before = memory["trial"]
        size, uses, delay = _size(now), _uses(now.pools), _delay(queries)
        rates = load.rates(memory["load"], 0.0)
        at_rest = not any(pool.in_flux for pool in now.pools)
        if before is None or before["workers"] != size or not at_rest:
            trial = {
                "workers": size, "since_s": now.at_s, "n": 0, "sums": [0.0] * 2, "uses": {}, "delay_s": None,
                "at_s": now.at_s,
            }  # fmt: skip
            return {**memory, "trial": trial, "cost": memory["cost"] + _spent(before, now)}
        trial = {**before, "at_s": now.at_s}
        if now.at_s - before["since_s"] >= self.settle_s and rates and uses and delay is not None:
            sums = [a + b for a, b in zip(before["sums"], rates, strict=True)]
            used = {name: _added(before["uses"].get(name, [0, 0.0]), use) for name, use in uses.items()}
            # The least: what was left behind by the size before it is not this one's latency.
            best_s = delay if before["delay_s"] is None else min(delay, before["delay_s"])
            trial |= {"n": before["n"] + 1, "sums": sums, "uses": {**before["uses"], **used}, "delay_s": best_s}
        rows = memory["rows"]
        # A look before the next decision is due, so that it finds the row.
        if now.at_s - before["since_s"] >= 0.9 * self.interval_s and (row := self._row(trial)) is not None:
            rows = [*(other for other in rows if other[0] != size), row]
        return {**memory, "trial": trial, "rows": rows, "cost": memory["cost"] + _spent(before, now)}

    def _row(self, trial: Memory) -> list[float] | None:
        """The means of a trial as a row of the profile, or None where there is nothing to go by.

        A job that falls behind takes in what it can; one that keeps up could take in more, in proportion to the use of
        its busiest worker: with skew the others never get as busy.
        """
        if not trial["n"]:
            return None
        arrival, committed = (total / trial["n"] for total in trial["sums"])
        busiest = max(total / looks for looks, total in trial["uses"].values()) / self.full_cpu
        capacity = committed if committed < 0.95 * arrival else committed / max(_LEAST_USE, busiest)
        return [float(trial["workers"]), arrival, capacity, trial["delay_s"]] if arrival > 0 and capacity > 0 else None

    def _unknown(self, now: Observation, memory: Memory) -> str | None:
        """What is not known at this look that the policy needs."""
        if memory["load"]["unknown"]:
            return str(memory["load"]["unknown"])
        if self.profile:
            return None
        if _delay(_running(now)) is None:
            return "the delay of no query is known, and there is no profile"
        return None if _uses(now.pools) else "processor use is not known, and there is no profile"

    # The choice.

    def _chosen(
        self,
        now: Observation,
        arrival_rps: float,
        forecast: Forecast,
        rows: Sequence[Profiled],
        evidence: dict[str, Json],
    ) -> Decision:
        capacity = power_law([Saturated(row.workers, row.capacity_rps) for row in rows])
        if capacity is None or not now.pools:
            return Decision.hold(now, "the profile has no capacity in it", evidence)
        most = max(1, max(pool.max_workers for pool in now.pools))
        highest = max(arrival_rps, forecast.highest(self.horizon_s))
        enough = [n for n in range(1, most + 1) if capacity.rps(n) > highest]
        by_recovery = next((n for n in enough if self._recovers(capacity.rps(n), arrival_rps, forecast)), most)
        latencies = {n: latency_s(rows, n, highest / capacity.rps(n)) for n in enough}
        least = min(latencies.values(), default=math.inf)
        by_latency = next((n for n, latency in latencies.items() if latency <= least * _AS_GOOD), most)
        chosen, current = max(by_recovery, by_latency), _size(now)
        evidence |= {
            "arrival_rps": arrival_rps,
            "forecast_max_rps": highest,
            "capacity_rps": capacity.rps(current),
            "by_recovery": by_recovery,
            "by_latency": by_latency,
        }
        says = (
            f"at most {highest:,.0f}/s are expected: {by_recovery} workers recover within {self.recovery_target_s:g} s "
            f"and {by_latency} have the least latency"
        )
        if chosen == current:
            return Decision.keep(now, says, evidence)
        if 0 < current - chosen < self.least_shrink:
            return Decision.keep(now, f"{says}; {current - chosen} fewer than now is not worth a shrink", evidence)
        return Decision(allocation=_all(now, chosen), reason=says, evidence=evidence)

    def _recovers(self, capacity_rps: float, arrival_rps: float, forecast: Forecast) -> bool:
        takes_s = recovery_s(
            capacity_rps,
            forecast,
            backlog=arrival_rps * self.checkpoint_s,
            downtime_s=self.downtime_s,
            horizon_s=max(self.horizon_s, self.recovery_target_s),
        )
        return takes_s is not None and takes_s <= self.recovery_target_s


def latency_s(rows: Sequence[Profiled], workers: float, use: float) -> float:
    """Latency at a size and a share of its capacity: the mean of profiled ones, the nearer the heavier.

    Points at which the job fell behind say how long it was profiled, not how late it is, and are left out.
    """
    normal = [row for row in rows if row.use < 1]
    if not normal:
        return math.inf
    weights = [
        1 / (1e-6 + math.log(workers / row.workers) ** 2 + (2 * (use - row.use)) ** 2) for row in normal
    ]  # fmt: skip
    logs = [math.log(max(row.latency_s, 1e-3)) for row in normal]
    return math.exp(sum(w * value for w, value in zip(weights, logs, strict=True)) / sum(weights))


def _running(now: Observation) -> tuple[Query, ...]:
    return tuple(query for query in now.queries if query.phase != "terminated")


def _size(now: Observation) -> int:
    """The size of the largest pool, as it was decided."""
    return max(1, max((pool.wanted for pool in now.pools), default=1))


def _all(now: Observation, workers: int) -> dict[str, int]:
    return {pool.name: max(1, min(workers, pool.max_workers)) for pool in now.pools}


def _uses(pools: Sequence[Pool]) -> dict[str, float]:
    """Processor use of every worker, as far as it is known."""
    return {
        f"{pool.name}/{worker.id}": worker.cpu.value
        for pool in pools
        for worker in pool.workers
        if worker.state == "ready" and worker.cpu is not None
    }


def _added(before: Sequence[float], use: float) -> list[float]:
    """Number and sum of looks at a worker, after one more."""
    return [before[0] + 1, before[1] + use]


def _delay(queries: Sequence[Query]) -> float | None:
    return max((query.delay.p95_s for query in queries if query.delay is not None), default=None)


def _spent(trial: Memory | None, now: Observation) -> float:
    """Worker-hours since the last look."""
    if trial is None:
        return 0.0
    workers = sum(pool.ready + pool.leaving for pool in now.pools)
    return workers * float(now.at_s - trial["at_s"]) / 3600


_: type[Policy[Memory]] = Phoebe

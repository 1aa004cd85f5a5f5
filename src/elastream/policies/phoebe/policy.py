"""Phoebe: profiled capacity and latency, and a recovery target (Geldenhuys et al., ICWS 2022).

A profiling run measures, at several sizes and loads, what the job can take in and how late its results are. From that
table come a model of capacity and one of latency. Every ten minutes two sizes are chosen for the load that is forecast:
the least one that recovers from a failure within a target time, and the one with the least latency. The larger of the
two is taken, unless it is only one or two workers fewer than now.

The table is the setting `profile`; `profile_cost` says what making it took, and every decision carries it, so that it
can be counted. Without a table the policy makes one in place: it holds each of a few sizes for ten minutes, the
greatest first, and what that costs is part of the run. It tries no size that is not expected to keep up, and ends
profiling as soon as one falls behind, or makes results later than the query's SLO allows (without one: than the
recovery target). Of a profile made in place, a size that was chosen and does so is given up at once, too.

Departs from what was published, as far as that is known from its code: models are a power law and the mean of the
nearest profiled points instead of ridge and boosted trees, forecasts come from the package's own hedge, and all pools
get the same size. Tasks of micro-batches run in waves, so that a worker that makes no fewer of them counts for nothing.
Whoever shortens batches makes results earlier, so that by latency the size is often the greatest there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Query
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.estimators import load
from elastream.estimators.forecasting import ForecasterName, forecaster
from elastream.estimators.forecasting.forecast import Forecast
from elastream.estimators.recovery import recovery_s
from elastream.estimators.steps import Steps
from elastream.policies.catalogue import policies
from elastream.policies.phoebe.models import Capacity, Profiled, capacity_of, latency_s
from elastream.policies.phoebe.profiling import InPlace, size_of
from elastream.registry import setting

Memory = dict[str, Any]
"""load: what arrives. model: the forecaster's. profiling: of a profile made in place. choice: the last, restated."""

# Latencies this much above the least are as good.
_AS_GOOD = 1.05
# A load is the same as one that was too much if it is at least this share of it.
_SAME_LOAD = 0.95


class Ahead(NamedTuple):
    """The load, and what is expected of it."""

    arrival_rps: float
    forecast: Forecast

    def highest(self, until_s: float) -> float:
        """The greatest load from now until then."""
        return max(self.arrival_rps, self.forecast.highest(until_s))


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
    choose_s: float = setting(600.0, doc="how often a size is chosen, and how long one is held while profiling")
    interval_s: float = setting(15.0, doc="how often to see whether a size endangers what was promised")
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def __post_init__(self) -> None:
        for row in self.profile:
            if not (min(row[:3]) > 0 and row[3] >= 0):
                raise BadInput(f"policy phoebe: profile: found the row {row}; workers, load and capacity are above 0")
        times = (self.horizon_s, self.choose_s, self.interval_s, self.window_s)
        if not (self.profile_sizes >= 1 and min(times) > 0):
            raise BadInput("policy phoebe: profile_sizes, horizon, choose, interval and window must be above 0")
        if not 0 < self.full_cpu <= 1:
            raise BadInput(f"policy phoebe: full_cpu {self.full_cpu:g} must be above 0 and at most 1")
        # Says so now if what it needs is not installed.
        forecaster(self.forecaster, horizon_s=self.horizon_s)

    @property
    def needs(self) -> tuple[Need, ...]:
        """With a profile only the load; to make one, latency too, and how busy the workers or the batches are."""
        always = (Need(Signal.ARRIVED), Need(Signal.COMMITTED))
        busy = Need(Signal.WORKER_CPU, stand_ins=(Signal.BATCHES, Signal.BUSY_SLOTS))
        return always if self.profile else (*always, Need(Signal.DELAY), busy)

    def start(self) -> Memory:
        """Nothing was seen."""
        model = forecaster(self.forecaster, horizon_s=self.horizon_s)
        steps = list(Steps(model.step_s))
        empty: Memory = {"load": load.start(), "steps": steps, "model": model.start(), "at_s": None, "trained": False}
        return {**empty, "profiling": self._in_place.start(), "choice": None}

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """Follow the load, and take down what is seen at the present size while the profile is made in place."""
        if memory["at_s"] is not None and now.at_s <= memory["at_s"]:
            return memory
        queries = _running(now)
        seen = load.after(memory["load"], queries, now.at_s, keep_s=self.window_s)
        choice = last.note.get("choice") if last is not None else None
        learned = {**memory, "load": seen, "at_s": now.at_s, "choice": choice or memory["choice"]}
        if seen["unknown"] is not None:
            return learned
        steps, rates = Steps(*memory["steps"]).read(now.at_s, seen["points"][-1][1])
        model = forecaster(self.forecaster, horizon_s=self.horizon_s)
        state = model.add(memory["model"], rates)
        if rates and not memory["trained"]:
            state = model.train(state)
        learned |= {"steps": list(steps), "model": state, "trained": model.forecast(state) is not None}
        if not self.profile:
            lately = load.rates(seen, self.window_s)
            arrival_rps = lately[0] if lately else 0.0
            learned["profiling"] = self._in_place.learn(memory["profiling"], now, queries, last, arrival_rps)
        return learned

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """Profile first; then choose."""
        unknown = self._unknown(now, memory)
        if unknown is not None:
            return self._hold(now, memory, unknown)
        rates = load.rates(memory["load"], self.window_s)
        forecast = forecaster(self.forecaster, horizon_s=self.horizon_s).forecast(memory["model"])
        too_short = "the load has been watched for too short a time"
        if rates is None:
            return Decision.hold(now, too_short, self._evidence(memory))
        ahead = None if forecast is None else Ahead(rates[0], forecast)
        trial = None if self.profile else self._trial(now, memory, rates[0], ahead)
        if isinstance(trial, Decision):
            return trial
        if ahead is None:
            return Decision.hold(now, too_short, self._evidence(memory))
        choice, is_early = memory["choice"], self._is_early(now, memory)
        if not is_early and choice is not None and now.at_s - choice["at_s"] < self.choose_s - 1e-6:
            return self._restated(now, memory, choice)
        # Why profiling has ended is said with the first choice.
        over = trial or (memory["profiling"]["over"] if choice is None else None)
        return self._choice(now, memory, ahead, over=over, is_early=is_early)

    # The profile.

    @property
    def _in_place(self) -> InPlace:
        return InPlace(
            sizes=self.profile_sizes,
            hold_s=self.choose_s,
            settle_s=self.settle_s,
            full_cpu=self.full_cpu,
            promised_s=self.recovery_target_s,
        )

    def _rows(self, memory: Memory) -> list[Profiled]:
        return [Profiled(*row) for row in self.profile or memory["profiling"]["rows"]]

    def _evidence(self, memory: Memory) -> dict[str, Json]:
        cost = self.profile_cost + memory["profiling"]["cost"]
        return {"profiling_worker_h": cost, "profiled": len(self._rows(memory))}

    def _unknown(self, now: Observation, memory: Memory) -> str | None:
        """What is not known at this look that the policy needs."""
        if memory["load"]["unknown"]:
            return str(memory["load"]["unknown"])
        if self.profile:
            return None
        # Batches that outgrow the window of delays are no reason to hold: how long records wait is known then.
        if not memory["profiling"]["has_delay"]:
            return "the delay of no query is known, and there is no profile"
        has_use = any(pool.busy_slot_s is not None for pool in now.pools) or any(
            worker.cpu is not None for pool in now.pools for worker in pool.workers
        )
        if has_use or any(query.batches is not None for query in now.queries):
            return None
        return "neither processor use nor batches are known, and there is no profile"

    def _hold(self, now: Observation, memory: Memory, unknown: str) -> Decision:
        """Hold; but not at a size that was only to be tried."""
        profiling, sizes = memory["profiling"], self._in_place.all_sizes(now)
        asked = profiling["asked"]
        if self.profile or asked is None or profiling["over"] is not None or asked["workers"] >= sizes[0]:
            return Decision.hold(now, unknown)
        says = f"{unknown}: {asked['workers']} workers are not profiled meanwhile"
        return Decision(allocation=_all(now, sizes[0]), reason=says, evidence=self._evidence(memory))

    def _trial(
        self, now: Observation, memory: Memory, arrival_rps: float, ahead: Ahead | None
    ) -> Decision | str | None:
        """The next size to profile; or why there is none any more, where that is news."""
        profiling, in_place = memory["profiling"], self._in_place
        missing, greatest = in_place.missing(profiling, now), in_place.all_sizes(now)[0]
        if not missing:
            return None
        size, follow = missing[0], len(missing) - 1
        evidence = self._evidence(memory)
        if arrival_rps == 0:
            return Decision.keep(now, "nothing arrives, so that there is nothing to profile", evidence)
        cost = evidence["profiling_worker_h"]
        says = f"profiling {size} workers, {follow} sizes follow; {cost:.2f} worker-hours so far"
        asked = profiling["asked"]
        if size < greatest and (asked is None or asked["workers"] != size):
            if in_place.is_endangered(_running(now)):
                size, says = greatest, f"{size} workers are not profiled while results are later than promised"
            elif ahead is None:
                return Decision.keep(now, "the load has been watched for too short a time to profile on", evidence)
            elif (enough := self._expected(now, memory, ahead, size)) is not None:
                return enough
        trial: dict[str, Json] = {"profiling": size}
        return Decision(allocation=_all(now, size), reason=says, evidence={**evidence, **trial}, note=trial)

    def _expected(self, now: Observation, memory: Memory, ahead: Ahead, size: int) -> str | None:
        """Why a size is not worth to be tried, if it is not."""
        capacity, highest = capacity_of(self._rows(memory), now), ahead.highest(self.choose_s)
        if capacity is None or capacity.rps(size) > highest:
            return None
        return f"{size} workers are not expected to take in {highest:,.0f}/s, and are not profiled"

    # The choice.

    def _is_early(self, now: Observation, memory: Memory) -> bool:
        """Whether the last choice has turned out to be too small, and cannot wait for the next one."""
        choice, fell_s = memory["choice"], memory["profiling"]["fell_s"]
        if self.profile or choice is None:
            return False
        if fell_s is not None and fell_s > choice["at_s"]:
            return True
        return now.at_s - choice["at_s"] >= self.settle_s and self._in_place.is_endangered(_running(now))

    def _restated(self, now: Observation, memory: Memory, choice: dict[str, Any]) -> Decision:
        """The last choice, until the next one."""
        allocation, evidence = choice["allocation"], self._evidence(memory)
        if allocation is None or allocation.keys() != now.wanted().keys():
            return Decision.keep(now, choice["says"], evidence)
        return Decision(allocation=allocation, reason=choice["says"], evidence=evidence)

    def _choice(self, now: Observation, memory: Memory, ahead: Ahead, *, over: str | None, is_early: bool) -> Decision:
        """A size by the profile."""
        rows, evidence = self._rows(memory), self._evidence(memory)
        capacity, sizes = capacity_of(rows, now), self._in_place.all_sizes(now)
        if not now.pools:
            return Decision.hold(now, "there is no pool", evidence)
        if capacity is None:
            says = "no size could be measured, so the greatest"
            return Decision(allocation=_all(now, sizes[0]), reason=says, evidence=evidence)
        by_recovery, by_latency = self._sizes(now, memory, ahead, capacity)
        chosen, current = max(by_recovery, by_latency), size_of(now)
        evidence |= {
            "arrival_rps": ahead.arrival_rps,
            "forecast_max_rps": ahead.highest(self.horizon_s),
            "capacity_rps": capacity.rps(current),
            "by_recovery": by_recovery,
            "by_latency": by_latency,
        }
        says = (
            f"at most {ahead.highest(self.horizon_s):,.0f}/s are expected: {by_recovery} workers recover within "
            f"{self.recovery_target_s:g} s and {by_latency} have the least latency"
        )
        if is_early and chosen < current:
            # What falls behind, or is late, does not shrink.
            chosen = current
        if over is not None:
            says = f"{over}; {says}"
        if 0 < current - chosen < self.least_shrink:
            says, chosen = f"{says}; {current - chosen} fewer than now is not worth a shrink", current
        evidence["recovery_s"] = self._recovery(capacity.rps(chosen), ahead)
        allocation = None if chosen == current else _all(now, chosen)
        note: dict[str, Json] = {"choice": {"at_s": now.at_s, "allocation": allocation, "says": says}}
        if over is not None:
            note["over"] = over
        if allocation is None:
            return Decision.keep(now, says, evidence, note)
        return Decision(allocation=allocation, reason=says, evidence=evidence, note=note)

    def _sizes(self, now: Observation, memory: Memory, ahead: Ahead, capacity: Capacity) -> tuple[int, int]:
        """The least size that recovers in time, and the least of those with the least latency."""
        most, highest = max(1, max(pool.max_workers for pool in now.pools)), ahead.highest(self.horizon_s)
        # A size that fell behind before it could be measured is too small for that load.
        short = [workers for workers, rps in memory["profiling"]["short"] if highest >= _SAME_LOAD * rps]
        enough = [n for n in range(1, most + 1) if capacity.rps(n) > highest and n > max(short, default=0)]
        by_recovery = next((n for n in enough if self._recovers(capacity.rps(n), ahead)), most)
        rows = [row._replace(workers=capacity.worth(row.workers)) for row in capacity.rows]
        latencies = {n: latency_s(rows, capacity.worth(n), highest / capacity.rps(n)) for n in enough}
        least = min(latencies.values(), default=math.inf)
        return by_recovery, next((n for n, latency in latencies.items() if latency <= least * _AS_GOOD), most)

    def _recovers(self, capacity_rps: float, ahead: Ahead) -> bool:
        takes_s = self._recovery(capacity_rps, ahead)
        return takes_s is not None and takes_s <= self.recovery_target_s

    def _recovery(self, capacity_rps: float, ahead: Ahead) -> float | None:
        return recovery_s(
            capacity_rps,
            ahead.forecast,
            backlog=ahead.arrival_rps * self.checkpoint_s,
            downtime_s=self.downtime_s,
            horizon_s=max(self.horizon_s, self.recovery_target_s),
        )


def _running(now: Observation) -> tuple[Query, ...]:
    return tuple(query for query in now.queries if query.phase != "terminated")


def _all(now: Observation, workers: int) -> dict[str, int]:
    return {pool.name: max(1, min(workers, pool.max_workers)) for pool in now.pools}


_: type[Policy[Memory]] = Phoebe

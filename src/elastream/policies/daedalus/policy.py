"""Daedalus: capacity from processor use, a forecast, and the time it takes to recover (Pfister et al., ICPE 2024).

Every loop of 60 s: one line per worker through processor use and throughput says what the job can take in, with skew;
a forecast of 15 minutes says what will come; and the least size is chosen that can take in the mean load, recovers from
the change within a target time, and then lasts for the whole forecast (Algorithm 1). Downtimes are learned from the
recoveries that are seen.

The default form is not the document's in one point: it forecasts with the package's own hedge, because the document's
ARIMA needs a library (the extra `forecast`), takes seconds to train and is not better on recorded loads. The document's
form is `daedalus(forecaster=arima)`.

Departs from the document where it has to:
- All lines restart when the number of ready workers changes, as in Flink, where their ids are new then. What was seen
  at a size outlives that.
- Where processor use is too steady or too noisy for a line, throughput over use serves.
- A downtime is learned from how long nothing was taken in; the recovery time measured by anomalies ends too early where
  a job catches up slowly, and says little about it.
- With micro-batches, consumer lag is what waits beyond one batch, and workers are full below a processor use of 1, so
  that capacity comes out too high: `daedalus-learned` learns what is full (`full_use`).
- Every pool is sized by itself, for the load of the queries that run in it.
The published code differs from the document; the preset `daedalus-code` has its way of taking skew, its count of poor
loops, consumer lag as part of what must be recovered, two minutes of warm-up per worker, and downtimes that change by
a second after each recovery, which makes every second prediction too short in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.estimators import full_use, load
from elastream.estimators.forecasting import ForecasterName, forecaster
from elastream.estimators.forecasting.checked import Checked
from elastream.estimators.forecasting.forecast import Forecast
from elastream.estimators.forecasting.hedge import Hedge
from elastream.estimators.full_use import NOT_LEARNED, Full
from elastream.estimators.left_behind import records_behind
from elastream.estimators.recovery import recovery_s
from elastream.estimators.worker_capacity import Skew, WorkerCapacity
from elastream.policies.catalogue import policies
from elastream.policies.daedalus.learning import Downtimes, Learning, Memory, key_of, queries_of, start
from elastream.registry import setting


class Outlook(NamedTuple):
    """What is known of one pool when a size is chosen for it."""

    pool: Pool
    arrival_rps: float
    recent_rps: float
    """Over the last checkpoint interval."""
    lag: float
    forecast: Forecast
    margin: float
    """What the maximum of the forecast is multiplied by."""
    seen: Mapping[str, float]
    per_worker_rps: float
    """While it never stands still."""
    downtimes: Mapping[str, float]
    full: Full = NOT_LEARNED

    def capacity(self, workers: int) -> float:
        """As it was seen at that size, or in proportion."""
        return self.seen.get(str(workers), self.per_worker_rps * workers * self.full.at(workers))

    def highest(self, until_s: float) -> float:
        return self.forecast.highest(until_s) * self.margin

    @property
    def expected(self) -> Forecast:
        """The forecast with the same margin all along, so that a recovery is as safe as the size that is chosen."""
        return self.forecast.scaled(self.margin)


class Choice(NamedTuple):
    """A size, the recovery time that was predicted for it, and why."""

    workers: int
    recovery_s: float | None
    why: str


@policies.register("daedalus")
@dataclass(frozen=True, kw_only=True)
class Daedalus:
    """The least size that takes in the load, recovers in time, and lasts for the forecast."""

    recovery_target_s: float = setting(600.0, doc="a change or a failure must be recovered from within this time")
    checkpoint_s: float = setting(10.0, doc="checkpoint interval: what arrived since is processed again")
    out_downtime_s: float = setting(30.0, doc="how long the job stands while growing, before any was seen")
    in_downtime_s: float = setting(15.0, doc="how long the job stands while shrinking, before any was seen")
    downtimes: Downtimes = setting(
        "seen", doc="learn downtimes from how long throughput stood still, or by steps of 1 s, too short or too long"
    )
    settle_s: float = setting(180.0, doc="nothing is changed this long after a change")
    lasting_s: float = setting(600.0, doc="this long after a change only what is absolutely necessary is changed")
    forecaster: ForecasterName = setting("hedge", doc="hedge (ours) or arima (the document's; needs an extra)")
    horizon_s: float = setting(900.0, doc="how far the forecast reaches")
    share: float = setting(0.0, doc="share of coming maxima to be safe against; 0: the forecast itself, as published")
    most_wape: float = setting(0.25, doc="a forecast with a greater error is replaced by a straight line")
    poor_wape: float = setting(0.25, doc="a loop with a greater error counts as poor")
    poor_loops: int = setting(15, doc="so many poor loops in a row, and the forecaster is trained anew")
    skew: Skew = setting("ratio", doc="how busy a worker can get: own / busiest, or 1 - (busiest - own)")
    full_cpu: float = setting(1.0, doc="processor use of a worker that can do no more")
    learn_full_use: bool = setting(False, doc="whether that is learned from batches that left records behind")
    count_lag: bool = setting(False, doc="whether consumer lag is part of what must be recovered")
    warm_up_s: float = setting(0.0, doc="looks at younger workers are left out")
    window_s: float = setting(60.0, doc="processor use and throughput are means over this time")
    interval_s: float = setting(60.0, doc="how often to decide")
    needs: ClassVar[tuple[Need, ...]] = (
        Need(Signal.ARRIVED),
        Need(Signal.COMMITTED),
        Need(Signal.WORKER_CPU, stand_ins=(Signal.BUSY_SLOTS,)),
        Need(Signal.WORKER_RECORDS),
    )
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise BadInput(f"policy daedalus: share {self.share:g} must be at least 0 and below 1")
        if not (0 < self.full_cpu <= 1 and self.horizon_s > 0 and self.window_s > 0 and self.interval_s > 0):
            raise BadInput("policy daedalus: full_cpu must be in (0, 1], horizon, window and interval above 0")
        # Says so now if what it needs is not installed.
        forecaster(self.forecaster, horizon_s=self.horizon_s)

    def start(self) -> Memory:
        """Nothing was seen."""
        return start(out_downtime_s=self.out_downtime_s, in_downtime_s=self.in_downtime_s)

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """Monitor on every look; analyse once per loop."""
        return self._learning.after(memory, now, last)

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """Plan: every pool by itself, but a change of one is a change of the job, after which all wait."""
        allocation: dict[str, int] = {}
        reasons: list[str] = []
        evidence: dict[str, Json] = {}
        predicted_s: dict[str, float | None] = {}
        changed_s = known.last_action_s()
        since_s = None if changed_s is None else now.at_s - changed_s
        for pool in now.pools:
            allocation[pool.name] = pool.wanted
            if not queries_of(pool, now):
                reasons.append(f"{pool.name}: no query runs in it")
                continue
            outlook = self._outlook(pool, now, memory)
            if isinstance(outlook, str):
                return Decision.hold(now, outlook)
            choice = self.choose(outlook, since_s)
            allocation[pool.name] = choice.workers
            reasons.append(self._sentence(outlook, choice))
            evidence |= self._evidence(outlook, choice)
            predicted_s[pool.name] = choice.recovery_s
        note: dict[str, Json] = {"recovery_s": predicted_s}
        if allocation == now.wanted():
            return Decision.keep(now, "; ".join(reasons) or "there is no pool", evidence, note)
        return Decision(allocation=allocation, reason="; ".join(reasons), evidence=evidence, note=note)

    @property
    def _learning(self) -> Learning:
        made = forecaster(self.forecaster, horizon_s=self.horizon_s)
        return Learning(
            checked=Checked(
                forecaster=made, most_wape=self.most_wape, poor_wape=self.poor_wape, poor_loops=self.poor_loops
            ),
            workers=WorkerCapacity(
                window_s=self.window_s, full_use=self.full_cpu, skew=self.skew, warm_up_s=self.warm_up_s
            ),
            interval_s=self.interval_s,
            checkpoint_s=self.checkpoint_s,
            longest_s=self.horizon_s,
            downtimes=self.downtimes,
            learn_full_use=self.learn_full_use,
        )

    def _outlook(self, pool: Pool, now: Observation, memory: Memory) -> Outlook | str:
        """What is known of a pool, or what is not."""
        queries = queries_of(pool, now)
        of, own = memory["loads"].get(key_of(queries)), memory["pools"].get(pool.name)
        if of is None or own is None:
            return f"{pool.name} has not been looked at"
        if of["load"]["unknown"]:
            return str(of["load"]["unknown"])
        rates, recent = load.rates(of["load"], self.interval_s), load.rates(of["load"], self.checkpoint_s)
        forecast = self._learning.checked.forecast(of["forecast"])
        if rates is None or recent is None or forecast is None:
            return f"the load of {pool.name} has been watched for too short a time"
        if not self._learning.workers.is_seen(own["workers"]):
            return f"processor use and throughput of the workers of {pool.name} are not known"
        behind = memory["behind"]
        waiting = [records_behind(behind[query.id], query) for query in queries if query.id in behind]
        if own["per_worker"] is None and (rates[0] > 0 or any(waiting)):
            return f"no worker of {pool.name} has taken in anything, so their capacity is not known"
        return Outlook(
            pool=pool,
            arrival_rps=rates[0],
            recent_rps=recent[0],
            lag=sum(one or 0.0 for one in waiting),
            forecast=forecast,
            margin=self._margin(of),
            seen=own["seen"],
            per_worker_rps=own["per_worker"] or 0.0,
            downtimes=memory["downtimes"],
            full=full_use.full(own.get("full"), pool, queries, "cpu"),
        )

    def _margin(self, of: Memory) -> float:
        """What a forecast maximum is multiplied by; a straight line has no errors to learn it from."""
        made = self._learning.checked.forecaster
        if not self.share or not isinstance(made, Hedge) or of["forecast"]["line"]:
            return 1.0
        return made.bound(of["forecast"]["model"], self.share)

    def choose(self, outlook: Outlook, since_s: float | None) -> Choice:
        """Algorithm 1, with the grace after a change before it."""
        pool, current = outlook.pool, max(1, outlook.pool.wanted)
        if outlook.arrival_rps == 0 and outlook.highest(self.horizon_s) == 0 and outlook.lag == 0:
            return Choice(max(1, pool.min_workers), None, "nothing arrives")
        if since_s is not None and since_s < self.settle_s:
            return Choice(current, None, f"the last change was {since_s:.0f} s ago, {self.settle_s:g} s are to pass")
        capacity, next_rps = outlook.capacity(current), outlook.highest(self.interval_s)
        if since_s is not None and since_s < self.lasting_s and capacity > max(outlook.arrival_rps, next_rps):
            return Choice(current, None, f"enough for now, {since_s:.0f} s after the last change")
        for workers in range(max(1, pool.min_workers), max(1, pool.max_workers) + 1):
            if (recovery := self._suits(outlook, workers)) is None:
                continue
            if workers == current:
                return Choice(current, recovery, "the least size that suits")
            if workers < current and outlook.capacity(workers) < outlook.lag:
                continue
            if outlook.capacity(workers) > outlook.highest(self.horizon_s):
                return Choice(workers, recovery, "the least size that suits")
        most = max(1, pool.max_workers)
        return Choice(most, self._recovery(outlook, most), "no size suits, so the greatest")

    def _suits(self, outlook: Outlook, workers: int) -> float | None:
        """The recovery time at a size, if it takes in the load, recovers in time and is enough until then."""
        capacity = outlook.capacity(workers)
        if capacity <= outlook.arrival_rps:
            return None
        recovery = self._recovery(outlook, workers)
        if recovery is None or recovery > self.recovery_target_s:
            return None
        return recovery if capacity >= outlook.highest(recovery) else None

    def _recovery(self, outlook: Outlook, workers: int) -> float | None:
        # A failure at the same size is met like growing: workers have to start.
        way = "in" if workers < outlook.pool.wanted else "out"
        backlog = outlook.recent_rps * self.checkpoint_s + (outlook.lag if self.count_lag else 0.0)
        return recovery_s(
            outlook.capacity(workers),
            outlook.expected,
            backlog=backlog,
            downtime_s=outlook.downtimes[way],
            horizon_s=self.horizon_s,
        )

    def _sentence(self, outlook: Outlook, choice: Choice) -> str:
        pool, current = outlook.pool, max(1, outlook.pool.wanted)
        says = (
            f"{pool.name}: {outlook.arrival_rps:,.0f}/s arrive, at most {outlook.highest(self.horizon_s):,.0f}/s are "
            f"expected, {current} workers take in {outlook.capacity(current):,.0f}/s"
        )
        if choice.workers != current:
            says += f" and {choice.workers} {outlook.capacity(choice.workers):,.0f}/s"
        if choice.recovery_s is not None:
            says += f", recovery in {choice.recovery_s:.0f} s"
        return f"{says}: {choice.why}"

    def _evidence(self, outlook: Outlook, choice: Choice) -> dict[str, Json]:
        name = outlook.pool.name
        return {
            f"arrival_rps/{name}": outlook.arrival_rps,
            f"forecast_max_rps/{name}": outlook.highest(self.horizon_s),
            f"capacity_rps/{name}": outlook.capacity(max(1, outlook.pool.wanted)),
            f"lag/{name}": outlook.lag,
            f"recovery_s/{name}": choice.recovery_s,
        }


policies.preset(
    "daedalus-code",
    of="daedalus",
    doc="Daedalus as its published code differs from its document.",
    skew="difference",
    poor_wape=0.10,
    count_lag=True,
    warm_up_s=120.0,
    downtimes="steps",
)
policies.preset(
    "daedalus-learned",
    of="daedalus",
    doc="Daedalus, which learns the processor use at which a pool that runs micro-batches can do no more",
    learn_full_use=True,
)

_: type[Policy[Memory]] = Daedalus

"""Kubernetes' horizontal pod autoscaler, for any metric of a pool's workers: ceil(n x value / target).

As its controller computes it (autoscaling/v2): nothing happens within the tolerance; workers without a measurement
count as idle when the pool would grow and as fully used when it would shrink, those that are not ready or have just
become so as idle when it would grow, and if that turns the answer round nothing happens. What follows is in
`behaviour`.

Presets: `hpa-cpu` is the baseline of Kanis (2023), target 0.7; `hpa-80`, `hpa-85` and `hpa-60` are those of Daedalus
(2024). `hpa-kanis` is the thesis' own code per operator: no tolerance, nothing assumed about workers that are not
measured, no limit to a step. `ceiling` is the improvement that it leaves to others: see `ratio_of`.

With micro-batches a pool that falls behind is not fully used, so that a high target is never passed (`full_use`). What
is full can be learned, and then the target is a share of it: `learn_full_use`, and the presets that end in `-learned`.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, NotRequired, TypedDict

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Worker
from elastream.core.signals import Signal
from elastream.estimators import full_use
from elastream.estimators.full_use import NOT_LEARNED, Full
from elastream.policies.catalogue import policies
from elastream.policies.hpa.behaviour import Behaviour, Recommendations, ratio_of
from elastream.registry import setting

Metric = Literal["cpu", "busy", "memory", "records"]

_NEED: dict[Metric, Need] = {
    "cpu": Need(Signal.WORKER_CPU, stand_ins=(Signal.BUSY_SLOTS,)),
    "busy": Need(Signal.BUSY_SLOTS, stand_ins=(Signal.WORKER_CPU,)),
    "memory": Need(Signal.WORKER_MEMORY),
    "records": Need(Signal.WORKER_RECORDS),
}


class HpaMemory(TypedDict):
    """What is remembered from look to look."""

    recommendations: Recommendations
    ready_s: dict[str, float]
    """Worker ('pool/worker') -> when it was first seen ready."""
    full: NotRequired[dict[str, full_use.FullUse]]
    """Pool -> what was learned of its full use."""


class Pods(NamedTuple):
    """The workers of a pool, in the groups that Kubernetes makes of them."""

    values: tuple[float, ...]
    """Of those that are ready and measured."""
    unready: int
    missing: int

    def mean(self) -> float:
        """Of those that count."""
        return sum(self.values) / len(self.values)


@policies.register("hpa")
@dataclass(frozen=True, kw_only=True)
class Hpa(Behaviour):
    """Keep a metric of the workers at its target, pool by pool."""

    metric: Metric = setting("cpu", doc="processor use, busy share of slots, share of memory, or records/s per worker")
    target: float = setting(0.7, doc="what the metric should be: a share, or records/s")
    ceiling: float | None = setting(
        None, doc="the metric's value when saturated, about 0.9; a pool that reaches it is doubled"
    )
    learn_full_use: bool = setting(False, doc="whether the target is a share of the use at which a pool can do no more")
    missing: Literal["assume", "skip"] = setting("assume", doc="about workers that are not measured or not ready")
    warm_up_s: float = setting(300.0, doc="a younger worker counts once measured for a whole window since it was ready")
    metric_window_s: float = setting(15.0, doc="a measurement is a mean over this time")

    def __post_init__(self) -> None:
        Behaviour.__post_init__(self)
        if self.target <= 0:
            raise BadInput(f"policy hpa: target is {self.target:g}; it must be above 0")
        if self.learn_full_use and self.metric not in ("cpu", "busy"):
            raise BadInput(f"policy hpa: full use is learned of cpu and busy, not of {self.metric}; leave one of both")

    @property
    def needs(self) -> tuple[Need, ...]:
        """The metric that was chosen."""
        return (_NEED[self.metric],)

    def start(self) -> HpaMemory:
        """Nothing was recommended."""
        return {"recommendations": {"made_s": None, "recent": []}, "ready_s": {}}

    def learn(self, memory: HpaMemory, now: Observation, last: Decision | None) -> HpaMemory:
        """Remember the last recommendation, and since when each worker is ready."""
        before = memory["ready_s"]
        ready_s = {
            f"{pool.name}/{worker.id}": before.get(f"{pool.name}/{worker.id}", now.at_s)
            for pool in now.pools
            for worker in pool.workers
            if worker.state == "ready"
        }
        learned: HpaMemory = {
            "recommendations": self.remembered(memory["recommendations"], now, last),
            "ready_s": ready_s,
        }
        if self.learn_full_use:
            full = memory.get("full", {})
            learned["full"] = {
                pool.name: full_use.after(full.get(pool.name, full_use.start()), pool, now) for pool in now.pools
            }
        return learned

    def decide(self, now: Observation, known: Knowledge, memory: HpaMemory) -> Decision:
        """A recommendation for every pool, and what its behaviour makes of it."""
        pods = {pool.name: self._pods(pool, now.at_s, known, memory) for pool in now.pools}
        if not any(found.values for found in pods.values()):
            return Decision.hold(now, f"{self.metric} of {', '.join(pods) or 'any pool'} is not known")
        # A pool of which nothing is known is left alone; others go on.
        full = {pool.name: self._full(pool, now, known, memory) for pool in now.pools}
        recommended = {
            pool.name: self.recommend(pods[pool.name], pool.wanted, full[pool.name])
            if pods[pool.name].values
            else pool.wanted
            for pool in now.pools
        }
        allocation, notes = self.settled(recommended, now, known, memory["recommendations"])
        reason = "; ".join([*(self._words(name, pods[name], full[name], recommended[name]) for name in pods), *notes])
        evidence: dict[str, Json] = {
            "recommended": dict(recommended),
            self.metric: {name: found.mean() for name, found in pods.items() if found.values},
            "missing": {name: found.missing for name, found in pods.items()},
            "unready": {name: found.unready for name, found in pods.items()},
        }
        note = self.note(recommended)
        if allocation == now.wanted():
            return Decision.keep(now, reason, evidence, note)
        return Decision(allocation=allocation, reason=reason, evidence=evidence, note=note)

    def recommend(self, pods: Pods, current: int, full: Full = NOT_LEARNED) -> int:
        """Workers so that the metric would be at its target, which is a share of what is full."""
        number = len(pods.values)
        target = self.target * full.at(number)
        ratio = ratio_of(pods.mean(), target, self.ceiling)
        if self.missing == "skip":
            return current if self.is_tolerated(ratio) else full.size(ratio * current, current)
        grows_unready = pods.unready if ratio > 1 else 0
        if not grows_unready and not pods.missing:
            return current if self.is_tolerated(ratio) else full.size(ratio * number, number)
        assumed = [self._assumed(ratio)] * (pods.missing if ratio != 1 else 0)
        values = (*pods.values, *assumed, *[0.0] * grows_unready)
        again = ratio_of(sum(values) / len(values), target, self.ceiling)
        if self.is_tolerated(again) or (ratio < 1) != (again < 1):
            return current
        wish = full.size(again * len(values), number)
        turned = wish > current if again < 1 else wish < current
        return current if turned else wish

    def _assumed(self, ratio: float) -> float:
        """What a worker without a measurement is taken to have: whatever changes least."""
        if ratio > 1:
            return 0.0
        # Records have no "fully used"; there Kubernetes takes the target.
        return self.target if self.metric == "records" else max(1.0, self.target)

    def _full(self, pool: Pool, now: Observation, known: Knowledge, memory: HpaMemory) -> Full:
        metric: full_use.Metric = "busy" if _NEED[self.metric].served_by(known.provides) is Signal.BUSY_SLOTS else "cpu"
        return full_use.full(memory.get("full", {}).get(pool.name), pool, now.queries, metric)

    def _pods(self, pool: Pool, now_s: float, known: Knowledge, memory: HpaMemory) -> Pods:
        if _NEED[self.metric].served_by(known.provides) is Signal.BUSY_SLOTS:
            share = known.busy_share(pool, self.metric_window_s)
            values = () if share is None else (share,) * pool.ready
            return Pods(values, unready=max(0, pool.requested - pool.ready), missing=0)
        values, unready, missing = (), 0, 0
        for worker in pool.workers:
            if worker.state == "leaving":
                continue
            if worker.state == "starting" or self._is_warming_up(worker, pool, now_s, known, memory):
                unready += 1
                continue
            value = self._value(worker, pool, known)
            if value is None:
                missing += 1
            else:
                values = (*values, value)
        # Those that were asked for and that no platform can name yet.
        named = sum(worker.state != "leaving" for worker in pool.workers)
        return Pods(values, unready=unready + max(0, pool.requested - named), missing=missing)

    def _is_warming_up(self, worker: Worker, pool: Pool, now_s: float, known: Knowledge, memory: HpaMemory) -> bool:
        """A young worker is not measured until a whole window lies behind its becoming ready."""
        if self.metric != "cpu" or now_s - worker.since_s >= self.warm_up_s or worker.cpu is None:
            return False
        subject = f"{pool.name}/{worker.id}"
        ready_s = max(worker.since_s, memory["ready_s"].get(subject, now_s))
        return worker.cpu.at_s < ready_s + known.whole_s(Signal.WORKER_CPU, subject, self.metric_window_s)

    def _value(self, worker: Worker, pool: Pool, known: Knowledge) -> float | None:
        subject = f"{pool.name}/{worker.id}"
        if self.metric == "records":
            return known.rate(Signal.WORKER_RECORDS, subject, self.metric_window_s)
        if self.metric == "memory":
            used = known.mean(Signal.WORKER_MEMORY, subject, self.metric_window_s)
            return None if used is None or not pool.worker_memory_bytes else used / pool.worker_memory_bytes
        # Without a reading of this look there is no measurement, however young the last one.
        return None if worker.cpu is None else known.mean(Signal.WORKER_CPU, subject, self.metric_window_s)

    def _words(self, name: str, pods: Pods, full: Full, recommended: int) -> str:
        if not pods.values:
            return f"{self.metric} of {name} is not known"
        others = [f"{pods.missing} not measured"] if pods.missing else []
        others += [f"{pods.unready} not ready"] if pods.unready else []
        counted = f"{len(pods.values)} workers" + (f" ({', '.join(others)})" if others else "")
        ceiling = f", its ceiling {self.ceiling:g}" if self.ceiling is not None else ""
        if (most := full.at(len(pods.values))) != 1:
            ceiling += f" of {most:.2f}, which is full"
        is_now = f"{self.metric} of {name} is {pods.mean():.2f} over {counted}"
        return f"{is_now}, the target {self.target:g}{ceiling}: {recommended}"


policies.preset("hpa-cpu", of="hpa", doc="HPA on processor use, target 0.7", target=0.7)
policies.preset("hpa-80", of="hpa", doc="HPA on processor use, target 0.8", target=0.8)
policies.preset("hpa-85", of="hpa", doc="HPA on processor use, target 0.85", target=0.85)
policies.preset("hpa-60", of="hpa", doc="HPA on processor use, target 0.6", target=0.6)
policies.preset(
    "hpa-kanis",
    of="hpa",
    doc="HPA on processor use per operator as in the thesis: no tolerance, no step limit, unmeasured workers skipped",
    target=0.7,
    tolerance=0.0,
    missing="skip",
    up_pods=None,
    up_percent=None,
    warm_up_s=0.0,
)
policies.preset(
    "hpa-80-learned",
    of="hpa",
    doc="HPA on processor use, target 0.8 of what it learns to be full",
    target=0.8,
    learn_full_use=True,
)

"""One worker more above a threshold, one fewer below another: the rule most teams write first.

Processor use of the workers, or the share of slot time in which a task ran. Neither sees a backlog, and with
micro-batches a pool that falls behind is not fully used, so that a high threshold is never passed (`full_use`). What
is full can be learned, and then both are shares of it: `learn_full_use`, and the presets that end in `-learned`.
"""

from dataclasses import dataclass
from typing import Literal

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool
from elastream.core.signals import Signal
from elastream.estimators import full_use
from elastream.estimators.full_use import Full
from elastream.policies.catalogue import policies
from elastream.registry import setting

_NEED = {
    "cpu": Need(Signal.WORKER_CPU, stand_ins=(Signal.BUSY_SLOTS,)),
    "busy": Need(Signal.BUSY_SLOTS, stand_ins=(Signal.WORKER_CPU,)),
}

Memory = dict[str, full_use.FullUse] | None
"""Pool -> what was learned of its full use; None where nothing is to be learned."""


@policies.register("threshold")
@dataclass(frozen=True, kw_only=True)
class Threshold:
    """One worker more above `high`, one fewer below `low`."""

    metric: Literal["cpu", "busy"] = setting("cpu", doc="processor use of workers, or busy share of slots")
    high: float = setting(0.8, doc="above this, one worker more")
    low: float = setting(0.5, doc="below this, one worker fewer")
    learn_full_use: bool = setting(False, doc="whether thresholds are shares of the use at which a pool can do no more")
    window_s: float = setting(60.0, doc="the metric is a mean over this time")
    interval_s: float = setting(60.0, doc="how often to decide")

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high:
            raise BadInput(f"policy threshold: low {self.low:g} must be at least 0 and below high {self.high:g}")

    @property
    def needs(self) -> tuple[Need, ...]:
        """The metric that was chosen."""
        return (_NEED[self.metric],)

    def start(self) -> Memory:
        """Nothing was learned."""
        return {} if self.learn_full_use else None

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """What is full, where that is to be learned."""
        if memory is None:
            return None
        return {pool.name: full_use.after(memory.get(pool.name, full_use.start()), pool, now) for pool in now.pools}

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """Every pool by itself."""
        use = {pool.name: self._use(pool, known) for pool in now.pools}
        unknown = [name for name, value in use.items() if value is None]
        if unknown:
            return Decision.hold(now, f"{self.metric} use of {', '.join(unknown)} is not known")
        metric: full_use.Metric = "busy" if self._goes_by_slots(known) else "cpu"
        full = {
            pool.name: full_use.full((memory or {}).get(pool.name), pool, now.queries, metric) for pool in now.pools
        }
        steps = {pool.name: self._step(pool, use[pool.name] or 0.0, full[pool.name]) for pool in now.pools}
        reason = "; ".join(self._words(pool, use[pool.name] or 0.0, full[pool.name]) for pool in now.pools)
        evidence = {f"{self.metric}_use/{name}": value for name, value in use.items()}
        if not any(steps.values()):
            return Decision.keep(now, reason, evidence)
        # Never below one: a pool without workers has no use that could bring it back.
        allocation = {pool.name: max(1, pool.wanted + steps[pool.name]) for pool in now.pools}
        return Decision(allocation=allocation, reason=reason, evidence=evidence)

    def _step(self, pool: Pool, use: float, full: Full) -> int:
        """What was asked for and has not come yet, or has not gone yet, counts before more of it is asked for."""
        if use > self.high * full.at(pool.ready):
            return 0 if pool.ready < pool.wanted else 1
        if use < self.low * full.at(pool.ready):
            return 0 if pool.leaving or self._comes_back(pool, use, full) else -1
        return 0

    def _comes_back(self, pool: Pool, use: float, full: Full) -> bool:
        """Whether one fewer would be too few, because waves of tasks fit worse; never where nothing is learned."""
        fewer = pool.ready - 1
        return bool(full.levels) and fewer > 0 and use * pool.ready > self.high * full.at(fewer) * fewer

    def _words(self, pool: Pool, use: float, full: Full) -> str:
        most = full.at(pool.ready)
        of = f" of {most:.2f}, which is full" if full.levels else ""
        return f"{self.metric} use of {pool.name} is {use:.2f}, the band {self.low:g} to {self.high:g}{of}"

    def _goes_by_slots(self, known: Knowledge) -> bool:
        """Whether it looks at the busy share of slots, by choice or because processor use is not told."""
        return _NEED[self.metric].served_by(known.provides) is Signal.BUSY_SLOTS

    def _use(self, pool: Pool, known: Knowledge) -> float | None:
        if self._goes_by_slots(known):
            return known.busy_share(pool, self.window_s)
        # A worker that has just come has no use yet; the others speak for it.
        means = [
            mean
            for worker in pool.workers
            if worker.state == "ready"
            and (mean := known.mean(Signal.WORKER_CPU, f"{pool.name}/{worker.id}", self.window_s)) is not None
        ]
        return sum(means) / len(means) if means else None


policies.preset(
    "threshold-learned",
    of="threshold",
    doc="Threshold on processor use, its band a share of what it learns to be full",
    learn_full_use=True,
)

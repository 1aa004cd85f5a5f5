"""One worker more above a threshold, one fewer below another: the rule most teams write first.

Processor use of the workers, or the share of slot time in which a task ran. Neither sees a backlog.
"""

from dataclasses import dataclass
from typing import Literal

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool
from elastream.core.protocols import Forgetful
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.registry import setting

_NEED = {
    "cpu": Need(Signal.WORKER_CPU, stand_ins=(Signal.BUSY_SLOTS,)),
    "busy": Need(Signal.BUSY_SLOTS, stand_ins=(Signal.WORKER_CPU,)),
}


@policies.register("threshold")
@dataclass(frozen=True, kw_only=True)
class Threshold(Forgetful):
    """One worker more above `high`, one fewer below `low`."""

    metric: Literal["cpu", "busy"] = setting("cpu", doc="processor use of workers, or busy share of slots")
    high: float = setting(0.8, doc="above this, one worker more")
    low: float = setting(0.5, doc="below this, one worker fewer")
    window_s: float = setting(60.0, doc="the metric is a mean over this time")
    interval_s: float = setting(60.0, doc="how often to decide")

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high:
            raise BadInput(f"policy threshold: low {self.low:g} must be at least 0 and below high {self.high:g}")

    @property
    def needs(self) -> tuple[Need, ...]:
        """The metric that was chosen."""
        return (_NEED[self.metric],)

    def decide(self, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Every pool by itself."""
        use = {pool.name: self._use(pool, known) for pool in now.pools}
        unknown = [name for name, value in use.items() if value is None]
        if unknown:
            return Decision.hold(now, f"{self.metric} use of {', '.join(unknown)} is not known")
        steps = {pool.name: self._step(pool, use[pool.name] or 0.0) for pool in now.pools}
        reason = "; ".join(
            f"{self.metric} use of {pool.name} is {use[pool.name] or 0.0:.2f}, the band {self.low:g} to {self.high:g}"
            for pool in now.pools
        )
        evidence = {f"{self.metric}_use/{name}": value for name, value in use.items()}
        if not any(steps.values()):
            return Decision.keep(now, reason, evidence)
        # Never below one: a pool without workers has no use that could bring it back.
        allocation = {pool.name: max(1, pool.wanted + steps[pool.name]) for pool in now.pools}
        return Decision(allocation=allocation, reason=reason, evidence=evidence)

    def _step(self, pool: Pool, use: float) -> int:
        """What was asked for and has not come yet, or has not gone yet, counts before more of it is asked for."""
        if use > self.high:
            return 0 if pool.ready < pool.wanted else 1
        if use < self.low:
            return 0 if pool.leaving else -1
        return 0

    def _use(self, pool: Pool, known: Knowledge) -> float | None:
        if _NEED[self.metric].served_by(known.provides) is Signal.BUSY_SLOTS:
            return known.busy_share(pool, self.window_s)
        # A worker that has just come has no use yet; the others speak for it.
        means = [
            mean
            for worker in pool.workers
            if worker.state == "ready"
            and (mean := known.mean(Signal.WORKER_CPU, f"{pool.name}/{worker.id}", self.window_s)) is not None
        ]
        return sum(means) / len(means) if means else None

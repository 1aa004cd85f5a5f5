"""At most so many workers more or fewer at once."""

from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.guards.speak import LetsThePolicySpeak
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful


@dataclass(frozen=True, kw_only=True)
class StepLimit(Forgetful, LetsThePolicySpeak):
    """Per pool and change at most `up` more and `down` fewer; None is no limit."""

    up: int | None = 15
    down: int | None = None

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Cut the step."""
        allocation = {}
        for pool in now.pools:
            workers = decision.allocation[pool.name]
            if self.up is not None:
                workers = min(workers, pool.wanted + self.up)
            if self.down is not None:
                workers = max(workers, pool.wanted - self.down)
            allocation[pool.name] = workers
        up, down = ("any" if limit is None else limit for limit in (self.up, self.down))
        return decision.adjusted("step-limit", allocation, f"one step is at most +{up}, -{down}")

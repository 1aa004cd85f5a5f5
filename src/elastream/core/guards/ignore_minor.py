"""Ignore changes too small to be worth their disturbance."""

from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.guards.speak import LetsThePolicySpeak
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful


@dataclass(frozen=True, kw_only=True)
class IgnoreMinor(Forgetful, LetsThePolicySpeak):
    """Growing by at most `up` workers, or shrinking by at most `down`, is not acted on."""

    up: int = 0
    down: int = 1

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Put pools with a minor change back to what they have."""
        if decision.kind != "set":
            return decision
        allocation = {
            pool.name: pool.wanted
            if -self.down <= decision.allocation[pool.name] - pool.wanted <= self.up
            else decision.allocation[pool.name]
            for pool in now.pools
        }
        return decision.adjusted("ignore-minor", allocation, f"changes of up to +{self.up}/-{self.down} are ignored")

"""Ignore changes too small to be worth their disturbance."""

from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful, LetsThePolicySpeak


@dataclass(frozen=True, kw_only=True)
class IgnoreMinor(Forgetful, LetsThePolicySpeak):
    """Growing by at most `up` workers, or shrinking by at most `down`, is not acted on.

    The last step down to the minimum is no minor one, or an idle pool would never reach it.
    """

    up: int = 0
    down: int = 1

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Put pools with a minor change back to what they have."""
        if decision.kind != "set":
            return decision
        allocation = dict(decision.allocation)
        for pool in now.pools:
            asked = decision.allocation[pool.name]
            if asked > pool.min_workers and -self.down <= asked - pool.wanted <= self.up:
                allocation[pool.name] = pool.wanted
        return decision.adjusted("ignore-minor", allocation, f"changes of up to +{self.up}/-{self.down} are ignored")

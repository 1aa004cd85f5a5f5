"""The smallest and the largest size of each pool."""

from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful, LetsThePolicySpeak


@dataclass(frozen=True, kw_only=True)
class Bounds(Forgetful, LetsThePolicySpeak):
    """Always there, and never overruled but by a pause."""

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Bring every pool within its bounds."""
        for pool in now.pools:
            asked = decision.allocation[pool.name]
            within = min(max(asked, pool.min_workers), pool.max_workers)
            if within != asked:
                reason = f"{pool.name} has between {pool.min_workers} and {pool.max_workers} workers"
                if (asked_for := now.control.at(now.utc_s).sentence()) and now.control.limits is not None:
                    reason += f", as somebody has asked: {asked_for}"
                decision = decision.adjusted("bounds", {**decision.allocation, pool.name: within}, reason)
        return decision

"""Never fewer workers than the state fits in."""

import math
from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.errors import require_setting as require
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful, LetsThePolicySpeak
from elastream.core.signals import Signal


@dataclass(frozen=True, kw_only=True)
class StateFloor(Forgetful, LetsThePolicySpeak):
    """State may fill at most `memory_share` of the workers' memory.

    State is measured when a batch ends, so during a long batch the last known size counts, however old. Until it was
    measured once, nothing is given up.
    """

    memory_share: float = 0.5

    def __post_init__(self) -> None:
        share = self.memory_share
        require("state-floor", 0 < share <= 1, f"memory_share is {share:g}; it must be above 0 and at most 1")

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Raise what would be too small."""
        if decision.kind == "hold":
            return decision
        for pool in now.pools:
            if pool.worker_memory_bytes is None:
                continue
            state = self._state_bytes(pool.name, now, known)
            if state is None:
                allocation = {**decision.allocation, pool.name: max(decision.allocation[pool.name], pool.wanted)}
                decision = decision.adjusted("state-floor", allocation, "the size of the state is not known yet")
                continue
            floor = math.ceil(state / (pool.worker_memory_bytes * self.memory_share))
            if decision.allocation[pool.name] >= floor:
                continue
            reason = (
                f"{state / 2**20:.0f} MiB of state need {floor} workers of {pool.worker_memory_bytes / 2**20:.0f} MiB "
                f"at {self.memory_share:.0%}; give workers more memory to go lower"
            )
            decision = decision.adjusted("state-floor", {**decision.allocation, pool.name: floor}, reason)
        return decision

    def _state_bytes(self, pool: str, now: Observation, known: Knowledge) -> float | None:
        total = 0.0
        for query in now.queries:
            if query.phase == "terminated":
                continue
            if any(operator.pool == pool and operator.stateful for operator in query.topology.operators):
                reading = known.last(Signal.STATE_BYTES, query.id)
                if reading is None:
                    return None
                total += reading.value
        return total

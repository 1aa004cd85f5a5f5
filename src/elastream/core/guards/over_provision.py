"""A fixed share on top of what was asked for."""

import math
from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.errors import require_setting as require
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful, LetsThePolicySpeak


@dataclass(frozen=True, kw_only=True)
class OverProvision(Forgetful, LetsThePolicySpeak):
    """Every pool gets `factor` times what the policy set, rounded up."""

    factor: float = 1.2

    def __post_init__(self) -> None:
        require("over-provision", 1 <= self.factor < math.inf, f"factor is {self.factor:g}; it must be at least 1")

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Only what is set is multiplied: what stays already has its share."""
        if decision.kind != "set":
            return decision
        allocation = {pool: math.ceil(n * self.factor - 1e-9) for pool, n in decision.allocation.items()}
        return decision.adjusted("over-provision", allocation, f"times {self.factor:g}")

"""Say what would be done, and do nothing."""

from dataclasses import dataclass
from typing import Literal

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful, LetsThePolicySpeak


@dataclass(frozen=True, kw_only=True)
class Pause(Forgetful, LetsThePolicySpeak):
    """The last guard: every target stays as it is."""

    mode: Literal["paused", "dry-run"] = "paused"

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Put everything back."""
        changes = ", ".join(f"{pool} {a} -> {b}" for pool, (a, b) in decision.changes(now).items())
        return decision.adjusted("pause", now.wanted(), f"{self.mode}: would have changed {changes}")

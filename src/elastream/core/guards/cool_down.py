"""After a change, wait before the next one."""

from dataclasses import dataclass
from typing import Literal, TypedDict

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation


class LastChange(TypedDict):
    """When the target changed last, and what it was on the look before."""

    seen_s: float | None
    allocation: dict[str, int] | None
    changed_s: float | None


@dataclass(frozen=True, kw_only=True)
class CoolDown:
    """No change for `after_s` seconds after a change.

    Blocking, as an evaluation framework of stream autoscalers (Kanis, 2023) has it, the policy is not even consulted
    meanwhile, so what it remembers does not move either.
    """

    after_s: float = 300.0
    mode: Literal["ordinary", "blocking"] = "ordinary"

    def start(self) -> LastChange:
        """Nothing has changed yet."""
        return {"seen_s": None, "allocation": None, "changed_s": None}

    def learn(self, memory: LastChange, now: Observation, last: Decision | None) -> LastChange:
        """Note whether the target has changed since the look before."""
        # What is wanted, not what was decided: a change that could not be applied is tried again at once.
        changed = memory["allocation"] is not None and memory["allocation"] != now.wanted()
        return {
            "seen_s": now.at_s,
            "allocation": now.wanted(),
            "changed_s": memory["seen_s"] if changed else memory["changed_s"],
        }

    def silences(self, now: Observation, memory: LastChange) -> str | None:
        """In blocking mode: while it lasts."""
        left_s = self._left_s(now, memory)
        return f"cool-down: {left_s:.0f} s left" if self.mode == "blocking" and left_s > 0 else None

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: LastChange) -> Decision:
        """While it lasts, everything stays."""
        left_s = self._left_s(now, memory)
        if left_s <= 0 or decision.kind == "hold":
            return decision
        return decision.adjusted("cool-down", now.wanted(), f"{left_s:.0f} s left of {self.after_s:g} s after a change")

    def _left_s(self, now: Observation, memory: LastChange) -> float:
        if memory["changed_s"] is None:
            return 0.0
        return memory["changed_s"] + self.after_s - now.at_s

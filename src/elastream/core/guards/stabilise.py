"""Follow the calmest of recent proposals, as Kubernetes does."""

from dataclasses import dataclass
from typing import TypedDict

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import LetsThePolicySpeak


class Proposals(TypedDict):
    """Proposals of the policy within the longer of the two windows, and when the last look was."""

    seen_s: float | None
    recent: list[tuple[float, dict[str, int]]]


@dataclass(frozen=True, kw_only=True)
class Stabilise(LetsThePolicySpeak):
    """Shrink to no less than the largest proposal of `down_s`, grow to no more than the smallest of `up_s`."""

    up_s: float = 0.0
    down_s: float = 300.0

    def start(self) -> Proposals:
        """No proposal was seen."""
        return {"seen_s": None, "recent": []}

    def learn(self, memory: Proposals, now: Observation, last: Decision | None) -> Proposals:
        """Remember what was proposed on the look before."""
        oldest = now.at_s - max(self.up_s, self.down_s)
        recent = [entry for entry in memory["recent"] if entry[0] >= oldest]
        # A hold proposes nothing, and neither does a policy that was not asked.
        if last is not None and last.kind != "hold" and last.made_s is not None and memory["seen_s"] is not None:
            # With the share on top, because that is what will be compared. A list, because JSON knows no tuples.
            recent.append([memory["seen_s"], last.after("over-provision")])  # type: ignore[arg-type]
        return {"seen_s": now.at_s, "recent": recent}

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: Proposals) -> Decision:
        """Stay between the smallest recent proposal and the largest."""
        if decision.kind != "set":
            return decision
        allocation = {
            pool.name: self._calmest(pool.name, pool.wanted, decision.allocation[pool.name], now.at_s, memory)
            for pool in now.pools
        }
        reason = f"the calmest proposal of the last {self.up_s:g} s up, {self.down_s:g} s down"
        return decision.adjusted("stabilise", allocation, reason)

    def _calmest(self, pool: str, wanted: int, proposed: int, now_s: float, memory: Proposals) -> int:
        def within(window_s: float) -> list[int]:
            recent = [sizes[pool] for at_s, sizes in memory["recent"] if at_s >= now_s - window_s and pool in sizes]
            return [proposed, *recent]

        return min(max(wanted, min(within(self.up_s))), max(within(self.down_s)))

"""What to do when more is asked than the cluster has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful, LetsThePolicySpeak


@dataclass(frozen=True, kw_only=True)
class ScarceCluster(Forgetful, LetsThePolicySpeak):
    """Share what there is in proportion to what was asked, or cancel the change."""

    mode: Literal["share", "cancel"] = "share"

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Fit the decision into the cluster."""
        available, asked = now.cluster_workers, sum(decision.allocation.values())
        if decision.kind == "hold" or available is None or asked <= available:
            return decision
        found = f"{asked} workers asked, {available} exist"
        if self.mode == "cancel":
            return decision.adjusted("scarce-cluster", now.wanted(), f"{found}: the change is cancelled")
        return decision.adjusted("scarce-cluster", shared(decision.allocation, available), f"{found}: shared")


def shared(asked: Mapping[str, int], available: int) -> dict[str, int]:
    """Proportional shares that add up to what is available; whoever asked gets one while there is enough for all."""
    total = sum(asked.values())
    if total <= available:
        return dict(asked)
    available = max(0, available)
    # In whole numbers, because shares of very large numbers must add up too.
    share = {name: max(min(1, n), n * available // total) for name, n in asked.items()}
    # Left-over workers go to the largest remainders; a deficit (from the ones above) comes off the largest shares.
    while (left := available - sum(share.values())) != 0:
        if left > 0:
            name = max(asked, key=lambda n: (asked[n] * available - share[n] * total, n))
            share[name] += 1
        else:
            name = max(share, key=lambda n: (share[n], n))
            share[name] -= 1
    return share

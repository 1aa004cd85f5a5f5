"""Worker-hours that may be spent within a period."""

import math
from dataclasses import dataclass
from typing import TypedDict

from elastream.core.decision import Decision
from elastream.core.errors import require_setting as require
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.paid import count_paid
from elastream.core.protocols import LetsThePolicySpeak


class Spending(TypedDict):
    """Worker-seconds since the period began."""

    period_s: float | None
    seen_s: float | None
    spent_worker_s: float


@dataclass(frozen=True, kw_only=True)
class Budget(LetsThePolicySpeak):
    """At most `worker_hours` in every `period_h` hours.

    A size is affordable if it can be kept for `burst_h` hours and the minimum of every pool for the rest of the
    period, so a burst is possible as long as the minimum never is in danger.
    """

    worker_hours: float
    period_h: float = 24.0
    burst_h: float = 1.0

    def __post_init__(self) -> None:
        for name in ("worker_hours", "period_h", "burst_h"):
            require(
                "budget", 0 < getattr(self, name) < math.inf, f"{name} is {getattr(self, name):g}; it must be above 0"
            )

    def start(self) -> Spending:
        """Nothing was spent."""
        return {"period_s": None, "seen_s": None, "spent_worker_s": 0.0}

    def learn(self, memory: Spending, now: Observation, last: Decision | None) -> Spending:
        """Count what the workers have cost since the last look, as the numbers of a run do."""
        if memory["period_s"] is None or now.at_s >= memory["period_s"] + self.period_h * 3600:
            return {"period_s": now.at_s, "seen_s": now.at_s, "spent_worker_s": 0.0}
        elapsed_s = 0.0 if memory["seen_s"] is None else now.at_s - memory["seen_s"]
        return {**memory, "seen_s": now.at_s, "spent_worker_s": memory["spent_worker_s"] + count_paid(now) * elapsed_s}

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: Spending) -> Decision:
        """Cut what cannot be afforded, in proportion to what each pool asks above its minimum."""
        if decision.kind == "hold" or memory["period_s"] is None:
            return decision
        minimum = sum(pool.min_workers for pool in now.pools)
        asked = sum(max(decision.allocation[pool.name], pool.min_workers) for pool in now.pools)
        left_s = memory["period_s"] + self.period_h * 3600 - now.at_s
        left_worker_s = self.worker_hours * 3600 - memory["spent_worker_s"]
        burst_s = min(self.burst_h * 3600, left_s)
        affordable = max(minimum, int((left_worker_s - minimum * (left_s - burst_s)) / burst_s))
        if asked <= affordable:
            return decision
        share = (affordable - minimum) / (asked - minimum)
        allocation = {}
        for pool in now.pools:
            above = decision.allocation[pool.name] - pool.min_workers
            # What is asked below the minimum is left alone: raising it is not for a budget to do.
            allocation[pool.name] = pool.min_workers + (int(above * share) if above > 0 else above)
        reason = (
            f"{left_worker_s / 3600:.1f} of {self.worker_hours:g} worker-hours left for {left_s / 3600:.1f} h: "
            f"at most {affordable} workers"
        )
        return decision.adjusted("budget", allocation, reason)

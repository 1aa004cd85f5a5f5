"""THR-NLAware: the thresholds of THR-NLUnaware with Gesscale's choice of the worker, a baseline of Gesscale's document
(Arkian et al., ICCCN 2021, section V-A).

Above 90 % processor use it adds the nearest worker, below 50 % it removes the farthest. Where the place of workers is
not known, as on Spark, it leaves the choice to the platform and is the same as THR-NLUnaware.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.policies.gesscale.nodes import places
from elastream.policies.thr_nlunaware import ThrNLUnaware
from elastream.policies.threshold import Memory


@policies.register("thr-nlaware")
@dataclass(frozen=True, kw_only=True)
class ThrNLAware(ThrNLUnaware):
    """Processor use above 90 % adds the nearest worker, below 50 % removes the farthest (Gesscale, ICCCN 2021)."""

    uses: ClassVar[tuple[Signal, ...]] = (Signal.WORKER_PLACE, Signal.WORKER_CHOICE, Signal.PLACE_CHOICE)
    """What it can do without, and does better with."""

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """The same sizes, and who comes or goes."""
        decision = super().decide(now, known, memory)
        come: tuple[str, ...] = ()
        go: tuple[str, ...] = ()
        for name, (before, after) in decision.changes(now).items():
            where = places(now.pool(name), now)
            node = where.nearest() if where and after > before else None
            leaver = where.farthest() if where and after < before else None
            come += (node,) if node else ()
            go += (leaver,) if leaver else ()
        if not come and not go:
            return decision
        chosen = [*(f"nearest: {node}" for node in come), *(f"farthest: {worker}" for worker in go)]
        return replace(decision, add_on=come, leave_first=go, reason="; ".join([decision.reason, *chosen]))


policies.preset(
    "thr-nlaware-code",
    of="thr-nlaware",
    doc="THR-NLAware as its public code runs: 50 % and 30 %, every 30 s, and its wait of 300 s after a change",
    high=0.5,
    low=0.3,
    interval_s=30.0,
    window_s=30.0,
    warm_up_s=300.0,
)
policies.preset(
    "thr-nlaware-learned",
    of="thr-nlaware",
    doc="THR-NLAware, its thresholds shares of the processor use that it learns to be full",
    learn_full_use=True,
)

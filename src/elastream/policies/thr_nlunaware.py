"""THR-NLUnaware: one worker more above 90 % processor use, one fewer below 50 %, a baseline of Gesscale's document
(Arkian et al., ICCCN 2021, section V-A).

It names no worker: the platform chooses whom to add and whom to remove. The public code has other thresholds, 50 % and
30 %, looks every 30 s, and waits 300 s after every change: the preset `thr-nlunaware-code`.
"""

from dataclasses import dataclass

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.policies.catalogue import policies
from elastream.policies.threshold import Memory, Threshold
from elastream.registry import setting


@policies.register("thr-nlunaware")
@dataclass(frozen=True, kw_only=True)
class ThrNLUnaware(Threshold):
    """Processor use above 90 % adds any worker, below 50 % removes any (baseline of Gesscale, ICCCN 2021)."""

    high: float = setting(0.9, doc="above this, one worker more")
    low: float = setting(0.5, doc="below this, one worker fewer")
    warm_up_s: float = setting(0.0, doc="time after a change in which nothing is decided")

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """By the thresholds, unless the last change is too recent."""
        done_s = max((action.done_s for action in known.actions if action.done_s is not None), default=None)
        if done_s is not None and now.at_s - done_s < self.warm_up_s:
            return Decision.keep(now, f"warms up for {self.warm_up_s - (now.at_s - done_s):.0f} s more")
        return super().decide(now, known, memory)


policies.preset(
    "thr-nlunaware-code",
    of="thr-nlunaware",
    doc="THR-NLUnaware as its public code runs: 50 % and 30 %, every 30 s, and its wait of 300 s after a change",
    high=0.5,
    low=0.3,
    interval_s=30.0,
    window_s=30.0,
    warm_up_s=300.0,
)
policies.preset(
    "thr-nlunaware-learned",
    of="thr-nlunaware",
    doc="THR-NLUnaware, its thresholds shares of the processor use that it learns to be full",
    learn_full_use=True,
)

"""At most so many workers more or fewer at once."""

from dataclasses import dataclass
from typing import TypedDict

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import LetsThePolicySpeak


class StepTaken(TypedDict):
    """The decision that was followed last, what was wanted when it was made, and what was wanted on the last look."""

    made_s: float | None
    base: dict[str, int]
    wanted: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class StepLimit(LetsThePolicySpeak):
    """Per pool and decision at most `up` more and `down` fewer; None is no limit.

    A decision is restated on every tick until the next one, and may step only once: it is measured from what was
    wanted when it was made.
    """

    up: int | None = 15
    down: int | None = None

    def start(self) -> StepTaken:
        """No decision was followed."""
        return {"made_s": None, "base": {}, "wanted": {}}

    def learn(self, memory: StepTaken, now: Observation, last: Decision | None) -> StepTaken:
        """Note from where the last decision started."""
        if last is None or last.made_s is None or last.made_s == memory["made_s"]:
            return {**memory, "wanted": now.wanted()}
        return {"made_s": last.made_s, "base": memory["wanted"], "wanted": now.wanted()}

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: StepTaken) -> Decision:
        """Cut the step."""
        restated = decision.made_s is not None and decision.made_s == memory["made_s"]
        allocation = {}
        for pool in now.pools:
            base = memory["base"].get(pool.name, pool.wanted) if restated else pool.wanted
            workers = decision.allocation[pool.name]
            if self.up is not None:
                workers = min(workers, base + self.up)
            if self.down is not None:
                workers = max(workers, base - self.down)
            allocation[pool.name] = workers
        up, down = ("any" if limit is None else limit for limit in (self.up, self.down))
        return decision.adjusted("step-limit", allocation, f"one step is at most +{up}, -{down}")

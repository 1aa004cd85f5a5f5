"""Always the same size: the baseline every autoscaler has to beat."""

from dataclasses import dataclass
from typing import ClassVar

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful
from elastream.policies.catalogue import policies
from elastream.registry import setting


@policies.register("fixed")
@dataclass(frozen=True, kw_only=True)
class Fixed(Forgetful):
    """The same number of workers, whatever happens."""

    workers: int | None = setting(None, doc="workers in every pool; without it, the size at the start")
    interval_s: float = setting(15.0, doc="how often to decide")
    needs: ClassVar[tuple[Need, ...]] = ()
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def decide(self, now: Observation, known: Knowledge, memory: None) -> Decision:
        """The same as ever."""
        if self.workers is None:
            return Decision.keep(now, "the size at the start is kept")
        return Decision(allocation={pool.name: self.workers for pool in now.pools}, reason=f"fixed at {self.workers}")

"""What happened on one tick: everything needed to tell of it, and to plan it again."""

from dataclasses import dataclass

from elastream.core.bottleneck import Bottleneck
from elastream.core.control import Intervention
from elastream.core.decision import Decision
from elastream.core.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One turn of the loop."""

    number: int
    at_s: float
    utc_s: float
    observation: Observation | None
    """None if the platform could not be looked at."""
    decision: Decision | None
    """None before the first look that succeeded: nothing is known, not even the present size."""
    troubles: tuple[str, ...] = ()
    """What failed and was survived, one sentence each."""
    bottlenecks: tuple[Bottleneck, ...] = ()
    """What keeps queries back that executors cannot help."""
    interventions: tuple[Intervention, ...] = ()
    """What people have asked of the loop since the tick before."""

    def limits(self) -> list[str]:
        """A sentence for each bottleneck that no guard tells of already."""
        said = [note.reason for note in self.decision.adjustments] if self.decision is not None else []
        return [one.sentence for one in self.bottlenecks if not any(one.sentence in reason for reason in said)]

"""Hours in which nothing should move."""

from dataclasses import dataclass
from typing import Literal

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful, LetsThePolicySpeak

_DAY_S = 24 * 3600


@dataclass(frozen=True, kw_only=True)
class QuietHours(Forgetful, LetsThePolicySpeak):
    """Within `utc`, such as ('22:00-06:00',), there is no change, or only none downwards."""

    utc: tuple[str, ...]
    frozen: Literal["all", "shrink"] = "all"

    def __post_init__(self) -> None:
        for period in self.utc:
            _bounds_s(period)

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        """Put back what may not move."""
        time_s = now.utc_s % _DAY_S
        period = next((period for period in self.utc if _contains(period, time_s)), None)
        if period is None:
            return decision
        allocation = {
            pool.name: max(pool.wanted, decision.allocation[pool.name]) if self.frozen == "shrink" else pool.wanted
            for pool in now.pools
        }
        what = "no change" if self.frozen == "all" else "no shrinking"
        return decision.adjusted("quiet-hours", allocation, f"{what} within {period} UTC")


def _contains(period: str, time_s: float) -> bool:
    start, end = _bounds_s(period)
    return start <= time_s < end if start <= end else time_s >= start or time_s < end


def _bounds_s(period: str) -> tuple[int, int]:
    try:
        start, end = (_time_s(part) for part in period.split("-"))
    except ValueError:
        raise BadInput(f"guard quiet-hours: {period!r} is no period; write it as '22:00-06:00'") from None
    return start, end


def _time_s(text: str) -> int:
    hours, minutes = (int(part) for part in text.strip().split(":"))
    if hours < 0 or not 0 <= minutes < 60 or hours * 60 + minutes > 24 * 60:
        raise ValueError(text)
    return hours * 3600 + minutes * 60

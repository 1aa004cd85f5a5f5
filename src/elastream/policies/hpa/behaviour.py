"""What Kubernetes' horizontal pod autoscaler does with a recommendation before it becomes a size.

First the stabilisation windows: grow to no more than the smallest recommendation of one window, shrink to no less than
the largest of the other. Then the scaling policies: so many pods, or so many percent, within a period, counted from the
size at the period's beginning. The policies that steer by recommendations (`hpa`, `keda-lag`, `varga`) share it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, TypedDict

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool
from elastream.registry import setting

Select = Literal["max", "min", "disabled"]


class Recommendations(TypedDict):
    """Recommendations within the longer of the two windows, and when the last of them was made."""

    made_s: float | None
    recent: list[tuple[float, dict[str, int]]]


def ratio_of(value: float, target: float, ceiling: float | None) -> float:
    """By how much a pool should be larger.

    A metric that cannot rise above its ceiling says "at least" from close to it on, and then the pool is doubled: what
    Kanis (2023, section 8.3) leaves to others. Without a ceiling a pool grows by ceiling / target at most, however
    overloaded it is.
    """
    plain = value / target
    return max(plain, 2.0) if ceiling is not None and value >= 0.95 * ceiling else plain


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Settings of a HorizontalPodAutoscaler beside its metric, with the defaults of Kubernetes."""

    tolerance: float = setting(0.1, doc="a ratio to the target this close to 1 changes nothing")
    up_window_s: float = setting(0.0, doc="grow to no more than the smallest recommendation of this time")
    down_window_s: float = setting(300.0, doc="shrink to no less than the largest recommendation of this time")
    up_pods: int | None = setting(4, doc="workers added within up_pods_s at most, or none")
    up_pods_s: float = setting(15.0, doc="period of up_pods")
    up_percent: float | None = setting(100.0, doc="percent added within up_percent_s at most, or none")
    up_percent_s: float = setting(15.0, doc="period of up_percent")
    up_select: Select = setting("max", doc="which of the two holds for growing; disabled: never grow")
    down_pods: int | None = setting(None, doc="workers removed within down_pods_s at most, or none")
    down_pods_s: float = setting(15.0, doc="period of down_pods")
    down_percent: float | None = setting(100.0, doc="percent removed within down_percent_s at most, or none")
    down_percent_s: float = setting(15.0, doc="period of down_percent")
    down_select: Select = setting("max", doc="which of the two holds for shrinking; disabled: never shrink")
    interval_s: float = setting(15.0, doc="how often to decide")
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise BadInput(f"policy: tolerance is {self.tolerance:g}; it must be at least 0 and below 1")

    def is_tolerated(self, ratio: float) -> bool:
        """Whether a ratio to the target is close enough to 1."""
        # 77 % at a target of 70 % is the limit itself, whatever the last bit says.
        return abs(ratio - 1) <= self.tolerance + 1e-9

    def remembered(self, memory: Recommendations, now: Observation, last: Decision | None) -> Recommendations:
        """The recommendations with the one that the last decision notes."""
        oldest_s = now.at_s - max(self.up_window_s, self.down_window_s)
        recent = [entry for entry in memory["recent"] if entry[0] >= oldest_s]
        if memory["made_s"] is None and not recent:
            # What is there when the autoscaler starts counts as its first recommendation.
            recent = [[now.at_s, now.wanted()]]  # type: ignore[list-item]
        if last is None or last.made_s is None or last.made_s == memory["made_s"] or last.made_s < oldest_s:
            return {**memory, "recent": recent}
        sizes = last.note.get("recommended")
        if isinstance(sizes, Mapping):
            # A list, because JSON knows no tuples.
            recent.append([last.made_s, dict(sizes)])  # type: ignore[arg-type]
        return {"made_s": last.made_s, "recent": recent}

    def note(self, recommended: Mapping[str, int]) -> dict[str, Json]:
        """What a decision notes, for `remembered`."""
        return {"recommended": dict(recommended)}

    def settled(
        self, recommended: Mapping[str, int], now: Observation, known: Knowledge, memory: Recommendations
    ) -> tuple[dict[str, int], list[str]]:
        """What becomes of recommendations, and a sentence wherever it is something else."""
        sizes, notes = {}, []
        for pool in now.pools:
            wish = recommended[pool.name]
            calm = self._stabilised(pool, wish, now.at_s, memory)
            sizes[pool.name] = max(1, self._limited(pool, calm, known))
            if calm != wish:
                window_s = self.down_window_s if wish < calm else self.up_window_s
                notes.append(f"{pool.name} stays at {calm} for recommendations of the last {window_s:g} s")
            if sizes[pool.name] != max(1, calm):
                notes.append(f"{pool.name} may change to {sizes[pool.name]} at once")
        return sizes, notes

    def _stabilised(self, pool: Pool, wish: int, now_s: float, memory: Recommendations) -> int:
        def within(window_s: float) -> list[int]:
            recent = [
                sizes[pool.name] for at_s, sizes in memory["recent"] if at_s > now_s - window_s and pool.name in sizes
            ]
            return [wish, *recent]

        return min(max(pool.wanted, min(within(self.up_window_s))), max(within(self.down_window_s)))

    def _limited(self, pool: Pool, wish: int, known: Knowledge) -> int:
        if wish > pool.wanted:
            return min(wish, max(pool.wanted, self._up_limit(pool, known)))
        if wish < pool.wanted:
            return max(wish, min(pool.wanted, self._down_limit(pool, known)))
        return wish

    def _up_limit(self, pool: Pool, known: Knowledge) -> int:
        if self.up_select == "disabled":
            return pool.wanted
        limits = []
        if self.up_pods is not None:
            limits.append(_size_at(pool, known, self.up_pods_s) + self.up_pods)
        if self.up_percent is not None:
            limits.append(math.ceil(_size_at(pool, known, self.up_percent_s) * (1 + self.up_percent / 100) - 1e-9))
        if not limits:
            return pool.max_workers
        return max(limits) if self.up_select == "max" else min(limits)

    def _down_limit(self, pool: Pool, known: Knowledge) -> int:
        if self.down_select == "disabled":
            return pool.wanted
        limits = []
        if self.down_pods is not None:
            limits.append(_size_at(pool, known, self.down_pods_s) - self.down_pods)
        if self.down_percent is not None:
            limits.append(math.floor(_size_at(pool, known, self.down_percent_s) * (1 - self.down_percent / 100) + 1e-9))
        if not limits:
            return 0
        # The policy that changes most is the one that leaves least.
        return min(limits) if self.down_select == "max" else max(limits)


def _size_at(pool: Pool, known: Knowledge, period_s: float) -> int:
    """The size at the beginning of a period that ends now."""
    since_s = known.now_s - period_s
    changes = [action for action in known.actions if action.pool == pool.name and action.at_s > since_s]
    return pool.wanted - sum(action.after - action.before for action in changes)

"""Faults of looking and changing, which are the same whatever is simulated."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from elastream.core.errors import ApplyFailed, ObservationFailed
from elastream.core.observation import Observation, OperatorWork
from elastream.simulator.faults import Fault, LastingFault, MetricsLate, MetricsMissing, ScaleFailure, Unreachable

F = TypeVar("F", bound=LastingFault)


class Measuring:
    """What faults leave of a look, and whether they let a change pass."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = faults
        self._keep_s = max((fault.by_s for fault in faults if isinstance(fault, MetricsLate)), default=0.0)
        self._past: deque[Observation] = deque()

    def seen(self, now_s: float, look: Callable[[float], Observation]) -> Observation:
        """What can be seen now."""
        if self._fault(Unreachable, now_s):
            raise ObservationFailed("the simulated platform is unreachable (planted fault)")
        seen = look(now_s)
        if self._keep_s:
            self._remember(seen)
        if self._fault(MetricsMissing, now_s):
            return _without_metrics(seen)
        late = self._fault(MetricsLate, now_s)
        return self._as_of(seen, late.by_s) if late else seen

    def check_change(self, now_s: float) -> None:
        """Raise ApplyFailed while the cluster refuses changes."""
        if self._fault(ScaleFailure, now_s):
            raise ApplyFailed("the simulated cluster refuses changes (planted fault)")

    def _fault(self, kind: type[F], now_s: float) -> F | None:
        return next((fault for fault in self._faults if isinstance(fault, kind) and fault.holds(now_s)), None)

    def _remember(self, seen: Observation) -> None:
        self._past.append(seen)
        while self._past[0].at_s < seen.at_s - 2 * self._keep_s:
            self._past.popleft()

    def _as_of(self, seen: Observation, by_s: float) -> Observation:
        """Metrics as they were some time ago; sizes are asked of the cluster and always fresh."""
        old = next((past for past in reversed(self._past) if past.at_s <= seen.at_s - by_s), None)
        return replace(seen, queries=old.queries) if old else _without_metrics(seen)


def _without_metrics(seen: Observation) -> Observation:
    return replace(
        seen,
        pools=tuple(replace(pool, workers=(), busy_slot_s=None) for pool in seen.pools),
        queries=tuple(
            replace(
                query,
                sources=tuple(replace(s, arrived=None, committed=None, backlog_age_s=None) for s in query.sources),
                operators=tuple(OperatorWork(name=work.name) for work in query.operators),
                running=None,
                finished=None,
                batches=None,
                driver_s=None,
                state=None,
                delay=None,
            )
            for query in seen.queries
        ),
        other_busy_slots=None,
    )

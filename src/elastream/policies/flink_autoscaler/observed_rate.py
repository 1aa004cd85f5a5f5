"""The observed true processing rate of Flink's autoscaler: where a source lags, its rate shows what it can do.

Busy time may promise more, because time is lost that nobody counts as busy. Where it promises much more than a source
took in while it lagged, whatever shares the source's pool is believed so much less.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Query
from elastream.core.signals import Signal
from elastream.estimators.left_behind import Behind, records_behind
from elastream.policies.flink_autoscaler.vertices import Rates

Lagging: TypeAlias = dict[str, list[float]]
"""Query -> since when it lags so much that its rate shows what it can do, and looks since then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRate:
    """When a source's rate is an observation, and when it is believed."""

    lag_s: float
    switch: float
    least: int
    window_s: float

    def lagging(
        self, lagging: Lagging, before: Mapping[str, Behind], behind: Mapping[str, Behind], now: Observation
    ) -> Lagging:
        """Who lags, after one more look."""
        found = {}
        for query in now.queries:
            age_s = _lag_s(before.get(query.id), behind[query.id], query)
            if age_s is not None and age_s >= self.lag_s:
                since_s, looks = lagging.get(query.id, [now.at_s, 0.0])
                found[query.id] = [since_s, looks + 1.0]
        return found

    def flattery(
        self, query: Query, known: Knowledge, lagging: Lagging, rates: Mapping[str, Rates], now: Observation
    ) -> dict[str, float]:
        """Operator -> by how much its busy time promises more than is observed while its source lags."""
        since_s, looks = lagging.get(query.id, [now.at_s, 0.0])
        lagging_s = now.at_s - since_s
        if looks < self.least or lagging_s <= 0:
            return {}
        pools = {pool.name: pool for pool in now.pools}
        readers = [reader.name for reader in query.topology.sources()]
        found: dict[str, float] = {}
        for operator in query.topology.operators:
            shared = [other.name for other in query.topology.operators if other.pool == operator.pool]
            reader = next((name for name in shared if name in readers), None)
            pool = pools.get(operator.pool)
            if reader is None or pool is None:
                continue
            observed = self._observed_rps(f"{query.id}/{reader}", known, lagging_s, pool.slots)
            busy = sum(rates[name].busy_slots for name in shared)
            if observed and busy > 0:
                promised = rates[reader].in_rps / busy * pool.slots
                if promised > observed * (1.0 + self.switch):
                    found[operator.name] = promised / observed
        return found

    def _observed_rps(self, subject: str, known: Knowledge, lagging_s: float, slots: int) -> float | None:
        rate = known.rate(Signal.RECORDS_IN, subject, min(lagging_s, self.window_s))
        held_up = known.rate(Signal.BACKPRESSURE_TIME, subject, min(lagging_s, self.window_s)) or 0.0
        free = 1.0 - held_up / max(1, slots)
        return rate / free if rate is not None and free > 0.01 else None


def _lag_s(before: Behind | None, after: Behind, query: Query) -> float | None:
    """How long what a query is behind took to arrive, by the rate since the last look."""
    records = records_behind(after, query)
    if records is None or before is None or before["arrived"] is None or after["arrived"] is None:
        return None
    (then_s, then), (now_s, arrived) = before["arrived"], after["arrived"]
    if now_s <= then_s or records == 0:
        return 0.0
    rate = (arrived - then) / (now_s - then_s)
    return records / rate if rate > 0 else math.inf

"""The autoscaler that Spark has for DStreams (streaming ExecutorAllocationManager): batch time over batch interval.

Every minute the mean duration of the batches that ended in it is divided by the batch interval. From 0.9 on, as many
executors are added as the ratio rounded, at least one; up to 0.3, one is removed. Minutes in which no batch ended
change nothing, however long the running one takes. Spark removes an executor at random; here the platform chooses.
A query without a trigger interval needs `batch_interval_s`; of several queries the one with the highest ratio counts.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.registry import setting

_MOST_BATCHES = 1_000

Memory = dict[str, list[list[float]]]
"""Query -> id, duration and end of the batches of the last interval, as they were seen."""


@policies.register("spark-dstreams")
@dataclass(frozen=True, kw_only=True)
class SparkDstreams:
    """Executors by the ratio of batch time to batch interval."""

    up_ratio: float = setting(0.9, doc="from this ratio on executors are added")
    down_ratio: float = setting(0.3, doc="up to this ratio one is removed")
    batch_interval_s: float | None = setting(None, doc="the interval of queries that have none of their own")
    interval_s: float = setting(60.0, doc="how often to decide, and over what time to average")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.BATCHES),)

    def __post_init__(self) -> None:
        if not 0 <= self.down_ratio < self.up_ratio:
            raise BadInput(
                f"policy spark-dstreams: down_ratio {self.down_ratio:g} must be at least 0 and below "
                f"up_ratio {self.up_ratio:g}"
            )

    def start(self) -> Memory:
        """No batch was seen."""
        return {}

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """Remember the batches of the last interval."""
        seen: Memory = {}
        for query in now.queries:
            batch = query.finished
            oldest_s = now.at_s - self.interval_s
            kept = [entry for entry in memory.get(query.id, []) if oldest_s < entry[2] <= now.at_s]
            newest = memory[query.id][-1][0] if memory.get(query.id) else None
            if batch is not None and batch.id != newest and oldest_s < batch.ended_s <= now.at_s:
                kept = [*kept[1 - _MOST_BATCHES :], [batch.id, batch.duration_s, batch.ended_s]]
            seen[query.id] = kept
        return seen

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """Add, remove or leave alone."""
        ratios: dict[str, float] = {}
        for query in now.queries:
            interval_s = query.trigger.interval_s or self.batch_interval_s
            if query.phase == "terminated":
                continue
            if query.batches is None:
                return Decision.hold(now, f"batches of {query.name} are not known")
            if not interval_s:
                return Decision.hold(now, f"{query.name} has no trigger interval; set batch_interval_s")
            durations = [entry[1] for entry in memory.get(query.id, [])]
            if durations:
                ratios[query.name] = sum(durations) / len(durations) / interval_s
        if not ratios:
            return Decision.keep(now, f"no batch has ended in the last {self.interval_s:g} s")
        return self._by_ratio(now, ratios)

    def _by_ratio(self, now: Observation, ratios: dict[str, float]) -> Decision:
        name, ratio = max(ratios.items(), key=lambda item: item[1])
        said = f"batches of {name} take {ratio:.2f} of their interval"
        evidence: dict[str, Json] = {f"ratio/{query}": value for query, value in ratios.items()}
        if ratio >= self.up_ratio:
            more = max(math.floor(ratio + 0.5), 1)
            allocation = {pool.name: max(pool.ready + more, pool.wanted) for pool in now.pools}
            return Decision(allocation=allocation, reason=f"{said}: {more} more", evidence=evidence)
        if ratio <= self.down_ratio:
            allocation = {pool.name: _one_fewer(pool) for pool in now.pools}
            return Decision(allocation=allocation, reason=f"{said}: one fewer", evidence=evidence)
        return Decision.keep(now, f"{said}, between {self.down_ratio:g} and {self.up_ratio:g}", evidence)


def _one_fewer(pool: Pool) -> int:
    return max(1, min(pool.ready, pool.wanted) - 1)

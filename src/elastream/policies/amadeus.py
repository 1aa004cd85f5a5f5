"""Amadeus' Elastic-Scaling, the one library found for Structured Streaming: batch time over trigger interval.

After every batch the ratio of its duration to the trigger interval goes into a weighted mean in which each batch counts
0.6 of the one after it (a numerator and a denominator, both starting at 1). Where the mean leaves the band from 0.75 to
1.0, the size becomes ceil(workers x mean), within the bounds of the pool, unless a change is still under way. The
library has at most 10 workers: the preset `amadeus-code`.

Kept as it is, with what its users run into: batches without data do not count, so an idle query never shrinks; all
queries of an application share one mean; lag is not looked at. Of several batches that end between two looks only the
last is seen. A query without a trigger interval needs `trigger_s`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, TypedDict

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.registry import setting


class AmadeusMemory(TypedDict):
    """The mean, and what it is made of."""

    numerator: float
    denominator: float
    seen: dict[str, int]
    """Query -> its last batch that was taken in."""
    news_s: float | None
    """When the mean changed last."""
    decided_s: float | None
    """When a decision was made last."""


@policies.register("amadeus")
@dataclass(frozen=True, kw_only=True)
class Amadeus:
    """Keep the duration of batches between 0.75 and 1.0 of the trigger interval."""

    low: float = setting(0.75, doc="below this mean the pool shrinks")
    high: float = setting(1.0, doc="above this mean the pool grows")
    weight: float = setting(0.6, doc="what a batch counts compared with the one after it")
    most: int | None = setting(None, doc="the largest size; without it, the most of the pool")
    trigger_s: float | None = setting(None, doc="the interval of queries that have none of their own")
    count_empty: bool = setting(False, doc="whether batches without data count")
    interval_s: float = setting(1.0, doc="how often to decide, if a batch has ended since")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.BATCHES),)

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high:
            raise BadInput(f"policy amadeus: low {self.low:g} must be at least 0 and below high {self.high:g}")
        if not 0 <= self.weight < 1:
            raise BadInput(f"policy amadeus: weight is {self.weight:g}; it must be at least 0 and below 1")

    def start(self) -> AmadeusMemory:
        """As if a batch had just taken the whole interval."""
        return {"numerator": 1.0, "denominator": 1.0, "seen": {}, "news_s": None, "decided_s": None}

    def learn(self, memory: AmadeusMemory, now: Observation, last: Decision | None) -> AmadeusMemory:
        """Take in the batches that have ended."""
        numerator, denominator, news_s = memory["numerator"], memory["denominator"], memory["news_s"]
        seen: dict[str, int] = {}
        for query in now.queries:
            batch, before = query.finished, memory["seen"].get(query.id)
            if batch is None:
                continue
            seen[query.id] = batch.id
            interval_s = query.trigger.interval_s or self.trigger_s
            if batch.id == before or not interval_s or (batch.rows == 0 and not self.count_empty):
                continue
            numerator = self.weight * numerator + batch.duration_s / interval_s
            denominator = self.weight * denominator + 1
            news_s = now.at_s
        decided_s = last.made_s if last is not None and last.made_s is not None else memory["decided_s"]
        return {
            "numerator": numerator,
            "denominator": denominator,
            "seen": seen,
            "news_s": news_s,
            "decided_s": decided_s,
        }

    def decide(self, now: Observation, known: Knowledge, memory: AmadeusMemory) -> Decision:
        """Multiply by the mean, if it left the band with the last batch."""
        for query in now.queries:
            if query.phase != "terminated" and query.batches is None:
                return Decision.hold(now, f"batches of {query.name} are not known")
            if query.phase != "terminated" and not (query.trigger.interval_s or self.trigger_s):
                return Decision.hold(now, f"{query.name} has no trigger interval; set trigger_s")
        mean = memory["numerator"] / memory["denominator"]
        said = f"batches take {mean:.2f} of the trigger interval, the band {self.low:g} to {self.high:g}"
        evidence = {"mean_ratio": mean}
        if memory["news_s"] is None or (memory["decided_s"] is not None and memory["news_s"] <= memory["decided_s"]):
            return Decision.keep(now, f"no batch has ended since; {said}", evidence)
        if any(pool.in_flux for pool in now.pools):
            return Decision.keep(now, f"a change is under way; {said}", evidence)
        if self.low <= mean <= self.high:
            return Decision.keep(now, said, evidence)
        allocation = {pool.name: self._size(pool, mean) for pool in now.pools}
        return Decision(allocation=allocation, reason=said, evidence=evidence)

    def _size(self, pool: Pool, mean: float) -> int:
        wish = max(1, math.ceil(pool.wanted * mean - 1e-9))
        return min(wish, max(1, pool.max_workers if self.most is None else self.most))


policies.preset("amadeus-code", of="amadeus", doc="Amadeus as its library has it: at most 10 workers", most=10)

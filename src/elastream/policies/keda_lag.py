"""KEDA's Kafka scaler in front of an HPA: ceil(lag / threshold) consumers, and no more than there are partitions.

As its code has it: the lag of a topic is summed over partitions and cut to partitions x threshold, unless idle
consumers are allowed; of several topics the one that asks for most wins; everything else is the HPA (`behaviour`),
whose tolerance also blocks a last step of less than a tenth. A consumer is a slot here, so that a worker with four
slots is four consumers. Scaling to zero is left out: a pool is never without a worker. With micro-batches the rows of
the running batch are lag, too.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool, Query, Source
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.policies.hpa.behaviour import Behaviour, Recommendations
from elastream.registry import setting


class Topic(NamedTuple):
    """What one source asks for."""

    name: str
    lag: float
    counted: float
    """Lag that is left after the cut to partitions."""
    consumers: int


@policies.register("keda-lag")
@dataclass(frozen=True, kw_only=True)
class KedaLag(Behaviour):
    """So many consumers that each has `lag_threshold` records to catch up with."""

    lag_threshold: float = setting(10.0, doc="records of lag per consumer")
    activation_lag: float = setting(0.0, doc="up to this lag a topic asks for the smallest size")
    allow_idle_consumers: bool = setting(False, doc="more consumers than partitions")
    limit_to_partitions_with_lag: bool = setting(False, doc="no more consumers than partitions that have lag")
    ensure_even_distribution: bool = setting(False, doc="only sizes that divide the partitions")
    exclude_persistent_lag: bool = setting(False, doc="lag of a topic in which nothing moves is no lag")
    interval_s: float = setting(30.0, doc="how often to decide")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.ARRIVED), Need(Signal.COMMITTED))

    def __post_init__(self) -> None:
        Behaviour.__post_init__(self)
        if self.lag_threshold <= 0:
            raise BadInput(f"policy keda-lag: lag_threshold is {self.lag_threshold:g}; it must be above 0")

    def start(self) -> Recommendations:
        """Nothing was recommended."""
        return {"made_s": None, "recent": []}

    def learn(self, memory: Recommendations, now: Observation, last: Decision | None) -> Recommendations:
        """Remember the last recommendation."""
        return self.remembered(memory, now, last)

    def decide(self, now: Observation, known: Knowledge, memory: Recommendations) -> Decision:
        """The largest of what the topics ask for, in every pool that works on them."""
        recommended = {pool.name: 1 for pool in now.pools}
        sentences: list[str] = []
        evidence: dict[str, Json] = {}
        for query in now.queries:
            if query.phase == "terminated":
                continue
            if query.backlog is None:
                return Decision.hold(now, query.not_known("lag"))
            topics = [self._topic(source, query, known) for source in query.sources]
            for topic in topics:
                evidence[f"lag/{topic.name}"] = topic.lag
                sentences.append(f"{topic.name} is {topic.lag:,.0f} records behind: {topic.consumers} consumers")
            for pool in _pools_of(query, now):
                sizes = [self._size(topic, pool) for topic in topics]
                recommended[pool.name] = max([recommended[pool.name], *sizes])
        allocation, notes = self.settled(recommended, now, known, memory)
        evidence["recommended"] = dict(recommended)
        reason = "; ".join([*sentences, *notes]) or "no query runs"
        note = self.note(recommended)
        if allocation == now.wanted():
            return Decision.keep(now, reason, evidence, note)
        return Decision(allocation=allocation, reason=reason, evidence=evidence, note=note)

    def _topic(self, source: Source, query: Query, known: Knowledge) -> Topic:
        lag = source.backlog or 0.0
        counted = lag
        if (
            self.exclude_persistent_lag
            and known.rate(Signal.COMMITTED, f"{query.id}/{source.name}", self.interval_s) == 0
        ):
            counted = 0.0
        most = self._most(source)
        if most is not None:
            counted = min(counted, most * self.lag_threshold)
        if counted <= self.activation_lag:
            counted = 0.0
        consumers = max(1, math.ceil(counted / self.lag_threshold - 1e-9))
        if self.ensure_even_distribution and source.partitions:
            # The next size by which partitions are shared out without a rest.
            consumers = next(
                n for n in range(min(consumers, source.partitions), source.partitions + 1) if source.partitions % n == 0
            )
            counted = consumers * self.lag_threshold if counted else 0.0
        return Topic(f"{query.name}/{source.name}", lag, counted, consumers)

    def _most(self, source: Source) -> int | None:
        """Consumers that would find a partition."""
        if self.limit_to_partitions_with_lag and source.partition_backlogs is not None:
            return sum(lag > 0 for lag in source.partition_backlogs)
        return None if self.allow_idle_consumers else source.partitions

    def _size(self, topic: Topic, pool: Pool) -> int:
        """As the HPA takes it: nothing changes while lag per consumer is close to the threshold."""
        present = pool.wanted * pool.slots_per_worker
        if present and self.is_tolerated(topic.counted / (self.lag_threshold * present)):
            return pool.wanted
        return max(1, pool.workers_for(topic.consumers))


def _pools_of(query: Query, now: Observation) -> list[Pool]:
    """Every operator is taken for a deployment with the same trigger."""
    names = {operator.pool for operator in query.topology.operators}
    return [pool for pool in now.pools if pool.name in names]

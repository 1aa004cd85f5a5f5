"""Which worker to add and which to remove, by the network delay between nodes (Gesscale, section IV-E).

The document sorts workers by their delay to the rest and adds the nearest, removes the farthest. Here that is the
choice after which the greatest delay within the set is least, for that is what its model asks for; among equals, the
one with the least (or, to remove, the greatest) delay to all others, then the first by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from elastream.core.observation import Observation, Pool, Worker


@dataclass(frozen=True, kw_only=True)
class NodePlaces:
    """Where the workers of a pool are, and where there is room for one more."""

    workers: tuple[tuple[str, str], ...]
    """Worker and its node."""
    free: tuple[str, ...]
    """Nodes without a worker whose delay to every worker is known."""
    delays_ms: Mapping[frozenset[str], float]

    @property
    def max_delay_ms(self) -> float:
        """The greatest delay between two workers, ND_max."""
        return max((self._delay_ms(a, b) for (_, a), (_, b) in combinations(self.workers, 2)), default=0.0)

    def nearest(self) -> str | None:
        """The free node to add a worker on."""
        return min(self.free, key=lambda node: (*self._away_ms(node), node), default=None)

    def farthest(self) -> str | None:
        """The worker to remove."""
        ranked = [(self._after(worker), worker) for worker, _ in self.workers]
        return min(ranked)[1] if ranked else None

    def without(self, worker: str) -> NodePlaces:
        """The same pool with one worker fewer."""
        return replace(self, workers=tuple(pair for pair in self.workers if pair[0] != worker))

    def _after(self, worker: str) -> tuple[float, float]:
        """What removing a worker leaves, the less the better: the greatest delay, and the sum of all."""
        left = self.without(worker)
        total_ms = sum(self._delay_ms(a, b) for (_, a), (_, b) in combinations(left.workers, 2))
        return left.max_delay_ms, total_ms

    def _away_ms(self, node: str) -> tuple[float, float]:
        """Delay from a free node to the workers: the greatest, and the sum."""
        delays = [self._delay_ms(node, other) for _, other in self.workers]
        return max(delays, default=0.0), sum(delays)

    def _delay_ms(self, one: str, other: str) -> float:
        return 0.0 if one == other else self.delays_ms[frozenset((one, other))]


def places(pool: Pool, now: Observation) -> NodePlaces | None:
    """Where a pool's workers are; None unless the delay between any two of them is known."""
    staying = [worker for worker in pool.workers if worker.state != "leaving"]
    if not staying or any(worker.node is None for worker in staying):
        return None
    delays = _delays(staying)
    nodes = [worker.node or "" for worker in staying]
    if any(one != other and frozenset((one, other)) not in delays for one, other in combinations(nodes, 2)):
        return None
    taken = {worker.node for other in now.pools for worker in other.workers}
    named = sorted({node for pair in delays for node in pair} - taken - {""})
    free = tuple(node for node in named if all(frozenset((node, other)) in delays for other in nodes))
    return NodePlaces(workers=tuple((worker.id, worker.node or "") for worker in staying), free=free, delays_ms=delays)


def _delays(workers: Iterable[Worker]) -> dict[frozenset[str], float]:
    """Delay between each pair of nodes; where the two ends do not agree, the greater one."""
    delays: dict[frozenset[str], float] = {}
    for worker in workers:
        for node, delay_ms in (worker.delays_ms or {}).items():
            if worker.node is not None and node != worker.node and 0 <= delay_ms < math.inf:
                pair = frozenset((worker.node, node))
                delays[pair] = max(delay_ms, delays.get(pair, 0.0))
    return delays

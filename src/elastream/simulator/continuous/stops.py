"""Back-pressure as in Heron: one full queue stops all sources, until it has been worked off to a mark well below.

Operators in between go on with what they have, so nothing else bounds a queue. Sources are then either running at full
rate or standing still, for as long as it takes to fill or to empty that much: with queues of 100 MiB that is minutes.
"""

from __future__ import annotations

from collections.abc import Sequence

from elastream.simulator.continuous.instances import Instances


class Stops:
    """Which operators hold the sources up."""

    def __init__(self, operators: Sequence[Instances], until: float) -> None:
        self._until = until
        self._sources = [operator for operator in operators if operator.logs]
        self._held_by = [
            (operator, _above(operator)) for operator in operators if operator.model.buffer is not None and operator.ups
        ]
        self._stopping: set[int] = set()

    def hold(self) -> None:
        """Let nothing be read in this step if a queue is full, or was and has not been worked off yet."""
        for operator, _ in self._held_by:
            room = operator.model.buffer or 0.0
            fullest = max([group.queue / group.count for group in operator.groups], default=0.0)
            if fullest >= room:
                self._stopping.add(operator.number)
            elif fullest <= self._until * room:
                self._stopping.discard(operator.number)
        if self._stopping:
            for source in self._sources:
                source.limit = source.can = 0.0

    def account(self, step_s: float) -> None:
        """As Heron names who stopped the sources, all that feeds it, near or far, counts as held up, busy or not."""
        held: dict[int, Instances] = {}
        for operator, above in self._held_by:
            if operator.number in self._stopping:
                held |= above
        for operator in held.values():
            operator.backpressure_s += operator.useful * step_s


def _above(operator: Instances) -> dict[int, Instances]:
    """All that feeds an operator, directly or not."""
    found: dict[int, Instances] = {}
    for up, selectivity in operator.ups:
        if selectivity:
            found |= {up.number: up} | _above(up)
    return found

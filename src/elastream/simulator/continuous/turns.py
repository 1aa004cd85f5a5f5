"""Operators that share the slots of one pool take turns, as in Timely, in Spark or in Flink's reactive mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elastream.simulator.continuous.instances import Instances


class Turns:
    """How the time of one pool is dealt out in a step. Shares are of the whole step on all slots."""

    def __init__(self, operators: Sequence[Instances], gains: Mapping[str, float]) -> None:
        self.operators = operators
        self.left = 0.0
        self.allotted = [0.0] * len(operators)
        self._gains = [gains[operator.model.name] for operator in operators]
        self._holds_back = all(op.logs or (op.bounded and op.model.buffer is not None) for op in operators)
        for place, operator in enumerate(operators):
            operator.shared = (self, place)

    def deal(self) -> None:
        """To each what it could use, as far as there is time."""
        wanted = [_wanted(operator) for operator in self.operators]
        total = sum(wanted)
        if total <= 1.0:
            self.allotted, self.left = wanted, 1.0 - total
            return
        if self._holds_back:
            # With bounded buffers all operators soon process the same stream: each needs its part of the work.
            work = [gain / (op.capacity or 1.0) for gain, op in zip(self._gains, self.operators, strict=True)]
            whole = sum(work)
            self.allotted = [part / whole for part in work]
        else:
            self.allotted = _in_turn(wanted)
        self.left = 0.0


def _in_turn(wanted: Sequence[float]) -> list[float]:
    """Round after round to each the same: who wants little gets all of it, and the rest share what is left."""
    allotted, left, waiting = [0.0] * len(wanted), 1.0, len(wanted)
    for place in sorted(range(len(wanted)), key=wanted.__getitem__):
        allotted[place] = min(wanted[place], left / waiting)
        left, waiting = left - allotted[place], waiting - 1
    return allotted


def _wanted(operator: Instances) -> float:
    waiting = sum(log.waiting for log in operator.logs) if operator.logs else operator.queue + operator.supply
    if operator.window is not None and operator.window.firing:
        waiting += operator.window.firing / operator.fire_ratio
    return waiting / operator.capacity if operator.capacity else 0.0

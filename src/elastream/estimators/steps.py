"""Mean rates over equal steps, out of a running total that is read whenever somebody looks."""

from __future__ import annotations

import math
from typing import NamedTuple

# A gap longer than this many steps is no data to learn from: after it, steps begin anew.
_LONGEST_GAP = 3600


class Steps(NamedTuple):
    """A value: reading the total again gives another one, and the rates of the steps that ended meanwhile.

    Between two readings the total is taken to grow evenly, so steps may be shorter or longer than the time between.
    """

    step_s: float
    at_s: float | None = None
    """When the total was read last."""
    total: float = 0.0
    edge: float | None = None
    """The total when the present step began; None if that was not seen."""

    def read(self, at_s: float, total: float) -> tuple[Steps, list[float]]:
        """The steps after one more reading, and the rates of those that ended, oldest first."""
        if self.at_s is None or total < self.total or at_s - self.at_s > _LONGEST_GAP * self.step_s:
            return self._replace(at_s=at_s, total=total, edge=total if at_s % self.step_s == 0 else None), []
        if at_s <= self.at_s:
            return self, []
        rate = (total - self.total) / (at_s - self.at_s)
        rates, edge = [], self.edge
        for number in range(math.floor(self.at_s / self.step_s) + 1, math.floor(at_s / self.step_s) + 1):
            there = self.total + rate * (number * self.step_s - self.at_s)
            if edge is not None:
                rates.append(max(0.0, there - edge) / self.step_s)
            edge = there
        return self._replace(at_s=at_s, total=total, edge=edge), rates

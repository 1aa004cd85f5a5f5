"""What is to be planned: who arrives, which sizes there are, what they cost, and what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from elastream.core.slo import Slo
from elastream.workloads.series import RateSeries

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Rounding = Literal["down", "up"]
"""Down: what is planned is easier than what is, so that its cost is a lower bound. Up: harder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Everything but the engine. Costs are seconds of a worker."""

    curve: RateSeries
    duration_s: float
    workers: tuple[int, ...]
    """Sizes worth having, fewest first."""
    begins_with: int
    """Place of the size at the start."""
    slo: Slo
    start_s: float = 0.0
    """For so long a worker is paid before it is ready."""
    least_start_s: float = 0.0
    """The same of the fastest."""
    leave_s: float = 0.0
    """For so long a worker is paid after it was told to go."""

    @property
    def records(self) -> float:
        """That arrive."""
        return self.curve.arrived(self.duration_s)

    @property
    def may_be_late(self) -> float:
        """Of them."""
        return (1 - self.slo.share) * self.records


class SizeChange(NamedTuple):
    """The size from a time on."""

    at_s: float
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePlan:
    """Sizes over time, and what comes of them by the model, without rounding."""

    changes: Sequence[SizeChange]
    cost_s: float
    late: float
    judged: float
    """Records that were done, or are overdue, at the end."""

    def keeps(self, slo: Slo) -> bool:
        """Whether enough records are in time."""
        return self.late <= (1 - slo.share) * self.judged + 1e-9 * max(1.0, self.judged)


class Moves(NamedTuple):
    """What comes of each size (last axis) at each level of what waits, for one moment."""

    cost_s: Floats
    late: Floats
    after: Places
    """Moment times levels plus level."""


class Turn(NamedTuple):
    """One moment: what comes of staying, and of a change where that stops the job."""

    stay: Moves
    grow: Moves | None = None
    shrink: Moves | None = None


class Engine(Protocol):
    """An engine in moments and levels of what waits. Equal ones have equal answers, so that these can be kept."""

    def __hash__(self) -> int:
        """Of a frozen dataclass."""

    @property
    def problem(self) -> Problem:
        """What is planned with it."""

    @property
    def moments(self) -> int:
        """From 0; what comes after the last one costs nothing."""

    @property
    def levels(self) -> int:
        """Of what waits."""

    @property
    def reach(self) -> int:
        """No move leads further ahead than that many moments."""

    @property
    def record_s(self) -> float:
        """What a record costs on the smallest size, in seconds of a worker."""

    def coarser(self, factor: int) -> Engine:
        """The same with so many times fewer levels."""

    def prices(self, rounding: Rounding) -> tuple[float, float]:
        """Of a worker that is added, and of one that is given up."""

    def turns(self, first: int, last: int, rounding: Rounding) -> Sequence[Turn]:
        """Of the moments from the first up to, but not including, the last."""

    def waiting_s(self, moment: int) -> float | None:
        """How long it takes to wait for the next moment with what waits a level higher; None if nobody can."""

    def roll_out(self, decisions: npt.NDArray[np.uint8]) -> SizePlan:
        """What comes of decisions: moment, level, size -> size."""

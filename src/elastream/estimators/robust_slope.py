"""A slope that a few wild points do not move, and where the true one lies (Theil and Sen).

The median of the slopes between all pairs of points; the interval is Sen's (1968), from how Kendall's rank correlation
varies when nothing is correlated. With fewer than six points the interval would leave the range of what was seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

LEAST_POINTS = 6


class RobustSlope(NamedTuple):
    """Change per unit, and its interval."""

    value: float
    low: float
    high: float


def find_slope(at: Sequence[float], values: Sequence[float], *, sure: float = 0.95) -> RobustSlope | None:
    """None with fewer than six points at different places."""
    places, heights = np.asarray(at, dtype=float), np.asarray(values, dtype=float)
    if len(np.unique(places)) < LEAST_POINTS:
        return None
    one, other = np.triu_indices(len(places), k=1)
    apart = places[other] - places[one]
    slopes = np.sort((heights[other] - heights[one])[apart != 0] / apart[apart != 0])
    number, count = len(places), len(slopes)
    reach = NormalDist().inv_cdf((1 + sure) / 2) * math.sqrt(number * (number - 1) * (2 * number + 5) / 18)
    low = max(0, math.floor((count - reach) / 2))
    high = min(count - 1, math.ceil((count + reach) / 2))
    return RobustSlope(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))

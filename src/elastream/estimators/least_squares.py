"""Least squares where no coefficient may be negative, exact for the few coefficients that a capacity model has."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Solution(NamedTuple):
    """Coefficients, and the sum of squares that they leave over."""

    coefficients: Floats
    left_over: float


def nonnegative(columns: Floats, values: Floats) -> Solution:
    """Fit values by columns, coefficients at least 0.

    The answer is an ordinary fit on some of the columns. With three of them there are eight choices, so all are tried,
    fewest first: columns that say the same thing do not share a coefficient between them.
    """
    width = columns.shape[1]
    best = Solution(np.zeros(width), float(values @ values))
    tolerance = 1e-12 * best.left_over
    for size in range(1, min(width, len(values)) + 1):
        for chosen in map(list, combinations(range(width), size)):
            found, _, rank, _ = np.linalg.lstsq(columns[:, chosen], values, rcond=None)
            if rank < size or (found < 0).any():
                continue
            miss = values - columns[:, chosen] @ found
            if (left_over := float(miss @ miss)) < best.left_over - tolerance:
                coefficients = np.zeros(width)
                coefficients[chosen] = found
                best = Solution(coefficients, left_over)
    return best

"""Prices of Nexmark: 100 * 10 ** (6 u) cents for an even u, so that there are as many of one order as of another."""

import numpy as np
from numpy.typing import NDArray

from elastream.events.randomness import IntArray

# Between two knots a price lies on a straight line: whole numbers, which every machine computes alike.
_KNOTS = 4_096
_STEP = 2**32 // _KNOTS


def price_knots() -> IntArray:
    """Prices in cents at equal steps of u."""
    return np.rint(100 * 10 ** (6 * np.arange(_KNOTS + 1) / _KNOTS)).astype(np.int64)


def prices(random: NDArray[np.uint64], knots: IntArray) -> IntArray:
    """32 random bits each to a price."""
    numbers = random.astype(np.int64)
    below = numbers // _STEP
    low = knots[below]
    return low + (knots[below + 1] - low) * (numbers % _STEP) // _STEP

"""Random numbers from offsets: no state, so any part of a stream can be made alone, and is always the same."""

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def scrambled(numbers: IntArray, seed: int) -> NDArray[np.uint64]:
    """64 random bits for each number (SplitMix64's finaliser)."""
    mixed = numbers.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def skewed(random: NDArray[np.uint64], over: int, hot_share: float) -> IntArray:
    """64 random bits to a number below `over`: 0 has its share, the others are even. A share of 0: all are even."""
    high, low = random >> np.uint64(32), random & np.uint64(0xFFFFFFFF)
    hot_below = round(hot_share * 2**32)
    if not hot_below or over == 1:
        return spread(low, over)
    return np.where(high < hot_below, 0, 1 + spread(low, over - 1))


def spread(random: NDArray[np.uint64], over: int) -> IntArray:
    """32 random bits to a number below `over`, which is at most 2**32, evenly."""
    return ((random * np.uint64(over)) >> np.uint64(32)).astype(np.int64)

"""Independent streams of random numbers for the parts of one workload."""

import zlib
from collections import Counter

import numpy as np


class Streams:
    """Hands one generator to each part, named by the part's pattern and how many of that pattern came before it.

    So the noise of a part is the same whatever other patterns stand beside it, and when only its settings change.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._seen: Counter[str] = Counter()

    def next(self, pattern: str) -> np.random.Generator:
        key = (zlib.crc32(pattern.encode()), self._seen[pattern])
        self._seen[pattern] += 1
        # PCG64 by name: default_rng may change its choice in a later numpy.
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self._seed, spawn_key=key)))

"""Random texts of Nexmark, made once as tables from which events then take: a text taken costs next to nothing."""

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.events.randomness import IntArray, scrambled, spread

TEXTS = 4_096
"""So many different ones of a kind."""
SHORTEST = 3
# Filler differs in length by so much, up and down.
_FILLER_SPREAD = 0.2
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def high(random: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The upper half of random bits."""
    return random >> np.uint64(32)


def low(random: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The lower half of random bits."""
    return random & np.uint64(0xFFFFFFFF)


def taken(table: pa.Array, random: NDArray[np.uint64]) -> pa.Array:
    """One of the table for each 32 random bits."""
    return table.take(pa.array(spread(random, len(table))))


def words(count: int, end: int, seed: int, gap: str = "") -> pa.Array:
    """Random texts of 3 letters up to, without, `end`; about one letter in 13 is the gap, if there is one."""
    return _cut(SHORTEST + spread(high(scrambled(np.arange(count), seed)), end - SHORTEST), seed, gap)


def filler(average: int, others: float, seed: int) -> pa.Array:
    """Texts that bring an event, whose other columns take `others` bytes on average, to its average size."""
    wanted = max(round(average - others), 0)
    delta = round(wanted * _FILLER_SPREAD)
    lengths = wanted - delta + spread(high(scrambled(np.arange(TEXTS), seed)), max(2 * delta, 1))
    return _cut(lengths, seed)


def _cut(lengths: IntArray, seed: int, gap: str = "") -> pa.Array:
    """One long random text, cut into pieces of these lengths."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    random = scrambled(np.arange(-(-int(ends[-1]) // 8)), ~seed % 2**32).astype("<u8").view(np.uint8)
    gaps = gap * 20
    signs = (_LETTERS * 10)[: 256 - len(gaps)] + gaps
    text = np.frombuffer(signs.encode("ascii"), dtype=np.uint8)[random]
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(ends), pa.py_buffer(text))

"""Sentences of words; one word may be hot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from elastream.events.columns import HEAD, HEAD_NAMES, head
from elastream.events.generators import share, whole
from elastream.events.randomness import IntArray, scrambled, skewed


@dataclass(frozen=True, kw_only=True)
class Words:
    """Sentences of equally many words, all equally frequent unless one is hot."""

    options: ClassVar[tuple[str, ...]] = ("words", "vocabulary", "hotShare")
    schema: ClassVar[str] = f"{HEAD}, line STRING"
    key_column: ClassVar[str | None] = None

    seed: int
    partitions: int
    words: int = 20
    """Of a sentence, as in DS2's experiments."""
    vocabulary: int = 1_000
    hot_share: float = 0.0
    """Share of all words that are one and the same."""

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        return cls(
            seed=seed,
            partitions=partitions,
            words=whole(given, "words", "20", least=1),
            vocabulary=whole(given, "vocabulary", "1000", least=1),
            hot_share=share(given, "hotShare"),
        )

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        places = (offsets[:, np.newaxis] * self.words + np.arange(self.words)).ravel()
        chosen = skewed(scrambled(places, self.seed), self.vocabulary, self.hot_share)
        spelt = pa.array([f"word{number}" for number in range(self.vocabulary)]).take(pa.array(chosen))
        ends = pa.array(np.arange(len(offsets) + 1, dtype=np.int32) * self.words)
        return pa.RecordBatch.from_arrays(
            [
                *head(offsets, event_time_us, self.partitions),
                pc.binary_join(pa.ListArray.from_arrays(ends, spelt), " "),
            ],
            names=[*HEAD_NAMES, "line"],
        )

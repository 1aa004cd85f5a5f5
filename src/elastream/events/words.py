"""Sentences of words; one word may be hot."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.core.errors import BadInput
from elastream.events.generators import number, whole
from elastream.events.randomness import IntArray, scrambled, spread


@dataclass(frozen=True, kw_only=True)
class Words:
    """Sentences of equally many words, all equally frequent unless one is hot."""

    options: ClassVar[tuple[str, ...]] = ("words", "vocabulary", "hotShare")
    schema: ClassVar[str] = "offset BIGINT, partition INT, event_time TIMESTAMP, line STRING"
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
        hot_share = number(given, "hotShare", "0")
        if not 0 <= hot_share <= 1:
            raise BadInput(f"source: hotShare: found {given['hotshare']}; it must be between 0 and 1")
        return cls(
            seed=seed,
            partitions=partitions,
            words=whole(given, "words", "20", least=1),
            vocabulary=whole(given, "vocabulary", "1000", least=1),
            hot_share=hot_share,
        )

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        places = (offsets[:, np.newaxis] * self.words + np.arange(self.words)).ravel()
        random = scrambled(places, self.seed)
        chosen = self._chosen(random >> np.uint64(32), random & np.uint64(0xFFFFFFFF))
        spelt = pa.array([f"word{number}" for number in range(self.vocabulary)]).take(pa.array(chosen))
        ends = pa.array(np.arange(len(offsets) + 1, dtype=np.int32) * self.words)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(offsets),
                pa.array((offsets % self.partitions).astype(np.int32)),
                pa.array(event_time_us).cast(pa.timestamp("us", tz="UTC")),
                pc.binary_join(pa.ListArray.from_arrays(ends, spelt), " "),
            ],
            names=["offset", "partition", "event_time", "line"],
        )

    def _chosen(self, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> IntArray:
        hot_below = round(self.hot_share * 2**32)
        if not hot_below or self.vocabulary == 1:
            return spread(low, self.vocabulary)
        return np.where(high < hot_below, 0, 1 + spread(low, self.vocabulary - 1))

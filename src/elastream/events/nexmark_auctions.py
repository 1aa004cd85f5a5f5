"""Nexmark's auctions."""

from typing import ClassVar

import pyarrow as pa  # type: ignore[import-untyped]

from elastream.events.nexmark_ids import FIRST_ID, Ids
from elastream.events.nexmark_prices import price_knots, prices
from elastream.events.nexmark_texts import SHORTEST, TEXTS, filler, high, low, taken, words
from elastream.events.randomness import IntArray, scrambled, spread

FIRST_CATEGORY = 10
_ITEM_END, _DESCRIPTION_END = 20, 100
# On average: six numbers and times of 8 bytes; the name of the item; its description.
_BYTES = 48 + (SHORTEST + _ITEM_END - 1) / 2 + (SHORTEST + _DESCRIPTION_END - 1) / 2


class Auctions:
    """Makes their columns."""

    columns: ClassVar[str] = (
        "id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, expires TIMESTAMP,"
        " seller BIGINT, category BIGINT, extra STRING"
    )
    key_column: ClassVar[str] = "id"

    def __init__(self, ids: Ids, *, seed: int, size: int, categories: int, length_s: float) -> None:
        self._ids, self._seed, self._categories = ids, seed, categories
        # Evenly from a microsecond to twice the average.
        self._longest_us = max(round(2e6 * length_s), 1)
        self._items = words(TEXTS, _ITEM_END, seed, gap=" ")
        self._descriptions = words(TEXTS, _DESCRIPTION_END, seed + 1, gap=" ")
        self._extras = filler(size, _BYTES, seed + 2)
        self._knots = price_knots()

    def made(self, offsets: IntArray, event_time_us: IntArray) -> dict[str, object]:
        """By name, in order."""
        who, price, what, item, rest = (scrambled(offsets, self._seed + column) for column in range(5))
        initial_bid = prices(high(price), self._knots)
        expires_us = event_time_us + 1 + spread(high(what), self._longest_us)
        return {
            "id": FIRST_ID + offsets,
            "item_name": taken(self._items, high(item)),
            "description": taken(self._descriptions, low(item)),
            "initial_bid": initial_bid,
            "reserve": initial_bid + prices(low(price), self._knots),
            "expires": pa.array(expires_us).cast(pa.timestamp("us", tz="UTC")),
            "seller": self._ids.sellers(self._ids.numbers("auctions", offsets), who),
            "category": FIRST_CATEGORY + spread(low(what), self._categories),
            "extra": taken(self._extras, high(rest)),
        }

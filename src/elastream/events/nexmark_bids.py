"""Nexmark's bids."""

from typing import ClassVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from elastream.events.nexmark_ids import Ids
from elastream.events.nexmark_prices import price_knots, prices
from elastream.events.nexmark_texts import filler, high, low, taken, words
from elastream.events.randomness import IntArray, scrambled, spread

HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
COLD_CHANNELS = 10_000
_CHANNELS = len(HOT_CHANNELS) + COLD_CHANNELS
# One of so many cold channels has no number in its address.
_WITHOUT_NUMBER = 10
# Of a folder in an address.
_FOLDER_END = 6
# Three numbers and a time, as the published size counts: channel and address are left out.
_BYTES = 32


class Bids:
    """Makes their columns."""

    columns: ClassVar[str] = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, extra STRING"
    key_column: ClassVar[str] = "auction"

    def __init__(self, ids: Ids, *, seed: int, size: int) -> None:
        self._ids, self._seed = ids, seed
        cold = pa.array(np.arange(COLD_CHANNELS)).cast(pa.string())
        self._channels = pa.concat_arrays(
            [pa.array(HOT_CHANNELS), pc.binary_join_element_wise("channel", cold, "-")],
        )
        self._urls = _urls(seed)
        self._extras = filler(size, _BYTES, seed + 4)
        self._knots = price_knots()

    def made(self, offsets: IntArray, event_time_us: IntArray) -> dict[str, object]:
        """By name, in order."""
        numbers = self._ids.numbers("bids", offsets)
        which, who, where, rest = (scrambled(offsets, self._seed + column) for column in range(4))
        # Half of the bids come from the few hot channels.
        is_hot = (high(where) & np.uint64(1)).astype(bool)
        cold = len(HOT_CHANNELS) + spread(low(where), COLD_CHANNELS)
        channel = pa.array(np.where(is_hot, spread(high(where), len(HOT_CHANNELS)), cold))
        return {
            "auction": self._ids.auctions_bid_on(numbers, which),
            "bidder": self._ids.bidders(numbers, who),
            "price": prices(low(rest), self._knots),
            "channel": self._channels.take(channel),
            "url": self._urls.take(channel),
            "extra": taken(self._extras, high(rest)),
        }


def _urls(seed: int) -> pa.Array:
    """The address of every channel, which is always the same."""
    folders = (words(_CHANNELS, _FOLDER_END, seed + part, gap="_") for part in range(3))
    url = pc.binary_join_element_wise("https://www.nexmark.com", *folders, "item.htm?query=1", "/")
    random = scrambled(np.arange(_CHANNELS), seed + 3)
    numbered = spread(low(random), _WITHOUT_NUMBER) > 0
    numbered[: len(HOT_CHANNELS)] = False
    number = pa.array((random >> np.uint64(33)).astype(np.int64)).cast(pa.string())
    return pc.if_else(pa.array(numbered), pc.binary_join_element_wise(url, number, "&channel_id="), url)

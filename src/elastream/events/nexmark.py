"""The events of Nexmark's online auctions: persons, auctions and bids, each a stream of its own.

The streams are made apart and agree: the k-th event of one is always the same event among all events, whichever of
the others are made too, and so refers to persons and auctions that are there by then (or, as published, a few ahead).

Where this departs from the published generator: everything is drawn from a seed; bidders are not shifted against
persons; how long an auction lasts is an option, since a rate that changes has no time in which 100 auctions are made;
texts are taken from tables of random texts, and filler does not make up for the length of the other texts of its row.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Self, cast

import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, UnknownName
from elastream.events.columns import HEAD, HEAD_NAMES, head
from elastream.events.generators import number, whole
from elastream.events.nexmark_auctions import Auctions
from elastream.events.nexmark_bids import Bids
from elastream.events.nexmark_ids import Ids, StreamName
from elastream.events.nexmark_persons import Persons
from elastream.events.randomness import IntArray

_STREAMS: dict[str, type[Persons | Auctions | Bids]] = {"persons": Persons, "auctions": Auctions, "bids": Bids}
_SIZES = {"persons": ("avgPersonByteSize", "200"), "auctions": ("avgAuctionByteSize", "500")}
# Streams of one seed draw apart, or the sellers of auctions would be the bidders of bids.
_SEEDS = {"persons": 0x9E45_0000, "auctions": 0xA0C7_0000, "bids": 0xB1D5_0000}
# Twice this in microseconds must fit into 32 bits.
_LONGEST_S = 2_000


@dataclass(frozen=True, kw_only=True)
class Nexmark:
    """Makes one of the streams."""

    options: ClassVar[tuple[str, ...]] = (
        "stream",
        "personProportion",
        "auctionProportion",
        "bidProportion",
        "hotAuctionRatio",
        "hotSellersRatio",
        "hotBiddersRatio",
        "activePeople",
        "inFlightAuctions",
        "idLead",
        "numCategories",
        "auctionLength",
        "avgPersonByteSize",
        "avgAuctionByteSize",
        "avgBidByteSize",
    )

    seed: int
    partitions: int
    stream: StreamName = "bids"
    ids: Ids = Ids()
    categories: int = 5
    auction_length_s: float = 10.0
    """On average."""
    size: int = 100
    """Bytes of an event on average, brought about by filler. 0: there is no filler."""
    _made: dict[str, Persons | Auctions | Bids] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What makes the columns, once it is needed: its tables would be shipped with every task."""

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        stream = given.get("stream", "bids")
        if stream not in _STREAMS:
            raise UnknownName("source: unknown stream", stream, _STREAMS)
        length_s = number(given, "auctionLength", "10s")
        if not 0 < length_s <= _LONGEST_S:
            raise BadInput(
                f"source: auctionLength: found {given['auctionlength']}; it must be more than 0s, up to {_LONGEST_S}s"
            )
        return cls(
            seed=seed,
            partitions=partitions,
            stream=cast(StreamName, stream),
            ids=_ids(given),
            categories=_count(given, "numCategories", 5),
            auction_length_s=length_s,
            size=whole(given, *_SIZES.get(stream, ("avgBidByteSize", "100")), least=0),
        )

    @property
    def schema(self) -> str:
        return f"{HEAD}, {_STREAMS[self.stream].columns}"

    @property
    def key_column(self) -> str | None:
        return _STREAMS[self.stream].key_column

    @property
    def per_turn(self) -> int:
        """As many as the proportions say."""
        return {"persons": self.ids.persons, "auctions": self.ids.auctions, "bids": self.ids.bids}[self.stream]

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        if self.stream not in self._made:
            self._made[self.stream] = self._maker()
        columns = self._made[self.stream].made(offsets, event_time_us)
        return pa.RecordBatch.from_arrays(
            [*head(offsets, event_time_us, self.partitions), *map(pa.array, columns.values())],
            names=[*HEAD_NAMES, *columns],
        )

    def _maker(self) -> Persons | Auctions | Bids:
        seed = self.seed + _SEEDS[self.stream]
        if self.stream == "persons":
            return Persons(seed=seed, size=self.size)
        if self.stream == "bids":
            return Bids(self.ids, seed=seed, size=self.size)
        return Auctions(self.ids, seed=seed, size=self.size, categories=self.categories, length_s=self.auction_length_s)


def _ids(given: Mapping[str, str]) -> Ids:
    usual = Ids()
    return Ids(
        persons=_count(given, "personProportion", usual.persons),
        auctions=_count(given, "auctionProportion", usual.auctions),
        bids=_count(given, "bidProportion", usual.bids),
        hot_auctions=_count(given, "hotAuctionRatio", usual.hot_auctions),
        hot_sellers=_count(given, "hotSellersRatio", usual.hot_sellers),
        hot_bidders=_count(given, "hotBiddersRatio", usual.hot_bidders),
        active_people=_count(given, "activePeople", usual.active_people),
        in_flight=_count(given, "inFlightAuctions", usual.in_flight),
        lead=_count(given, "idLead", usual.lead, least=0),
    )


def _count(given: Mapping[str, str], name: str, default: int, *, least: int = 1) -> int:
    count = whole(given, name, str(default), least=least)
    if count >= 2**31:
        raise BadInput(f"source: {name}: found {count}; it may be up to 2147483647")
    return count

"""Who refers to whom in Nexmark: ids follow from the numbers of events, so that streams made apart agree."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from elastream.events.randomness import IntArray, spread

StreamName = Literal["persons", "auctions", "bids"]

FIRST_ID = 1_000
"""Of persons and of auctions."""
# The hot person or auction is the first of each hundred, for as long as the newest is one of that hundred.
_HOT_EVERY = 100
# Bids prefer another person than auctions do.
_HOT_BIDDER = 1


@dataclass(frozen=True, kw_only=True)
class Ids:
    """Persons, auctions and bids take turns in fixed proportions; defaults are those that were published.

    Departs from the published generator in one point: there bidders are shifted by 1,000 against persons, by mistake.
    """

    persons: int = 1
    """Of an epoch: first so many persons ..."""
    auctions: int = 3
    """... then so many auctions ..."""
    bids: int = 46
    """... then so many bids."""
    hot_auctions: int = 2
    """All but one of so many bids are for the hot auction. 1: none is hot."""
    hot_sellers: int = 4
    hot_bidders: int = 4
    active_people: int = 1_000
    """The others refer to one of the newest persons ..."""
    in_flight: int = 100
    """... or auctions ..."""
    lead: int = 10
    """... or to one that is still to come, at most so far ahead."""

    @property
    def epoch(self) -> int:
        """Events of one turn."""
        return self.persons + self.auctions + self.bids

    def numbers(self, stream: StreamName, offsets: IntArray) -> IntArray:
        """The place of a stream's events among the events of all streams."""
        size, before = {
            "persons": (self.persons, 0),
            "auctions": (self.auctions, self.persons),
            "bids": (self.bids, self.persons + self.auctions),
        }[stream]
        return offsets // size * self.epoch + before + offsets % size

    def newest_person(self, numbers: IntArray) -> IntArray:
        """The person last made when an event is made, counted from 0."""
        return numbers // self.epoch * self.persons + np.minimum(numbers % self.epoch, self.persons - 1)

    def newest_auction(self, numbers: IntArray) -> IntArray:
        """The same of auctions; -1: there is none yet."""
        place = np.minimum(numbers % self.epoch - self.persons, self.auctions - 1)
        # Persons come before the auctions of their epoch, whose last auction is that of the epoch before.
        return numbers // self.epoch * self.auctions + np.maximum(place, -1)

    def sellers(self, numbers: IntArray, random: NDArray[np.uint64]) -> IntArray:
        """The person who sells in each of these auctions."""
        newest = self.newest_person(numbers)
        return FIRST_ID + self._chosen(self._hot(newest), self._people(newest, random), self.hot_sellers, random)

    def bidders(self, numbers: IntArray, random: NDArray[np.uint64]) -> IntArray:
        """The person who makes each of these bids."""
        newest = self.newest_person(numbers)
        hot = self._hot(newest) + _HOT_BIDDER
        return FIRST_ID + self._chosen(hot, self._people(newest, random), self.hot_bidders, random)

    def auctions_bid_on(self, numbers: IntArray, random: NDArray[np.uint64]) -> IntArray:
        """The auction that each of these bids is for."""
        newest = self.newest_auction(numbers)
        oldest = np.maximum(newest - self.in_flight, 0)
        others = oldest + _below(random, newest - oldest + 1 + self.lead)
        return FIRST_ID + self._chosen(self._hot(newest), others, self.hot_auctions, random)

    def _people(self, newest: IntArray, random: NDArray[np.uint64]) -> IntArray:
        active = np.minimum(newest + 1, self.active_people)
        return newest + 1 - active + _below(random, active + self.lead)

    def _hot(self, newest: IntArray) -> IntArray:
        return newest // _HOT_EVERY * _HOT_EVERY

    def _chosen(self, hot: IntArray, others: IntArray, ratio: int, random: NDArray[np.uint64]) -> IntArray:
        """The hot one or another, by the upper half of the random bits."""
        return np.where(spread(random >> np.uint64(32), ratio) > 0, hot, others)


def _below(random: NDArray[np.uint64], over: IntArray) -> IntArray:
    """The lower half of the random bits as a number below a bound of its own."""
    return (((random & np.uint64(0xFFFFFFFF)) * over.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)

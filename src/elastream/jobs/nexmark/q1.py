"""Nexmark's query 1: prices in another currency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

from elastream.core.errors import BadInput
from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.nexmark.streams import Skewed
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Digits of a rate behind the point, and of a price: their product is exact in both engines.
_PLACES, _DIGITS = 6, 18


@jobs.register("nexmark-q1")
@dataclass(frozen=True, kw_only=True)
class CurrencyConversion(Skewed):
    """Every bid with its price in another currency: one stage, no state."""

    rate: float = setting(0.908, doc="euros for a dollar")
    truncated: bool = setting(False, doc="whole cents, the rest cut off; otherwise exact decimals")

    result: ClassVar[Result] = Result()

    def __post_init__(self) -> None:
        if not 0 < self.rate < 1_000 or -int(self._rate.normalize().as_tuple().exponent) > _PLACES:
            raise BadInput(
                f"job nexmark-q1: rate: found {self.rate!r}; it must be between 0 and 1000, with up to {_PLACES} places"
            )

    @property
    def _rate(self) -> Decimal:
        # Its shortest spelling: what was written, not the nearest binary fraction.
        return Decimal(repr(self.rate))

    @property
    def streams(self) -> tuple[Stream, ...]:
        return (self.stream("bids"),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Decimals: a double would be off by a fraction of a cent that the comparison would find."""
        price = f"CAST(price AS DECIMAL({_DIGITS}, 0)) * CAST('{self._rate}' AS DECIMAL(9, {_PLACES}))"
        if self.truncated:
            price = f"CAST({price} AS BIGINT)"
        return streams["bids"].selectExpr("auction", "bidder", f"{price} AS price", "event_time", "extra")

    @property
    def answer(self) -> str:
        # A cast would round: what is cut off must be cut off in whole numbers.
        price = f"price::DECIMAL({_DIGITS}, 0) * '{self._rate}'::DECIMAL(9, {_PLACES})"
        if self.truncated:
            price = f"(price * {int(self._rate * 10**_PLACES)}) // {10**_PLACES}"
        return f"""
            SELECT auction, bidder, {price} AS price, event_time, extra,
                event_time AS first_time, event_time AS last_time
            FROM bids
        """


jobs.preset(
    "nexmark-q1-kanis",
    of="nexmark-q1",
    doc="query 1 as Kanis' thesis ran it: a rate of 0.82, whole cents, ten bids per person, no hot keys",
    rate=0.82,
    truncated=True,
    hot=False,
    bid_proportion=10,
)

"""Advertising events of the Yahoo Streaming Benchmark: somebody saw, clicked or bought something."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import pyarrow as pa  # type: ignore[import-untyped]

from elastream.events.columns import HEAD, HEAD_NAMES, drawn, head, texts
from elastream.events.generators import whole
from elastream.events.randomness import IntArray

KINDS = ("banner", "modal", "sponsored-search", "mail", "mobile")
EVENTS = ("view", "click", "purchase")
# Of users and of pages, as in the benchmark's own generator.
_PEOPLE = 100
_FIELDS = ("user_id", "page_id", "ad_id", "ad_type", "event_type", "ip_address")


def name_of(kind: str, number: int) -> str:
    """Ads, campaigns, users and pages are known by 32 hexadecimal digits, which any engine can make: MD5 of `ad 17`."""
    return hashlib.md5(f"{kind} {number}".encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Ads:
    """All ads are shown equally often; a third of the events are views. Ad n belongs to campaign n modulo campaigns."""

    options: ClassVar[tuple[str, ...]] = ("campaigns", "adsPerCampaign")
    schema: ClassVar[str] = ", ".join([HEAD, *(f"{name} STRING" for name in _FIELDS)])
    key_column: ClassVar[str | None] = None

    seed: int
    partitions: int
    campaigns: int = 100
    ads_per_campaign: int = 10

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        return cls(
            seed=seed,
            partitions=partitions,
            campaigns=whole(given, "campaigns", "100", least=1),
            ads_per_campaign=whole(given, "adsPerCampaign", "10", least=1),
        )

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        def one_of(names: Sequence[str], salt: int) -> pa.Array:
            return texts(names, drawn(offsets, self.seed + salt, len(names)))

        users, pages = ([name_of(kind, n) for n in range(_PEOPLE)] for kind in ("user", "page"))
        ads = [name_of("ad", n) for n in range(self.campaigns * self.ads_per_campaign)]
        addresses = [f"10.0.{n // 16}.{n % 16}" for n in range(256)]
        columns = [users, pages, ads, KINDS, EVENTS, addresses]
        return pa.RecordBatch.from_arrays(
            [
                *head(offsets, event_time_us, self.partitions),
                *(one_of(names, salt) for salt, names in enumerate(columns)),
            ],
            names=[*HEAD_NAMES, *_FIELDS],
        )

"""Events made from their offsets alone: the same offset gives the same event, whoever makes it and whenever.

Runs on executors that may have neither Elastream nor pydantic, so it imports only numpy, pyarrow and the core.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.core.errors import BadInput, UnknownName
from elastream.core.quantity import parse_quantity

IntArray = NDArray[np.int64]

# Large enough that a batch costs little beside its rows, small enough for an executor with a heap of 512 MB.
ROWS_PER_ARROW_BATCH = 16_384


class Stretch(NamedTuple):
    """The piece of an arrival curve that some offsets need, as arrays: times from the start, rates, arrivals so far."""

    times_s: NDArray[np.float64]
    rates: NDArray[np.float64]
    arrived: NDArray[np.float64]

    def when(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """The earliest times at which so many records had arrived: `RateSeries.when`, for a million at once."""
        pieces = np.maximum(np.searchsorted(self.arrived, records, side="left") - 1, 0)
        ends = np.append(self.times_s[1:], np.inf)[pieces]
        times = self.times_s[pieces] + (records - self.arrived[pieces]) / self.rates[pieces]
        return np.asarray(np.minimum(times, ends))

    def of(self, first: int, end: int) -> Self:
        """What the offsets from `first` up to, without, `end` need, and one piece more: its time is an end."""
        low = max(int(np.searchsorted(self.arrived, first + 1, side="left")) - 1, 0)
        high = int(np.searchsorted(self.arrived, end, side="left")) + 1
        return type(self)(*(array[low:high] for array in self))


class Generator(Protocol):
    """Makes events. Another one is named `package.module:Class` in the option `generator`.

    Its package must be where tasks run, unless it is ours, which is shipped: see `spark/shipping.py`. A frozen
    dataclass: its repr tells a checkpoint whether the events are still the same.
    """

    @property
    def schema(self) -> str:
        """The columns, as Spark's DDL."""

    @property
    def key_column(self) -> str | None:
        """The column whose text is the key of a Kafka message; None: messages have no key."""

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        """The events of these offsets, which depend on nothing else; columns in the order of the schema."""


class Maker(Protocol):
    """The class of a generator."""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that it has."""

    def made(self, given: Mapping[str, str], *, seed: int, partitions: int) -> Generator:
        """A generator from the options that are its own; keys are in lower case."""


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """Events with a key and a whole number as value; one key may be hot."""

    options: ClassVar[tuple[str, ...]] = ("keys", "hotShare")
    schema: ClassVar[str] = "offset BIGINT, partition INT, event_time TIMESTAMP, key BIGINT, value BIGINT"
    key_column: ClassVar[str | None] = "key"

    seed: int
    partitions: int
    keys: int = 1_000
    hot_share: float = 0.0
    """Share of the events that have key 0; the others are spread evenly over the other keys. 0: no key is hot."""

    @classmethod
    def made(cls, given: Mapping[str, str], *, seed: int, partitions: int) -> Self:
        keys, hot_share = whole(given, "keys", "1000", least=1), number(given, "hotShare", "0")
        if keys >= 2**31:
            raise BadInput(f"source: keys: found {keys}; there may be up to 2147483647")
        if not 0 <= hot_share <= 1:
            raise BadInput(f"source: hotShare: found {given['hotshare']}; it must be between 0 and 1")
        return cls(seed=seed, partitions=partitions, keys=keys, hot_share=hot_share)

    def batch(self, offsets: IntArray, event_time_us: IntArray) -> pa.RecordBatch:
        random = scrambled(offsets, self.seed)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(offsets),
                pa.array((offsets % self.partitions).astype(np.int32)),
                pa.array(event_time_us).cast(pa.timestamp("us", tz="UTC")),
                pa.array(self._keys(random)),
                pa.array((scrambled(offsets, self.seed + 1) % np.uint64(1_000)).astype(np.int64)),
            ],
            names=["offset", "partition", "event_time", "key", "value"],
        )

    def _keys(self, random: NDArray[np.uint64]) -> IntArray:
        high, low = random >> np.uint64(32), random & np.uint64(0xFFFFFFFF)
        hot_below = round(self.hot_share * 2**32)
        if not hot_below or self.keys == 1:
            return spread(low, self.keys)
        return np.where(high < hot_below, 0, 1 + spread(low, self.keys - 1))


GENERATORS: dict[str, Maker] = {"keyed": Keyed}


def maker(name: str) -> Maker:
    """The generator of a name: one of ours, or `package.module:Class`."""
    if name in GENERATORS:
        return GENERATORS[name]
    module, _, attribute = name.partition(":")
    if not attribute:
        raise UnknownName("source: unknown generator", name, GENERATORS)
    try:
        found: Maker = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as wrong:
        raise BadInput(f"source: generator {name!r}: {wrong}") from None
    return found


def batches(
    generator: Generator, stretch: Stretch, offsets: range, *, epoch_s: int, time_factor: float
) -> Iterator[pa.RecordBatch]:
    """The events of these offsets. Event times are those of the workload, in which an hour is an hour."""
    for first in range(0, len(offsets), ROWS_PER_ARROW_BATCH):
        some = offsets[first : first + ROWS_PER_ARROW_BATCH]
        numbers = np.arange(some.start, some.stop, some.step, dtype=np.int64)
        # The event with offset 0 is the first record to have arrived.
        since_s = stretch.when(numbers.astype(np.float64) + 1.0) * time_factor
        yield generator.batch(numbers, epoch_s * 1_000_000 + np.rint(since_s * 1e6).astype(np.int64))


def scrambled(numbers: IntArray, seed: int) -> NDArray[np.uint64]:
    """A random number for each number (SplitMix64's finaliser): no state, so any part can be made alone."""
    mixed = numbers.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def spread(random: NDArray[np.uint64], over: int) -> IntArray:
    """32 random bits to a number below `over`, evenly."""
    return ((random * np.uint64(over)) >> np.uint64(32)).astype(np.int64)


def number(given: Mapping[str, str], name: str, default: str = "") -> float:
    """An option that is a number, a duration or a share."""
    try:
        return parse_quantity(given.get(name.lower(), default)).value
    except BadInput as wrong:
        raise BadInput(f"source: {name}: {wrong}") from None


def whole(given: Mapping[str, str], name: str, default: str, *, least: int) -> int:
    """An option that is a whole number."""
    value = number(given, name, default)
    if not value.is_integer() or value < least:
        raise BadInput(f"source: {name}: found {given[name.lower()]}; it must be a whole number from {least}")
    return int(value)

"""Events made from their offsets alone: the same offset gives the same event, whoever makes it and whenever.

Runs on executors that may have neither Elastream nor pydantic, so it imports only numpy, pyarrow and the core.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.errors import BadInput, UnknownName
from elastream.core.quantity import parse_quantity
from elastream.events.randomness import IntArray
from elastream.events.timing import ArrivalStretch, Timing

# Large enough that a batch costs little beside its rows, small enough for an executor with a heap of 512 MB.
ROWS_PER_ARROW_BATCH = 16_384


class Generator(Protocol):
    """Makes events. Another one is named `package.module:Class` in the option `generator`.

    Its package must be where tasks run, unless it is ours, which is shipped: see `development/shipping.py`. A frozen
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


@runtime_checkable
class TakesTurns(Protocol):
    """A generator of one of several streams whose events come in turns, as those of an auction do."""

    @property
    def per_turn(self) -> int:
        """How many of its events come in a turn of all streams."""


class Maker(Protocol):
    """The class of a generator."""

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that it has."""

    def made(self, given: Mapping[str, str], *, seed: int, partitions: int) -> Generator:
        """A generator from the options that are its own; keys are in lower case."""


GENERATORS = {
    "ads": "elastream.events.ads:Ads",
    "keyed": "elastream.events.keyed:Keyed",
    "nexmark": "elastream.events.nexmark:Nexmark",
    "rides": "elastream.events.rides:Rides",
    "roads": "elastream.events.roads:Roads",
    "vehicles": "elastream.events.vehicles:Vehicles",
    "words": "elastream.events.words:Words",
}
"""Where ours are. Only the one that is asked for is imported, here and where tasks run."""


def maker(name: str) -> Maker:
    """The generator of a name: one of ours, or `package.module:Class`."""
    module, _, attribute = GENERATORS.get(name, name).partition(":")
    if not attribute:
        raise UnknownName("source: unknown generator", name, GENERATORS)
    try:
        found: Maker = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as wrong:
        raise BadInput(f"source: generator {name!r}: {wrong}") from None
    return found


def per_turn(name: str, options: Mapping[str, str]) -> int:
    """How many events a generator with these options has in a turn of all streams; 1: it knows of no turns."""
    made = maker(name).made({key.lower(): value for key, value in options.items()}, seed=0, partitions=1)
    return made.per_turn if isinstance(made, TakesTurns) else 1


def batches(generator: Generator, timing: Timing, stretch: ArrivalStretch, offsets: range) -> Iterator[pa.RecordBatch]:
    """The events of these offsets, of which the stretch must know."""
    for first in range(0, len(offsets), ROWS_PER_ARROW_BATCH):
        some = offsets[first : first + ROWS_PER_ARROW_BATCH]
        numbers = np.arange(some.start, some.stop, some.step, dtype=np.int64)
        yield generator.batch(numbers, timing.event_time_us(numbers, stretch))


def number(given: Mapping[str, str], name: str, default: str = "") -> float:
    """An option that is a number, a duration or a share."""
    try:
        return parse_quantity(given.get(name.lower(), default)).value
    except BadInput as wrong:
        raise BadInput(f"source: {name}: {wrong}") from None


def share(given: Mapping[str, str], name: str) -> float:
    """An option that is a part of all, and none of it where nothing is said."""
    value = number(given, name, "0")
    if not 0 <= value <= 1:
        raise BadInput(f"source: {name}: found {given[name.lower()]}; it must be between 0 and 1")
    return value


def whole(given: Mapping[str, str], name: str, default: str, *, least: int) -> int:
    """An option that is a whole number."""
    value = number(given, name, default)
    if not value.is_integer() or value < least:
        raise BadInput(f"source: {name}: found {given[name.lower()]}; it must be a whole number from {least}")
    return int(value)

"""Nexmark's persons."""

from typing import ClassVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from elastream.events.nexmark_ids import FIRST_ID
from elastream.events.nexmark_texts import TEXTS, filler, high, low, taken, words
from elastream.events.randomness import IntArray, scrambled

_FIRST_NAMES = ("Ada", "Bela", "Clara", "Dora", "Emil", "Frida", "Greta", "Hugo", "Ines", "Jonas", "Karla")
_LAST_NAMES = ("Arndt", "Baker", "Conti", "Duval", "Evans", "Fuchs", "Grieg", "Hansen", "Ito")
_NAMES = tuple(f"{first} {last}" for first in _FIRST_NAMES for last in _LAST_NAMES)
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
)  # fmt: skip
_LOGIN_END, _HOST_END = 7, 5
# On average: id, e-mail, credit card and state; a name; a city.
_BYTES = 8 + 13 + 19 + 2 + sum(map(len, _NAMES)) / len(_NAMES) + sum(map(len, _CITIES)) / len(_CITIES)


class Persons:
    """Makes their columns."""

    columns: ClassVar[str] = (
        "id BIGINT, name STRING, email STRING, credit_card STRING, city STRING, state STRING, extra STRING"
    )
    key_column: ClassVar[str] = "id"

    def __init__(self, *, seed: int, size: int) -> None:
        self._seed = seed
        self._logins, self._hosts = words(TEXTS, _LOGIN_END, seed), words(TEXTS, _HOST_END, seed + 1)
        self._names, self._cities, self._states = pa.array(_NAMES), pa.array(_CITIES), pa.array(STATES)
        self._fours = pa.array([f"{number:04d}" for number in range(10_000)])
        self._extras = filler(size, _BYTES, seed + 2)

    def made(self, offsets: IntArray, event_time_us: IntArray) -> dict[str, object]:
        """By name, in order."""
        who, where, mail, card, rest = (scrambled(offsets, self._seed + column) for column in range(5))
        login, host = taken(self._logins, high(mail)), taken(self._hosts, low(mail))
        # Sixteen bits each: moved to where `taken` looks first.
        parts = ((card << np.uint64(shift)) >> np.uint64(48) << np.uint64(16) for shift in (0, 16, 32, 48))
        return {
            "id": FIRST_ID + offsets,
            "name": taken(self._names, high(who)),
            "email": pc.binary_join_element_wise(login, "@", host, ".com", ""),
            "credit_card": pc.binary_join_element_wise(*(taken(self._fours, part) for part in parts), " "),
            "city": taken(self._cities, high(where)),
            "state": taken(self._states, low(where)),
            "extra": taken(self._extras, high(rest)),
        }

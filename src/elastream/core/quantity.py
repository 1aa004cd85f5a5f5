"""Numbers as people write them: `200k`, `2.2M`, `90m`, `1h30m`, `5%`.

Case matters: `M` is a million, `m` is a minute. Sizes of memory are written as users of a JVM write them: `512m`, `4g`.
"""

import math
import re
import sys
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import Literal

from elastream.core.errors import BadInput

Unit = Literal["", "s", "%"]

MULTIPLES = {"k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9)}
SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86400)}
SUFFIXES = (*MULTIPLES, *SECONDS, "%")

NUMBER = r"\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?"
"""A number without sign and suffix. Letters that follow it are its suffix, so `1e6` is a million and `1e` is not."""

_PART = re.compile(rf"({NUMBER})([A-Za-z%]*)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts: plain (`""`), seconds (`"s"`) or a share of one written in per cent (`"%"`)."""

    value: float
    unit: Unit = ""

    def __str__(self) -> str:
        if self.unit == "s":
            return spell_seconds(self.value)
        if self.unit == "%":
            return f"{_plain(Decimal(repr(self.value)) * 100)}%"
        return spell_number(self.value)


def parse_quantity(text: str) -> Quantity:
    """The quantity that `text` spells, or BadInput. Decimal arithmetic, so that `2.2M` is exactly 2200000.0."""
    stripped = text.strip()
    sign, unsigned = (-1, stripped[1:]) if stripped.startswith("-") else (1, stripped)
    parts = _PART.findall(unsigned)
    if not parts or "".join(number + suffix for number, suffix in parts) != unsigned:
        raise BadInput(f"{text!r} is not a number")
    values = [_one(number, suffix, text) for number, suffix in parts]
    if len(values) > 1 and any(unit != "s" for _, unit in values):
        raise BadInput(f"{text!r} is not a number")
    value = float(sign * sum(amount for amount, _ in values))
    if not math.isfinite(value):
        raise BadInput(f"{text!r} is too large")
    return Quantity(value + 0.0, values[0][1])


def _one(number: str, suffix: str, text: str) -> tuple[Decimal, Unit]:
    try:
        amount = Decimal(number)
    except DecimalException:
        # An exponent of more digits than any number needs.
        raise BadInput(f"{text!r} is not a number") from None
    if amount.adjusted() > sys.float_info.max_10_exp:
        raise BadInput(f"{text!r} is too large")
    if not suffix:
        return amount, ""
    if suffix in MULTIPLES:
        return amount * MULTIPLES[suffix], ""
    if suffix in SECONDS:
        return amount * SECONDS[suffix], "s"
    if suffix == "%":
        return amount / 100, "%"
    raise BadInput(f"{text!r} has an unknown suffix {suffix!r}; known are {', '.join(SUFFIXES)}")


def mebibytes(size: str) -> int:
    """Of memory, from `512m` or `4g`; 0 for what is none."""
    found = re.fullmatch(r"(\d{1,6})([mg])b?", size.strip().lower())
    return int(found[1]) * {"m": 1, "g": 1024}[found[2]] if found else 0


def spell_number(value: float) -> str:
    """The shortest of `2200000`, `2200k`, `2.2M` ... that reads back as exactly `value`."""
    exact = Decimal(repr(float(value)))
    short = [_plain(exact / multiple) + suffix for suffix, multiple in MULTIPLES.items() if abs(exact) >= multiple]
    return min([*reversed(short), _plain(exact)], key=len)


def spell_seconds(value: float) -> str:
    """The largest unit in which `value` is a whole number, else seconds: `90m`, `1h`, `2.5s`."""
    exact = Decimal(repr(float(value)))
    for suffix in ("h", "m"):
        # Decimal divides no more than 28 digits; what is that long is no shorter in hours.
        if exact and exact.adjusted() < 20 and exact % SECONDS[suffix] == 0:
            return _plain(exact / SECONDS[suffix]) + suffix
    return _plain(exact) + "s"


def _plain(exact: Decimal) -> str:
    """Digits without a trailing `.0`; exponents only where the number would be unreadably long."""
    if exact == 0:
        return "0"
    text = f"{exact.normalize():f}"
    return text if len(text) <= 25 else f"{exact.normalize():e}"

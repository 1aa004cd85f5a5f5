"""Series as strips of blocks, aligned over one time axis."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.:-=+*#"

_STEPS_S = [
    *(1, 2, 5, 10, 15, 30),
    *(60 * m for m in (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720)),
    *(86400 * d for d in (1, 2, 7, 14, 28)),
]

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextStrip:
    """One series to draw: its values hold from their times on."""

    label: str
    at_s: Sequence[float]
    values: Values
    unit: str = ""
    by: Literal["mean", "max"] = "mean"
    """What stands for the values that share a column: a peak must not vanish in a mean."""
    style: str = ""
    top: float | None = None
    """The value of a full block; without it, the largest value."""
    limit: float | None = None
    """Values above it are drawn as alarming."""

    def columns(self, width: int, duration_s: float, now_s: float | None = None) -> list[float | None]:
        """One value per column; None where nothing is known, or has not come yet."""
        end = width if now_s is None else column_of(now_s, width, duration_s)
        seen = [self._column(i * duration_s / width, (i + 1) * duration_s / width) for i in range(end)]
        return seen + [None] * (width - end)

    def extent(self) -> str:
        """Smallest and largest value."""
        known = self.known()
        if not known:
            return "unknown"
        low, high = self._spelt(min(known)), self._spelt(max(known))
        return f"{low if low == high else f'{low}..{high}'}{'' if self.unit == 's' else self.unit}"

    def known(self) -> list[float]:
        return [value for value in self.values if value is not None]

    def _spelt(self, value: float) -> str:
        return spelt_time(value) if self.unit == "s" else compact(value)

    def _column(self, from_s: float, to_s: float) -> float | None:
        # What held when the column begins belongs to it as well as what came within it.
        first, end = bisect_right(self.at_s, from_s), bisect_left(self.at_s, to_s)
        held = self.values[max(0, first - 1) : max(first, end)]
        found = [value for value in held if value is not None]
        if not found:
            return None
        return max(found) if self.by == "max" else sum(found) / len(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Strips under a heading."""

    heading: str
    strips: Sequence[TextStrip] = field(default_factory=list)


def blocks(columns: Values, top: float, characters: str = BLOCKS) -> str:
    """One character per value, from zero to `top`; blank where nothing is known."""
    return "".join(_block(value, top, characters) for value in columns)


def _block(value: float | None, top: float, characters: str) -> str:
    if value is None:
        return " "
    if top <= 0 or value <= 0:
        return characters[0]
    return characters[min(len(characters) - 1, int(value / top * len(characters)))]


def column_of(at_s: float, width: int, duration_s: float) -> int:
    """The column in which a time lies; the last one for all that is later."""
    return max(0, min(width - 1, int(at_s / duration_s * width)))


def axis(width: int, duration_s: float) -> str:
    """Times below the columns where they belong, as many as have room."""
    step_s = next((s for s in _STEPS_S if duration_s / s * 8 <= width), _STEPS_S[-1])
    suffix, unit_s = next(unit for unit in _UNITS if step_s % unit[1] == 0)
    line = [" "] * width
    for i in range(math.floor(duration_s / step_s) + 1):
        label = f"{i * step_s / unit_s:.0f}{suffix if i else ''}"
        # The last moment stands at the end of the last column.
        column = min(round(i * step_s / duration_s * width), width - len(label))
        if column >= 0 and all(c == " " for c in line[max(0, column - 1) : column + len(label)]):
            line[column : column + len(label)] = label
    return "".join(line)


def spelt_time(seconds: float) -> str:
    """`0.8s`, `12.3s`, `135s`, `34.2m`, `3.1h`: four digits at most."""
    if seconds < 599.5:
        return f"{seconds:.1f}s" if seconds < 99.95 else f"{seconds:.0f}s"
    return f"{seconds / 60:.1f}m" if seconds < 7200 else f"{seconds / 3600:.1f}h"


def compact(value: float) -> str:
    """Three digits are enough for a person: 1.23M, 45.6k, 7."""
    size = abs(value)
    for suffix, multiple in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        # What rounds up to the next unit is written in it.
        if size >= multiple * 0.9995:
            return _three(value / multiple) + suffix
    return _three(value)


def _three(value: float) -> str:
    size = abs(value)
    places = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

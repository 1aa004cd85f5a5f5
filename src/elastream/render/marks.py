"""Where the lines of a grid stand, and what is written at them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from elastream.core.quantity import spell_seconds
from elastream.render.units import compact, moment

_LINES = 4
"""So many steps fit a strip without crowding it."""
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_STEPS_S = [
    *(1, 2, 5, 10, 15, 30),
    *(60 * m for m in (1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720)),
    *(86400 * d for d in (1, 2, 7, 14, 28, 91, 365, 3650)),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisMark:
    """A place on an axis."""

    at: float
    label: str


def numbers(top: float) -> list[AxisMark]:
    """From zero to the first round number that is not below `top`."""
    return _marks(top, _round_step(top), compact)


def whole_numbers(top: float) -> list[AxisMark]:
    """The same for what can only be counted."""
    step = max(1.0, _round_step(top))
    return _marks(top, 3.0 if step == 2.5 else math.ceil(step), compact)


def delays(top: float) -> list[AxisMark]:
    """The same in seconds, minutes and hours."""
    step = next((float(s) for s in _STEPS_S if s * _LINES >= top), _round_step(top)) if top > 30 else _round_step(top)
    return _marks(top, step, lambda value: _spaced(spell_seconds(round(value, 9))))


def clock(start: float, end: float, most: int, *, virtual: bool) -> list[AxisMark]:
    """Round times of day, in UTC; at midnight the date. A virtual clock has no date and counts its days."""
    step = next((s for s in _STEPS_S if (end - start) / s <= most), _STEPS_S[-1])
    form = "%H:%M" if step >= 60 else "%H:%M:%S"
    marks = []
    for i in range(math.ceil(start / step), math.floor(end / step) + 1):
        at = float(i * step)
        if at % 86400 or (virtual and at == 0 and step < 86400):
            label = moment(at, form)
        else:
            label = f"{at / 86400:.0f} d" if virtual else moment(at, "%-d %b")
        marks.append(AxisMark(at=at, label=label))
    return marks


def _round_step(top: float) -> float:
    if top <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(top / _LINES))
    return next(nice * power for nice in _NICE if nice * power * _LINES >= top * (1 - 1e-9))


def _marks(top: float, step: float, label: Callable[[float], str]) -> list[AxisMark]:
    count = max(1, math.ceil(top / step - 1e-9))
    return [AxisMark(at=i * step, label=label(i * step)) for i in range(count + 1)]


def _spaced(spelt: str) -> str:
    """`30s` as `30 s`, `2m` as `2 min`."""
    return f"{spelt[:-1]} {'min' if spelt[-1] == 'm' else spelt[-1]}"

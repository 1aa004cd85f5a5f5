"""What nobody tells: values drawn over ranges, so that a plan says what depends on them and what does not.

    draws: 20
    open: {drop: 0.05..0.5}
    how: {policy: {Gesscale: "gesscale(drop={drop})"}}

Each draw gives every open value another one, and all experiments are run in each. Draws are those of Halton's sequence:
they fill the ranges evenly, are always the same, and more of them leave those before as they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from elastream.config.yaml_file import KeyPath
from elastream.core.errors import BadInput, suggestion
from elastream.experiments.plan.fields import ValueRange

BASES = (2, 3, 5, 7, 11, 13, 17, 19)
"""One for each open value: Halton's sequence is even as long as they are small."""
FILLED = ("what", "how", "cases")
_HOLE = re.compile(r"\{([^{}]*)\}")


class DrawProblem(BadInput):
    """What cannot be drawn or filled in, and under which keys."""

    def __init__(self, keys: KeyPath, message: str) -> None:
        self.keys = keys
        super().__init__(message)


def draw_values(number: int, within: Mapping[str, ValueRange]) -> dict[str, str]:
    """The open values of a draw, counted from 1, as they are written into a plan."""
    return {
        name: f"{low + (high - low) * find_halton(number, base):.4g}"
        for (name, (low, high)), base in zip(within.items(), BASES, strict=False)
    }


def find_halton(number: int, base: int) -> float:
    """The digits of a number in some base, mirrored at the point: 6 = 110 in base 2 is 0.011, which is 3/8."""
    found, place = 0.0, 1.0
    while number:
        number, digit = divmod(number, base)
        place /= base
        found += digit * place
    return found


def fill_in(content: Mapping[str, object], values: Mapping[str, str]) -> dict[str, object]:
    """A plan's content with values in place of `{name}`."""
    return {
        key: _filled(part, values, (key,)) if key in FILLED else part
        for key, part in content.items()
    }  # fmt: skip


def find_holes(content: Mapping[str, object], axes: tuple[str, ...]) -> dict[str, KeyPath]:
    """Names that stand in braces, and where; DrawProblem where what they stand in has no name that draws share."""
    found: dict[str, KeyPath] = {}
    for keys, text in _texts({key: content.get(key) for key in FILLED}, ()):
        if names := _HOLE.findall(text):
            if keys[0] != "cases" and keys[1] in axes and (len(keys) < 3 or isinstance(keys[2], int)):
                raise DrawProblem(
                    keys, f"{text!r} is another text in each draw; give it a name: `{keys[1]}: {{name: {text!r}}}`"
                )
            found |= dict.fromkeys(names, keys)
    return found


def check_names(holes: Mapping[str, KeyPath], known: Mapping[str, object]) -> None:
    """DrawProblem for what is filled in and never drawn, or drawn and never filled in."""
    for name in sorted(holes.keys() - known.keys()):
        raise DrawProblem(holes[name], f"nothing is drawn that is called {name!r}{suggestion(name, list(known))}")
    for name in known:
        if name not in holes:
            raise DrawProblem(("open", name), f"{name} is used nowhere; write it in braces where its value belongs")


def _filled(part: Any, values: Mapping[str, str], keys: KeyPath) -> Any:
    if isinstance(part, str):
        return _HOLE.sub(lambda hole: values.get(hole[1], hole[0]), part)
    if isinstance(part, Mapping):
        return {key: _filled(value, values, (*keys, key)) for key, value in part.items()}
    return [_filled(value, values, keys) for value in part] if isinstance(part, list) else part


def _texts(part: Any, keys: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(part, str):
        yield keys, part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _texts(value, (*keys, key))
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from _texts(value, (*keys, number))

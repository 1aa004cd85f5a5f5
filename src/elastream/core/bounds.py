"""Bounds of a number of executors as people write them: `1..12`, `1:12` or `(1, 12)`; shown as `1..12`."""

import re
from collections.abc import Sequence

from elastream.core.errors import BadInput

_TEXT = re.compile(r"(\d{1,9})(?:\s*(?:\.\.|:)\s*(\d{1,9}))?", re.ASCII)


def parse_bounds(given: object, what: str) -> tuple[int, int]:
    """Lower and upper bound; one number is both. `what` opens the error: the option or the setting."""
    found = _TEXT.fullmatch(given.strip()) if isinstance(given, str) else None
    pair = (int(found[1]), int(found[2] or found[1])) if found is not None else _numbers(given)
    if pair is None:
        raise BadInput(f"{what}: found {given!r}; write both bounds, such as 1..12")
    if not 1 <= pair[0] <= pair[1]:
        raise BadInput(f"{what}: found {given!r}; the bounds must be 1 <= min <= max")
    return pair


def spell_bounds(low: int, high: int) -> str:
    """Both bounds as `parse_bounds` reads them."""
    return f"{low}..{high}"


def _numbers(given: object) -> tuple[int, int] | None:
    values = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given, given]
    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    return (whole[0], whole[1]) if len(whole) == len(values) == 2 else None

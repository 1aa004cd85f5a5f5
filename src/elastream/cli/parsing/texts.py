"""Options in words: durations, bounds and guards, each with an error that names its option."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from elastream.core.callform import parse_call
from elastream.core.errors import BadInput
from elastream.core.quantity import parse_quantity


def read_seconds(text: str, option: str) -> float:
    """A duration that is longer than nothing."""
    try:
        quantity = parse_quantity(text)
    except BadInput as wrong:
        raise BadInput(f"{option}: {wrong}; write it as 90s, 140m or 2h") from None
    if quantity.unit == "%" or quantity.value <= 0:
        raise BadInput(f"{option}: found {text!r}; it must be a duration longer than 0, such as 90s, 140m or 2h")
    return quantity.value


def read_bounds(text: str, option: str) -> tuple[int, int]:
    """`1..12`; a single number is both bounds."""
    found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text.strip())
    if found is None:
        raise BadInput(f"{option}: found {text!r}; write both bounds, such as 1..12")
    low, high = int(found[1]), int(found[2] or found[1])
    if not 1 <= low <= high:
        raise BadInput(f"{option}: found {text!r}; the bounds must be 1 <= min <= max")
    return low, high


def read_guards(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`cool-down(after=300s)`: name -> settings, as the configuration has them."""
    from elastream.config import guards
    from elastream.config.guards import guard_setting
    from elastream.experiments.named_settings import read_arguments

    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        call = parse_call(text, what="guard")
        name = call.name.replace("-", "_")
        guards.get(name)
        if name in found:
            raise BadInput(f"guard {name} is given twice")
        found[name] = dict(guard_setting(name, key, value) for key, value in read_arguments(call).items())
    return found

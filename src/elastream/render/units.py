"""Numbers and times for a person to read on a page; of a number, three digits are enough."""

from collections.abc import Mapping
from datetime import UTC, datetime

from elastream.core.decision import Json


def compact(value: float) -> str:
    """`1.23M`, `45.6k`, `7`."""
    for suffix, multiple in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        # What rounds up to the next unit is written in it.
        if abs(value) >= multiple * 0.9995:
            return _three(value / multiple) + suffix
    return _three(value)


def seconds(value: float) -> str:
    """A delay: `0.8 s`, `135 s`, `34.2 min`, `3.1 h`."""
    if value < 599.5:
        return f"{_three(value)} s"
    return f"{_three(value / 60)} min" if value < 7200 else f"{_three(value / 3600)} h"


def duration(value: float) -> str:
    """How long something lasted: `45 s`, `1 min 15 s`, `2 h 20 min`."""
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = whole % 3600 // 60
    return f"{whole // 3600} h {minutes} min" if minutes else f"{whole // 3600} h"


def moment(utc_s: float, form: str) -> str:
    """A time in UTC; empty if no calendar has it."""
    try:
        return f"{datetime.fromtimestamp(utc_s, UTC):{form}}"
    except (OverflowError, ValueError, OSError):
        return ""


def call(name: str, settings: Mapping[str, Json]) -> str:
    """`threshold(high=0.9, low=0.4)`."""
    return f"{name}({', '.join(f'{key}={_plain(value)}' for key, value in settings.items())})" if settings else name


def _plain(value: Json) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _three(value: float) -> str:
    size = abs(value)
    if size >= 1e6 or 0 < size < 0.01:
        return f"{value:.3g}"
    places = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    digits = f"{value:.{places}f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits

"""Times in JSON as Spark reads them, read without Spark: by its grammar, which is no standard.

A month, day or hour may have one digit, what lacks at the end is the beginning of it, seconds must be there before a
zone, and a zone is an offset, with `UTC` or `GMT` before it or not, or a region. Two things that Spark reads are no
times here: a time of day alone, for nobody knows later which day it was read on, and zones of three letters (`EST`).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_TIME = re.compile(
    r"\+?([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})"
    r"(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?)?)?)?)?)?"
)
_OFFSET = re.compile(r"([+-])(?:([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{2}))?)?|([0-9]{2})([0-9]{2})([0-9]{2})?)")
_REGION = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*/[A-Za-z0-9_/+-]+")
_UTC = re.compile(r"UTC|GMT|UT")
_BLANK = "".join(map(chr, [*range(33), 127]))
_FARTHEST = timedelta(hours=18)
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime.fromtimestamp(0, UTC)


def parse_time_us(text: str) -> int | None:
    """Microseconds since 1970; of UTC where no zone is told. None: Spark finds no time in it."""
    found = _TIME.fullmatch(text.strip(_BLANK))
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        read = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0),
            int((fraction or "")[:6].ljust(6, "0")), tzinfo=UTC if zone is None else _find_zone(zone.strip(_BLANK)),
        )  # fmt: skip
        return (read - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError, LookupError):
        return None


def _find_zone(text: str) -> tzinfo:
    """ValueError or LookupError if there is none of that name."""
    if text == "Z" or _UTC.fullmatch(text):
        return UTC
    if _REGION.fullmatch(text):
        return ZoneInfo(text)
    found = _OFFSET.fullmatch(_UTC.sub("", text, count=1) if _UTC.match(text) else text)
    if found is None:
        raise ValueError(f"{text!r} is no zone")
    sign, *parts = found.groups()
    hours, minutes, seconds = (int(one or other or 0) for one, other in zip(parts[:3], parts[3:], strict=True))
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if offset > _FARTHEST or minutes > 59 or seconds > 59:
        raise ValueError(f"{text!r} is no zone")
    return timezone(offset if sign == "+" else -offset)

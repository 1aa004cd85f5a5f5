"""Messages that no job can be sure of: sound ones of a stream with absurd values in every field, and mere bytes."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle, product
from typing import Any

from hypothesis import strategies as some

from elastream.development.kafka.topic_reader import Message
from elastream.events.options import events, parse_options
from elastream.events.wire import messages

ARRIVED = datetime(2026, 3, 1, 12, tzinfo=UTC)
NUMBERS = [
    *(sign * number for number in (10**6, 10**12, 10**15, 10**18, 2**31, 2**63 - 1, 2**63, 10**30) for sign in (1, -1)),
    *(0, -1, 0.5, 1e308, -1e308),
]  # fmt: skip
TIMES = [
    *(ARRIVED + timedelta(**{unit: sign}) for unit in ("seconds", "hours", "days", "weeks") for sign in (-1, 1)),
    *(datetime(year, 1, 1, tzinfo=UTC) for year in (1, 1900, 1969, 1970, 1999, 2262, 2263, 9999)),
]
TEXTS = [
    "",
    " ",
    "\x00",
    "\u2028",
    "é" * 300,
    "'\"\\`",
    "https://",
    "//////",
    "a/b/c/d/e/f/g",
    "&channel_id=",
    "NULL",
    "%s",
]
NUMBERS_SPELT = [
    *("1e400", "-1e400", "1e-400", "5e0", "5.", ".5", "05", "+5", "-0", "0x10", "NaN", "Infinity", '"NaN"', '"5"'),
    *("9" * 30, "0." + "3" * 40, '"\\u0041"', '"\\ud800"', '"a\nb"'),
]
DAY = "2026-03-01"
TIMES_SPELT = [
    *("2026", "2026-03", DAY, f"{DAY}T", f"{DAY}T9", f"{DAY}T09:30", "2026-3-1 9:3:1", f" {DAY} 09:30:00 ", f"+{DAY}"),
    *("20260301T093000Z", "2026-W09-7", "2026-02-30", f"{DAY}_09:30:00", f"{DAY}t09:30:00Z"),
    *(f"{DAY}T09:30{zone}" for zone in ("Z", "+01:00", ":00,5", ":00.Z", ":00.1234567Z", ":00.1.2", ":60")),
    *(f"{DAY}T09:30:00{zone}" for zone in ("z", " UTC", "UT", "GMT+1", "UTC+01:30", "+1", "+0100", "+100", "+18:01")),
    *(f"{DAY}T09:30:00{zone}" for zone in ("+1:5", "+01:00:05", " Europe/Berlin", "Etc/GMT-5", "Mars/Crater")),
]


def spell(time: datetime) -> str:
    """As our messages have them; a year has four digits."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)


absurd: some.SearchStrategy[Any] = some.one_of(
    some.none(),
    some.booleans(),
    some.sampled_from(NUMBERS),
    some.integers(-(2**70), 2**70),
    # Of few digits, so that sums are exact in any order; nothing more is nothing with a sign.
    some.floats(width=16, allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0),
    some.sampled_from(TIMES).map(spell),
    some.sampled_from(TEXTS),
    some.text(max_size=20),
    some.lists(some.integers(), max_size=2),
    # Java spells a control character inside of a structure another way.
    some.dictionaries(some.text("abc", max_size=3), some.integers(), max_size=2),
)


def good(given: Mapping[str, str], count: int) -> list[dict[str, Any]]:
    """Sound events of a stream, as objects of JSON, which came just then."""
    options = {**given, "epoch": str(int(ARRIVED.timestamp()) - 30)}
    parsed = parse_options(options)
    (batch,) = events(options, 0, count).combine_chunks().to_batches()
    return [json.loads(value) for value in messages(batch, parsed.generator.key_column).values]


def spoilt(event: Mapping[str, Any]) -> some.SearchStrategy[dict[str, Any]]:
    """An event with some fields that are absurd, or missing."""
    change = some.dictionaries(some.sampled_from(sorted(event)), absurd, min_size=1, max_size=3)
    less = some.sets(some.sampled_from(sorted(event)), max_size=1)
    return some.builds(
        lambda changed, gone: {name: value for name, value in {**event, **changed}.items() if name not in gone},
        change,
        less,
    )


def numbered(found: Sequence[bytes | Mapping[str, Any]], since: int = 0) -> list[bytes]:
    """As messages. Events of one time differ in their offsets: of two that are alike in it, any may come first.

    So of each time only the first one may have an offset that is absurd, or none.
    """
    numbers: list[bytes] = []
    absurd_at: set[str] = set()
    for place, one in enumerate(found, since):
        if isinstance(one, bytes):
            numbers.append(one)
            continue
        time = json.dumps(one.get("event_time"))
        keeps = not _has_offset(one) and time not in absurd_at
        if keeps:
            absurd_at.add(time)
        numbers.append(json.dumps(one if keeps else {**one, "offset": place}).encode())
    return numbers


def _has_offset(event: Mapping[str, Any]) -> bool:
    return type(event.get("offset")) is int and 0 <= event["offset"] < 2**31


def spell_all(objects: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """As messages."""
    return [json.dumps(one).encode() for one in objects]


def every_field(objects: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """A message for every absurd value of every field, each made of another of these events."""
    values: list[Any] = [None, *NUMBERS, *map(spell, TIMES), *TEXTS, [], {}, True]
    changes = product(objects[0], values)
    spoilt_ones = [{**event, name: value} for event, (name, value) in zip(cycle(objects), changes, strict=False)]
    return numbered(spoilt_ones, since=len(objects))


def odd_spellings(event: Mapping[str, Any]) -> list[bytes]:
    """An event with each of its fields in spellings that readers of JSON differ in."""
    spelt = [*NUMBERS_SPELT, *map(json.dumps, TIMES_SPELT)]
    return [
        (json.dumps({**event, name: "?"}).replace('"?"', text, 1)).encode() for name in event for text in spelt
    ]  # fmt: skip


def rubbish(given: Mapping[str, str], size: int) -> some.SearchStrategy[list[bytes]]:
    """So many messages of a stream, most of them spoilt."""
    sound = good(given, 40)
    one = some.sampled_from(sound)
    message = some.one_of(
        one.flatmap(spoilt), one.flatmap(spoilt), one, some.binary(max_size=40),
    )  # fmt: skip
    return some.lists(message, min_size=size, max_size=size).map(numbered)


def arrived(values: Sequence[bytes]) -> list[Message]:
    """The messages of a partition."""
    return [Message(0, offset, int(ARRIVED.timestamp() * 1_000), value) for offset, value in enumerate(values)]

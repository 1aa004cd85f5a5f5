"""Options in words: durations, pairs and guards, each with an error that names its option."""

import re
from collections.abc import Sequence

from elastream.config import guard_key, guard_name, guards
from elastream.config.guards import guard_setting
from elastream.core.callform import parse_call
from elastream.core.errors import BadInput
from elastream.core.quantity import parse_quantity
from elastream.experiments.named_settings import read_arguments


def read_seconds(text: str, option: str) -> float:
    """A duration that is longer than nothing."""
    try:
        quantity = parse_quantity(text)
    except BadInput as wrong:
        raise BadInput(f"{option}: {wrong}; write it as 90s, 140m or 2h") from None
    if quantity.unit == "%" or quantity.value <= 0:
        raise BadInput(f"{option}: found {text!r}; it must be a duration longer than 0, such as 90s, 140m or 2h")
    return quantity.value


def require_one(text: str) -> None:
    """Several policies in one text are a frequent slip."""
    names = re.sub(r"\([^()]*\)", "", text).split(",")
    if len(names) > 1:
        raise BadInput(f"--policy: found {text!r}; name one policy; `simulate` compares several: repeat --policy")


def read_guards(texts: Sequence[str]) -> dict[str, dict[str, object]]:
    """`cool-down(after=300s)`: name -> settings, as the configuration has them."""
    found: dict[str, dict[str, object]] = {}
    for text in texts:
        call = parse_call(text, what="guard")
        name = guard_key(call.name)
        guards.get(guard_name(name))
        if name in found:
            raise BadInput(f"guard {guard_name(name)} is given twice")
        found[name] = dict(guard_setting(name, key, value) for key, value in read_arguments(call).items())
    return found


def read_pairs(texts: Sequence[str], flag: str) -> dict[str, str]:
    """Keys and values; a key may stand once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            # Without its text: what stands there may be a secret.
            raise BadInput(f"{flag}: write it as KEY=VALUE")
        if name.strip() in found:
            raise BadInput(f"{flag} {name.strip()}: it is given twice")
        found[name.strip()] = value
    return found


def read_log_format(text: str | None) -> str:
    """How decisions are told."""
    if text not in (None, "text", "json"):
        raise BadInput(f"--log: found {text!r}; write text or json")
    return text or "text"

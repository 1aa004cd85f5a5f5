"""Reading what people write in model files, with errors that say where."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from elastream.core.errors import BadInput, UnknownName
from elastream.core.quantity import parse_quantity
from elastream.core.slo import SHARE, Slo
from elastream.registry import read_settings
from elastream.registry.settings import construct

T = TypeVar("T")


def built(cls: type[T], item: object, where: str) -> T:
    """One part of a model from its settings."""
    given = as_mapping(item, where, "settings are written as 'name: value'")
    return construct(cls, read_settings(cls, given, where), where)


def named_items(found: object, where: str, kind: str, *, key: str | None = None) -> list[tuple[object, str]]:
    """The items of a list, each with a place that names it; `key` is what the list stands under."""
    if not isinstance(found, list) or not found:
        told = "nothing" if found in (None, []) else f"a {type(found).__name__}"
        raise BadInput(f"{where}: {f'{key}: ' if key else ''}found {told}; a list of at least one {kind} is needed")
    return [(item, f"{where}: {kind} {_name(item) or f'number {i}'}") for i, item in enumerate(found, 1)]


def _name(item: object) -> str | None:
    return str(item["name"]) if isinstance(item, Mapping) and item.get("name") else None


def check_keys(given: Mapping[str, object], known: Collection[str], where: str) -> None:
    """Raise UnknownName for a key that means nothing."""
    for key in given:
        if key not in known:
            raise UnknownName(f"{where} has no setting", str(key), known)


def as_mapping(found: object, where: str, hint: str) -> Mapping[str, Any]:
    """What was found, if it has names and values."""
    if not isinstance(found, Mapping):
        raise BadInput(f"{where}: found {'nothing' if found is None else repr(found)}; {hint}")
    return found


def seconds(value: object, where: str, what: str) -> float:
    """A duration longer than 0."""
    try:
        quantity = parse_quantity(str(value))
    except BadInput:
        raise BadInput(f"{where}: found {value!r}; it must be {what}") from None
    if quantity.unit == "%" or quantity.value <= 0:
        raise BadInput(f"{where}: found {value!r}; it must be {what}, longer than 0")
    return quantity.value


def read_slo(value: object, where: str) -> Slo:
    """`30s`, or `{delay: 30s, share: 95%}`."""
    given = value if isinstance(value, Mapping) else {"delay": value}
    check_keys(given, ("delay", "share"), where)
    delay_s = seconds(given.get("delay"), f"{where}: delay" if given is value else where, "a duration such as 30s")
    return Slo(delay_s=delay_s, share=_share(given.get("share", SHARE), f"{where}: share"))


def _share(value: object, where: str) -> float:
    try:
        share = parse_quantity(str(value)).value
    except BadInput:
        share = 0.0
    if not 0 < share <= 1:
        raise BadInput(f"{where}: found {value!r}; it must be a share such as 0.99 or 99%")
    return share

"""What a field's type says about the values it takes."""

from collections.abc import Collection
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

UNIT_SUFFIXES = ("_s", "_rps")
"""Units that a field's name ends with. People may leave them out: `period` is understood as `period_s`."""


def without_unit(name: str, others: Collection[str] = ()) -> str:
    """A field's name as people write it: `period_s` as `period`, unless one of the others has that name."""
    short = next((name.removesuffix(suffix) for suffix in UNIT_SUFFIXES if name.endswith(suffix)), name)
    return name if short in others else short


@cache
def hints(cls: object) -> dict[str, object]:
    """The types of a class' fields, by name."""
    return get_type_hints(cls, include_extras=True)


def _bare(hint: object) -> Any:
    return _bare(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def _members(hint: Any) -> tuple[object, ...]:
    bare = _bare(hint)
    return get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,)


def is_sequence(hint: object) -> bool:
    return any(get_origin(member) in (tuple, list) for member in map(_bare, _members(hint)))


def leaves(hint: object) -> set[object]:
    """The plain types inside unions, annotations and sequences."""
    bare = _bare(hint)
    if get_origin(bare) in (Union, UnionType, tuple, list):
        return {leaf for arg in get_args(bare) if arg is not ... for leaf in leaves(arg)}
    return {str} if get_origin(bare) is Literal else {bare}


def type_words(name: str, hint: object) -> str:
    """A type in words, for lists of settings."""
    words = [_one_type(name, member) for member in _members(hint) if member is not NoneType]
    return " or ".join(words) + (", or none" if NoneType in _members(hint) else "")


def _one_type(name: str, hint: object) -> str:
    bare = _bare(hint)
    if get_origin(bare) is Literal:
        return "one of " + ", ".join(map(str, get_args(bare)))
    if get_origin(bare) in (tuple, list):
        return "several: " + _one_type(name, get_args(bare)[0])
    if bare is float:
        return unit_words(name)
    return {int: "whole number", bool: "true or false", str: "text"}.get(bare, getattr(bare, "__name__", str(bare)))


def unit_words(name: str) -> str:
    """What a number counts, by the end of its name."""
    if name.endswith("_rps"):
        return "rate (records/s)"
    return "duration" if name.endswith("_s") else "number"
